"""Templates: what is rendered, with which names, and what is left alone (cases F3, G5, G7)."""

# ruff: noqa: ARG002 - the contract of operators names the context

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.runtime.attempts import Answers, attempt, returned

from treadle import DAG, BaseOperator, SkipTask, TemplateFile, literal, task
from treadle.context_keys import CONTEXT_KEYS
from treadle.runtime.context import context_keys, get_current_context
from treadle.runtime.masking import MASK
from treadle.runtime.run_task import Limits

NO_DASH = "20240310T010203"


class Echo(BaseOperator):
    """Returns its one field as it was rendered."""

    template_fields = ("field",)

    def __init__(self, *, field: Any, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.field = field

    def execute(self, context: Any) -> Any:
        return self.field


class Node:
    template_fields = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def rendered(field: Any, answers: Answers | None = None, dag_arguments: Any = None, **changes: Any) -> Any:
    with DAG("d", **(dag_arguments or {})) as dag:
        Echo(task_id="t", field=field)
    return returned(attempt(dag, "t", answers, **changes))


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ ds }} {{ ds_nodash }}", "2024-03-10 20240310"),
        (
            "{{ ts }}|{{ ts_nodash }}|{{ ts_nodash_with_tz }}",
            f"2024-03-10T01:02:03+00:00|{NO_DASH}|{NO_DASH}+0000",
        ),
        ("{{ data_interval_start | ds }}/{{ data_interval_end | ds_nodash }}", "2024-03-09/20240310"),
        ("{{ logical_date.year }}", "2024"),
        ("{{ run_id }} {{ dag.dag_id }} {{ task.task_id }} {{ ti.try_number }}", "manual__1 d t 1"),
        ("{{ task_instance_key_str }}", "d__t__20240310"),
        ("{{ dag_run.run_type }} {{ dag_run.conf.x }}", "manual 5"),
        ("{{ params.n }} {{ params.x }}", "3 5"),
        ("{{ macros.ds_add(ds, 20) }} {{ macros.ds_format(ds, '%Y-%m-%d', '%d/%m') }}", "2024-03-30 10/03"),
        ("{{ (logical_date - macros.timedelta(days=9)) | ds }}", "2024-03-01"),
        ("{{ var.value.place }} {{ var.json.deep.a[1] }} {{ var.value.get('none', 'other') }}", "here 2 other"),
        ("{{ conn.db.host }}:{{ conn.db.port }}/{{ conn.db.extra_dejson.mode }}", "h:5/fast"),
        ("{{ conn.get('nothing') is none }}", "True"),
        ("{{ double(4) }} {{ 'a' | shout }}", "8 A!"),
        ("{% for n in range(3) %}{{ n }}{% endfor %}{# hidden #}\n", "012\n"),
        ("{% set ds = 'own' %}{{ ds }}", "own"),
        ("{{ prev_start_date_success }}", "2024-03-09 00:00:00+00:00"),
        ("plain { text } } {", "plain { text } } {"),
        ("{{ test_mode }} {{ map_index_template }}", "False None"),
    ],
)
def test_the_context_has_these_names(template: str, text: str) -> None:
    answers = Answers(
        variables={"place": "here", "deep": '{"a": [1, 2]}'},
        connections={"db": {"conn_type": "x", "host": "h", "port": 5, "extra": '{"mode": "fast"}'}},
        previous={"start_date": "2024-03-09T00:00:00+00:00"},
    )
    arguments = {
        "params": {"n": 3},
        "user_defined_macros": {"double": lambda n: 2 * n},
        "user_defined_filters": {"shout": lambda word: word.upper() + "!"},
    }
    assert rendered(template, answers, arguments, conf={"x": 5}) == text


def test_every_key_that_the_parser_promises_is_a_key_of_the_context() -> None:
    assert CONTEXT_KEYS - {"expanded_ti_count"} <= context_keys()


def test_date_keys_are_absent_without_a_logical_date() -> None:
    with DAG("d") as dag:
        Echo(task_id="t", field="{{ ds }}")
        Echo(task_id="key", field="{{ task_instance_key_str }} {{ ds is defined }}")
    result = attempt(dag, "t", logical_date=None)
    assert result.error is not None
    assert (
        result.error["message"]
        == "template field field of task 't' cannot be rendered: 'ds' is undefined (line 1 of its template)"
    )
    assert returned(attempt(dag, "key", logical_date=None)) == "d__key__manual__1 False"


def test_the_previous_success_is_asked_for_once_and_only_if_wanted() -> None:
    answers = Answers(previous={"end_date": None})
    rendered("{{ ds }}{{ run_id }}", answers)
    assert answers.asked_previous == 0
    rendered("{{ prev_end_date_success }}{{ prev_start_date_success }}", answers)
    assert answers.asked_previous == 1


