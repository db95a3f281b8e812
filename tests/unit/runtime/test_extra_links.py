"""Links of operators: made at the end of an attempt, checked, and told as names in the document."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.runtime.attempts import attempt

from treadle import DAG, BaseOperator, BaseOperatorLink, DagError, EmptyOperator, FailTask
from treadle.operator_links import LONGEST_LINK, lawful, refusal_of
from treadle.runtime import masking
from treadle.serialization import document_of
from treadle.triggers.temporal import TimeDeltaTrigger


class JobLink(BaseOperatorLink):
    name = "Job"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        job = ti_key.xcom_pull(key="job")
        return f"https://jobs.test/{operator.region}/{job}?try={ti_key.try_number}" if job else ""


class Fixed(BaseOperatorLink):
    def __init__(self, name: str, address: Any) -> None:
        self._name, self.address = name, address

    @property
    def name(self) -> str:
        return self._name

    def get_link(self, operator: Any, *, ti_key: Any) -> str:  # noqa: ARG002
        if isinstance(self.address, Exception):
            raise self.address
        return self.address


class Submit(BaseOperator):
    template_fields = ("region",)
    operator_extra_links = (JobLink(),)

    def __init__(self, *, region: str = "eu", ends: str = "well", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.region, self.ends = region, ends

    def execute(self, context: Any) -> None:
        context["ti"].xcom_push("job", 7)
        if self.ends == "badly":
            raise FailTask("refused")
        if self.ends == "later":
            self.defer(trigger=TimeDeltaTrigger(timedelta(hours=1)), method_name="execute")


def one(**arguments: Any) -> DAG:
    with DAG("d") as dag:
        Submit(task_id="submit", **arguments)
    return dag


def made(links: Any) -> Any:
    dag = one()
    dag.get_task("submit").operator_extra_links = links
    return attempt(dag, "submit").links


def test_a_link_is_made_of_the_rendered_operator_and_what_the_attempt_pushed_however_it_ends() -> None:
    for ends in ("well", "badly", "later"):
        result = attempt(one(region="{{ ds }}", ends=ends), "submit", try_number=3)
        assert result.links == {"Job": "https://jobs.test/2024-03-10/7?try=3"}, ends


def test_an_instance_of_a_mapped_task_has_links_of_its_own() -> None:
    with DAG("d") as dag:
        Submit.partial(task_id="submit").expand(region=["eu", "us"])
    assert attempt(dag, "submit", map_index=1).links == {"Job": "https://jobs.test/us/7?try=1"}


def test_links_that_cannot_be_shown_are_left_out_and_the_log_says_why(caplog: pytest.LogCaptureFixture) -> None:
    links = [Fixed("Bad", "javascript:alert(1)"), Fixed("Broken", ValueError("no job")), Fixed("None", None)]
    with caplog.at_level(logging.INFO, "treadle.task"):
        assert made([*links, Fixed("Good", "http://jobs.test/1")]) == {"Good": "http://jobs.test/1"}
    assert "Link 'Bad' is left out: 'javascript:alert(1)' begins with 'javascript:'; expected http" in caplog.text
    assert "Link 'Broken' could not be made" in caplog.text
    assert "ValueError: no job" in caplog.text


def test_secrets_in_a_link_are_masked() -> None:
    masking.MASKER.add("hunter2-secret")
    try:
        assert made([Fixed("Job", "https://jobs.test/?key=hunter2-secret")]) == {"Job": "https://jobs.test/?key=***"}
    finally:
        masking.MASKER.clear()


@pytest.mark.parametrize(
    "address",
    [
        *("javascript:alert(1)", " https://x.test", "java\nscript:1", "https:///path", "data:text/html,x", "/runs/1"),
        *("https://[::1", "https://x.test/" + "a" * LONGEST_LINK, 7, "https://x.test/\u202e"),
    ],
)
def test_an_address_that_is_no_page_is_refused_and_never_kept(address: Any) -> None:
    assert refusal_of(address)
    assert lawful({"Job": address, "Good": "https://x.test"}) == {"Good": "https://x.test"}


def test_what_is_reported_as_links_is_taken_apart_with_care() -> None:
    assert lawful([("a", "https://x.test")]) == {}
    assert lawful({1: "https://x.test", "": "https://x.test", "x" * 251: "https://x.test"}) == {}
    assert len(lawful({str(number): "https://x.test" for number in range(100)})) == 20


def test_the_document_has_the_names_of_the_links_and_a_task_with_links_has_work_to_do() -> None:
    with DAG("d") as dag:
        Submit(task_id="submit")
        Submit.partial(task_id="mapped").expand(region=["eu"])
        EmptyOperator(task_id="plain")
        EmptyOperator(task_id="linked").operator_extra_links = [Fixed("Home", "https://x.test")]
    tasks = {task.task_id: task for task in document_of(dag).tasks}
    assert [tasks[name].extra_links for name in ("submit", "mapped", "plain", "linked")] == [
        *(("Job",), ("Job",), (), ("Home",))
    ]
    assert (tasks["plain"].is_empty, tasks["linked"].is_empty) == (True, False)


@pytest.mark.parametrize(
    ("links", "said"),
    [
        (JobLink(), "expected a list of BaseOperatorLink objects"),
        ([JobLink], "expected a BaseOperatorLink object, such as JobLink()"),
        ([Fixed("", "https://x.test")], "holds a Fixed whose name is ''"),
        ([JobLink(), JobLink()], "holds two links of the name 'Job'"),
    ],
)
def test_links_that_are_none_are_an_error_of_the_file(links: Any, said: str) -> None:
    dag = one()
    dag.get_task("submit").operator_extra_links = links
    with pytest.raises(DagError, match="'submit'") as refused:
        document_of(dag)
    assert said in str(refused.value)
