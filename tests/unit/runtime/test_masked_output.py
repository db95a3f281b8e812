"""What tasks print and log in ``dag.test()`` and what DAG files print in commands shows no secret (case F16)."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from treadle import DAG, BashOperator, Connection, task
from treadle.runtime import dag_test, masking
from treadle.runtime.masked_output import masked_output
from treadle_cli import dag_files

SECRET = "sesame-12345"
WAREHOUSE = {"warehouse": f"postgres://someone:{SECRET}@host/db"}


@pytest.fixture(autouse=True)
def _no_secret_known() -> Iterator[None]:
    masking.MASKER.clear()
    yield
    masking.MASKER.clear()


def test_what_tasks_print_and_log_in_a_test_is_masked(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with DAG("leaky") as dag:

        @task
        def tell() -> None:
            password = Connection.get("warehouse").password
            print("printed", password)
            print("half", str(password)[:5], sep=" ", end="")
            print(str(password)[5:])
            print("warned", password, file=sys.stderr, end="")
            logging.getLogger("mine").info("logged %s", password)
            raise ValueError(f"refused {password}")

        tell()
        BashOperator(task_id="shout", bash_command="echo shouted $PW", env={"PW": "{{ conn.warehouse.password }}"})
    result = dag.test(connections=WAREHOUSE)

    shown = capsys.readouterr()
    assert SECRET not in shown.out + shown.err + caplog.text
    assert "printed ***\nhalf ***\n" in shown.out
    assert "warned ***" in shown.err
    for words in ("logged ***", "refused ***", "shouted ***", "ValueError"):
        assert words in caplog.text, words
    assert result.task("tell").message == "refused ***"


def test_the_output_of_a_single_task_is_masked(capsys: pytest.CaptureFixture[str]) -> None:
    with DAG("leaky") as dag:

        @task
        def tell() -> None:
            print(Connection.get("warehouse").password)

        tell()
    dag_test.run_single(dag, "tell", connections=WAREHOUSE)
    assert capsys.readouterr().out == "***\n"


def test_what_a_dag_file_prints_to_a_command_is_masked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREADLE_CONN_WAREHOUSE", WAREHOUSE["warehouse"])
    monkeypatch.setattr(sys, "path", sys.path[:])
    file = tmp_path / "leaky_file.py"
    file.write_text("from treadle import Connection\nprint(Connection.get('warehouse').password)\n")
    dag_files.load(file, tmp_path)
    assert capsys.readouterr().out == "***\n"


def test_streams_and_loggers_are_put_back_however_the_block_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    factory = logging.getLogRecordFactory()

    def interrupted() -> None:
        with masked_output():
            print("no end of line", end="")
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    assert sys.stdout is stream
    assert stream.getvalue() == "no end of line"
    assert logging.getLogRecordFactory() is factory


def test_a_record_without_a_secret_keeps_its_arguments(caplog: pytest.LogCaptureFixture) -> None:
    masking.add_secret(SECRET)
    with masked_output():
        logging.getLogger("mine").warning("%s is %d", "four", 4)
        logging.getLogger("mine").warning("%s is", SECRET)
    kept, masked = caplog.records
    assert kept.args == ("four", 4)
    assert masked.getMessage() == "*** is"


def test_the_error_of_a_dag_file_is_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREADLE_CONN_WAREHOUSE", WAREHOUSE["warehouse"])
    monkeypatch.setattr(sys, "path", sys.path[:])
    file = tmp_path / "leaky_file.py"
    file.write_text("from treadle import Connection\nraise ValueError(Connection.get('warehouse').password)\n")
    with pytest.raises(dag_files.DagFileError, match=r"line 2: ValueError: \*\*\*$"):
        dag_files.load(file, tmp_path)
