"""Setups and teardowns as ``dag.test()`` runs them."""

from __future__ import annotations

from typing import Any

import pytest

from treadle import DAG, SkipTask, setup, task, teardown


def scoped(broken: str = "", *, fail_run: bool = False, skipped: str = "", fail_fast: bool = False) -> DAG:
    """create >> work >> late (all_done) >> destroy, of which one fails or is skipped; ``after`` waits for ``late``."""

    def act(name: str) -> None:
        if name == broken:
            raise ValueError(name)
        if name == skipped:
            raise SkipTask

    with DAG("d", fail_fast=fail_fast) as dag:

        @setup
        def create() -> None:
            act("create")

        @task
        def work() -> None:
            act("work")

        @task
        def late() -> None:
            act("late")

        @teardown(on_failure_fail_dagrun=fail_run)
        def destroy() -> None:
            act("destroy")

        first = create()
        last = late.override(trigger_rule="all_success" if fail_fast else "all_done")()
        first >> work() >> last >> destroy().as_teardown(setups=first, on_failure_fail_dagrun=fail_run)
    return dag


def states(dag: DAG) -> tuple[str, dict[str, str]]:
    result = dag.test()
    return result.state, result.states


def test_a_teardown_runs_when_the_work_failed_and_the_run_is_judged_without_it() -> None:
    state, found = states(scoped("late"))
    assert found == {"create": "success", "work": "success", "late": "failed", "destroy": "success"}
    assert state == "failed"


@pytest.mark.parametrize(("fail_run", "state"), [(False, "success"), (True, "failed")])
def test_a_teardown_that_fails_fails_the_run_only_if_it_is_told_to(fail_run: bool, state: str) -> None:
    assert states(scoped("destroy", fail_run=fail_run))[0] == state


def test_a_failed_setup_stops_its_whole_scope_whatever_the_trigger_rules_say() -> None:
    result = scoped("create").test()
    assert result.states == {
        "create": "failed",
        "work": "upstream_failed",
        "late": "upstream_failed",
        "destroy": "upstream_failed",
    }
    assert result.task("late").message == "its setup 'create' is failed"
    assert result.state == "failed"


def test_a_skipped_setup_skips_its_scope_and_its_teardown() -> None:
    state, found = states(scoped(skipped="create"))
    assert found == {"create": "skipped", "work": "skipped", "late": "skipped", "destroy": "skipped"}
    assert state == "success"


def test_teardowns_run_in_a_run_that_failed_fast() -> None:
    state, found = states(scoped("work", fail_fast=True))
    assert found == {"create": "success", "work": "failed", "late": "skipped", "destroy": "success"}
    assert state == "failed"


def test_a_mapped_setup_must_succeed_in_all_instances_for_the_work_but_in_one_for_the_teardown() -> None:
    with DAG("d") as dag:

        @setup
        def create(x: int) -> int:
            return 1 // x

        @task(trigger_rule="all_done")
        def work(values: Any = None) -> Any:
            return values

        @task
        def between() -> None: ...

        @teardown
        def destroy() -> str:
            return "done"

        made = create.expand(x=[0, 1])
        made >> between() >> work() >> destroy().as_teardown(setups=made)
    result = dag.test()
    assert result.states == {
        "create[0]": "failed",
        "create[1]": "success",
        "between": "upstream_failed",
        "work": "upstream_failed",
        "destroy": "success",
    }
