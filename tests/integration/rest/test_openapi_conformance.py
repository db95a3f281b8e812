"""Requests made from the OpenAPI document, good and bad ones: no answer may be other than the document says.

Schemathesis makes a few requests for operations of ``/api``, the same ones each time: spread evenly over the document,
so that each resource has its share. ``OPENAPI_OPERATIONS=all`` goes through all of them. The ids are of things that are
there, so that answers are mostly not 404. What only streams until something ends is left out.
"""

from __future__ import annotations

import os
from typing import Any, Final

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.integration.rest.conftest import Service

from treadle_webserver.app import create_app

CHECKS: Final = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
STREAMS: Final = ("/wait", "/follow")
IDS: Final[dict[str, Any]] = {
    "dag_id": "bakery",
    "dag_run_id": "order",
    "task_id": "bake",
    "map_index": -1,
    "try_number": 1,
    "task_try_number": 1,
    "version_number": 1,
    "other_version_number": 1,
    "xcom_key": "return_value",
    "pool_name": "default_pool",
    "variable_key": "oven",
    "connection_id": "shop",
    "backfill_id": 1,
    "section": "treadle",
    "option": "parallelism",
}
OPERATIONS: Final = os.environ.get("OPENAPI_OPERATIONS", "16")
"""How many operations are asked, or ``all``; each takes 0.15 s of processor time."""
FEW: Final = settings(
    max_examples=2,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def filled(service: Service) -> Service:
    """The service with a finished run, a variable and a connection."""
    headers = {"Authorization": f"Bearer {service.token}"}
    for path, body in (
        ("dags/bakery/dagRuns", {"dag_run_id": "order", "logical_date": None}),
        ("variables", {"key": "oven", "value": "220"}),
        ("connections", {"connection_id": "shop", "conn_type": "http"}),
    ):
        requests.post(f"{service.url}/api/v2/{path}", json=body, headers=headers, timeout=10).raise_for_status()
    service.scheduler.beats()
    return service


def test_every_answer_is_one_that_the_document_tells_of(filled: Service) -> None:
    document = create_app(filled.scheduler.context.settings, filled.scheduler.database).openapi()
    schema = schemathesis.openapi.from_dict(document)
    operations = [one.ok() for one in schema.get_all_operations()]
    wanted = [one for one in operations if one.path.startswith("/api/") and not one.path.endswith(STREAMS)]
    assert len(wanted) > 100
    chosen = _spread(wanted, len(wanted) if OPERATIONS == "all" else int(OPERATIONS))
    faults: list[str] = []
    with requests.Session() as session:
        for operation in chosen:
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                faults += _faults_of(operation, mode, session, filled)
    assert not faults, "\n".join(faults)


def _faults_of(operation: Any, mode: GenerationMode, session: requests.Session, service: Service) -> list[str]:
    """Return what is wrong with the answers to a few requests for ``operation``."""
    # Named for each call: else the token is made up like any other parameter.
    headers = {"Authorization": f"Bearer {service.token}"}
    negative = mode is GenerationMode.NEGATIVE
    parameters = None if negative else {name: IDS[name] for name in _names(operation) if name in IDS}
    checks = [*CHECKS, negative_data_rejection] if negative else CHECKS
    faults: list[str] = []

    @given(case=operation.as_strategy(generation_mode=mode, path_parameters=parameters or None))
    @FEW
    def ask(case: Any) -> None:
        answer = case.call(base_url=service.url, session=session, headers=headers)
        try:
            case.validate_response(answer, checks=checks)
        except schemathesis.errors.FailureGroup as group:
            faults.extend(f"{operation.label} {mode}: {one} {case.query} {case.body}" for one in group.exceptions)

    if not negative or _has_input(operation):
        ask()
    return faults


def _spread(operations: list[Any], number: int) -> list[Any]:
    """Return so many of the operations from all parts of the document; deletions come last."""
    chosen = [operations[at * len(operations) // number] for at in range(number)]
    return sorted(chosen, key=lambda one: one.method == "delete")


def _names(operation: Any) -> list[str]:
    return [one.name for one in operation.path_parameters]


def _has_input(operation: Any) -> bool:
    return bool(operation.query or operation.body or operation.path_parameters)