def test_rendering_goes_through_containers_and_objects_with_template_fields() -> None:
    field = {"list": ["{{ ds }}", ("{{ run_id }}",)], "set": {"{{ 1 + 1 }}"}, "number": 5, "{{ ds }}": None}
    assert rendered(field) == {
        "list": ["2024-03-10", ("manual__1",)],
        "set": {"2"},
        "number": 5,
        "{{ ds }}": None,
    }
    node = Node("{{ ds }}")
    with DAG("d") as dag:
        Echo(task_id="t", field=[node], do_xcom_push=False, post_execute=lambda _, result: seen.append(result[0].text))
    seen: list[str] = []
    attempt(dag, "t")
    assert seen == ["2024-03-10"]
    assert node.text == "{{ ds }}"


NATIVE = {"render_template_as_native_obj": True}


@pytest.mark.parametrize("text", ["0012", "1e5", "None", "[1]", "2024-01-01", "", " 5 ", "True"])
def test_native_rendering_leaves_text_without_a_template_alone(text: str) -> None:
    assert rendered([text, "pkg"], dag_arguments=NATIVE) == [text, "pkg"]


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{{ 42 }}", 42),
        ("{{ '42' }}", "42"),
        ("{{ [1, ds] }}", [1, "2024-03-10"]),
        ("{{ none }}", None),
        ("{{ params.rows }}", {"a": [1]}),
        ("{{ 1 }}{{ 2 }}", "12"),
        ("n={{ 42 }}", "n=42"),
        ("{{ 42 }} ", "42 "),
        ("{% if true %}{{ 42 }}{% endif %}", "42"),
        ("{{ ti.xcom_pull('up') | length }}", 3),
    ],
)
def test_native_rendering_gives_the_value_where_all_is_one_expression(template: str, value: Any) -> None:
    arguments = {**NATIVE, "params": {"rows": {"a": [1]}}}
    assert rendered(template, Answers({"up": [1, 2, 3]}), arguments) == value


def test_native_rendering_refuses_an_undefined_name() -> None:
    with DAG("d", render_template_as_native_obj=True) as dag:
        Echo(task_id="t", field="{{ nothing_here }}")
    error = attempt(dag, "t").error
    assert error is not None
    assert "'nothing_here' is undefined" in error["message"]


@pytest.mark.parametrize("command", ["/opt/x.sh", "/opt/x.sh ", "echo a.json", "../x.sql", "{{ 'x.sh' }}"])
def test_nothing_is_looked_up_as_a_file_for_its_ending(command: str) -> None:
    assert rendered(command) == command.replace("{{ 'x.sh' }}", "x.sh")


def test_a_template_file_is_read_from_the_search_path_when_the_task_runs(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("select '{{ ds }}'{% include 'tail.sql' %}\n")
    (tmp_path / "tail.sql").write_text(" -- {{ run_id }}")
    arguments = {"template_searchpath": str(tmp_path)}
    assert rendered(TemplateFile("q.sql"), dag_arguments=arguments) == "select '2024-03-10' -- manual__1\n"


def test_a_missing_template_file_is_named_with_the_folders_searched(tmp_path: Path) -> None:
    with DAG("d", template_searchpath=str(tmp_path)) as dag:
        Echo(task_id="t", field=TemplateFile("q.sql"))
    error = attempt(dag, "t").error
    assert error is not None
    assert "'q.sql'" in error["message"]
    assert str(tmp_path) in error["message"]


def test_literals_and_results_of_other_tasks_are_never_templates() -> None:
    with DAG("d") as dag:

        @task
        def up() -> str:
            return "unused"

        @task
        def down(value: Any, *, own: str) -> Any:
            return [value, own]

        down(up(), own="{{ ds }}")
        Echo(task_id="t", field=literal("{{ 7 * 7 }}"))
    result = attempt(dag, "down", Answers({"up": "{{ 7 * 7 }}"}))
    assert returned(result) == ["{{ 7 * 7 }}", "2024-03-10"]
    assert returned(attempt(dag, "t")) == "{{ 7 * 7 }}"


@pytest.mark.parametrize("name", ["run_id", "conf"])
def test_a_template_in_a_run_id_or_conf_stays_text(name: str) -> None:
    evil = "{{ 7*7 }} $(touch /tmp/pwned)"
    changes = {"run_id": evil} if name == "run_id" else {"conf": {"x": evil}}
    assert rendered("{{ run_id if run_id != 'manual__1' else dag_run.conf.x }}", **changes) == evil


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__ }}",
        "{{ ti.__init__.__globals__ }}",
        "{{ macros.datetime.__subclasses__() }}",
        "{{ get_current_context.__globals__ }}",
        "{{ '{0.__class__}'.format(ti) }}",
        "{{ (fn.__code__) }}",
        "{{ ti|attr('__class__') }}",
    ],
)
def test_the_sandbox_keeps_templates_from_the_interpreter(template: str) -> None:
    with DAG("d", user_defined_macros={"fn": lambda: 1}) as dag:
        Echo(task_id="t", field=template)
    result = attempt(dag, "t")
    assert result.outcome == "failed"


