"""# Check files

Teaches order without values: task groups, and trigger rules that say what runs after others failed or were skipped.

The DAG checks the Python files of a folder, by default these examples. Trigger it with a folder that has a broken file
and look at the graph: `alert` runs, `summary` does not, `tidy_up` does.
"""

import ast
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

from treadle import Label, Param, SkipTask, TaskGroup, dag, task

HERE = Path(__file__).parent
HOME = Path(os.environ.get("TREADLE_HOME") or Path.home() / ".treadle")


@task
def collect(params):
    """Copy the files, so that all checks see the same."""
    target = Path(params["folder"]) / "checked"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in Path(params["checked"]).glob("*.py"):
        shutil.copy(path, target)


@task
def syntax(params):
    for path in copies(params):
        ast.parse(path.read_text(), filename=path.name)


@task
def line_length(params):
    long = [path.name for path in copies(params) if any(len(line) > 120 for line in lines(path))]
    if long:
        raise ValueError(f"lines above 120 characters in {', '.join(long)}")


@task
def tests_are_named(params):
    tests = [path.name for path in copies(params) if "import pytest" in lines(path)]
    if not tests:
        raise SkipTask("there are no tests")  # skipped is not failed
    if wrong := [name for name in tests if not name.startswith("test_")]:
        raise ValueError(f"tests in files that pytest does not find: {', '.join(wrong)}")


# The default rule, all_success, would skip the summary whenever one check is skipped.
@task(trigger_rule="none_failed_min_one_success")
def summary(params):
    return f"{len(copies(params))} files are fine"


# Runs as soon as one check fails; skipped when none does.
@task(trigger_rule="one_failed")
def alert():
    print("A check failed. This is where a message would be sent.")


# Runs at the end in any case, like a finally block.
@task(trigger_rule="all_done")
def tidy_up(params):
    shutil.rmtree(Path(params["folder"]) / "checked", ignore_errors=True)


@dag(
    schedule=None,
    start_date=datetime(2025, 1, 1, tzinfo=UTC),
    params={
        "checked": Param(str(HERE), type="string", description="The folder to check"),
        "folder": Param(str(HOME / "examples"), type="string", description="Where results are written"),
    },
    tags=["example"],
    doc_md=__doc__,
)
def check_files():
    # A group is folded into one box in the graph; its tasks are named checks.syntax and so on.
    with TaskGroup("checks") as checks:
        syntax()
        line_length()
        tests_are_named()

    fine, wrong, tidied = summary(), alert(), tidy_up()
    collect() >> checks
    checks >> Label("no check failed") >> fine >> tidied
    checks >> Label("a check failed") >> wrong >> tidied


def copies(params):
    """Return the copied files."""
    return sorted((Path(params["folder"]) / "checked").glob("*.py"))


def lines(path):
    """Return the lines of a file."""
    return path.read_text().splitlines()


check_files()