def test_attributes_of_one_underscore_may_be_read() -> None:
    class Thing:
        _inner = 5

    assert rendered("{{ thing._inner }}", dag_arguments={"user_defined_macros": {"thing": Thing()}}) == "5"


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("a\n{{ ds ", "(line 2 of its template)"),
        ("{% set x = 1 %}\n\n{{ nothing }}", "'nothing' is undefined (line 3 of its template)"),
        ("{{ params.nothing }}", "no attribute 'nothing'"),
        ("{{ ds | nofilter }}", "nofilter"),
        ("{{ var.value.nothing }}", "there is no variable 'nothing'"),
        ("{{ conn.nothing }}", "there is no connection 'nothing'"),
        ("{{ bad() }}", "macro broke"),
    ],
)
def test_a_template_that_cannot_be_rendered_says_why(template: str, words: str) -> None:
    def bad() -> None:
        raise ValueError("macro broke")

    with DAG("d", user_defined_macros={"bad": bad}) as dag:
        Echo(task_id="t", field=template)
    error = attempt(dag, "t").error
    assert error is not None
    assert words in error["message"]
    assert "field" in error["traceback"]


def test_a_macro_may_skip_the_task() -> None:
    def skip() -> None:
        raise SkipTask("no data")

    with DAG("d", user_defined_macros={"skip": skip}) as dag:
        Echo(task_id="t", field="{{ skip() }}")
    assert attempt(dag, "t").outcome == "skipped"


def test_rendered_fields_are_kept_short_masked_and_storable() -> None:
    with DAG("d") as dag:
        Echo(task_id="t", field={"password": "abc", "nul": "a\0b", "long": "x" * 9_000, "list": list(range(9_999))})
        Echo(task_id="conn", field="{{ conn.db.password }} {{ ds }}")
        Echo(task_id="odd", field=[float("nan"), 2**70, object, {1: "a"}, ("b",)])
    field = attempt(dag, "t", limits=Limits(rendered_field_max_bytes=200)).rendered_fields["field"]  # type: ignore[index]
    assert field["password"] == MASK
    assert field["nul"] == "a\ufffdb"
    assert "(9,000 characters)" in field["long"]
    assert len(str(field)) < 600
    answers = Answers(connections={"db": {"password": "sesame-open"}})
    assert attempt(dag, "conn", answers).rendered_fields == {"field": f"{MASK} 2024-03-10"}
    odd = attempt(dag, "odd").rendered_fields["field"]  # type: ignore[index]
    assert odd == ["nan", str(2**70), "<class 'object'>", {"1": "a"}, ["b"]]


def test_get_current_context_is_the_context_and_takes_new_names() -> None:
    with DAG("d") as dag:

        @task(map_index_template="{{ label }}")
        def named(ds: str | None = None) -> str:
            context = get_current_context()
            context["label"] = f"row {ds}"
            return context["ds"]

        named()
    result = attempt(dag, "named")
    assert returned(result) == "2024-03-10"
    assert result.rendered_map_index == "row 2024-03-10"


def test_a_map_index_template_that_cannot_be_rendered_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with DAG("d") as dag:
        Echo(task_id="t", field="a", map_index_template="{{ nothing }}")
    result = attempt(dag, "t")
    assert returned(result) == "a"
    assert result.rendered_map_index is None
    assert "map_index_template" in caplog.text


def test_jinja2_is_loaded_only_for_a_field_that_holds_a_template() -> None:
    code = (
        "import sys\n"
        "from tests.unit.runtime.test_templates import DAG, Echo\n"
        "from tests.unit.runtime.attempts import attempt\n"
        "with DAG('d') as dag:\n"
        "    Echo(task_id='plain', field='a {b} c')\n"
        "    Echo(task_id='template', field='{{ ds }}')\n"
        "for name in [name for name in sys.modules if name.partition('.')[0] == 'jinja2']: del sys.modules[name]\n"
        "attempt(dag, 'plain'); assert 'jinja2' not in sys.modules\n"
        "attempt(dag, 'template'); assert 'jinja2' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[3], timeout=60)
