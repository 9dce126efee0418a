"""Whatever a client sends, as the description of the API allows it or not, the server foresaw it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance
from scripted_server import Script

from loopwright.retrieval.records import Contribution, Document
from loopwright.retrieval.stores import open_store
from loopwright.workflows.api import Run
from loopwright.workflows.assistant import AssistantConfig, Services

CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]


@schemathesis.serializer("application/gzip")
def as_it_is(_context: Any, value: Any) -> bytes:
    """Archives are sent as they were made up."""
    return value if isinstance(value, bytes) else str(value).encode()


class Patient(Script):
    """Answers everything."""

    name = "patient"

    def run(self, given: Mapping[str, Any], uploads: Mapping[str, Path], run_id: str) -> Run:
        return super().run({"message": '[{"done": {}}]'}, uploads, run_id)


@pytest.fixture(scope="module")
def fuzzed(serve_in_module):
    with open_store("memory") as store, Services.of(AssistantConfig(), store) as services:
        store.put([Contribution(document=Document(id="sessions:1", title="A talk", digest="0"), passages=())])
        settings = {"reads_per_minute": 0, "starts_per_minute": 0}
        served = serve_in_module(workflows=[Patient()], services=services, settings=settings)
        served.script.run = Patient().run
        yield served


def fuzz(served, examples: int, every: int = 1) -> int:
    schema = schemathesis.openapi.from_url(served.url + "/openapi.json")
    tried = 0
    for found in [*schema.get_all_operations()][::every]:
        operation = found.ok()

        @settings(
            max_examples=examples,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def conforms(case):
            nonlocal tried
            tried += 1
            case.call_and_validate(checks=CHECKS, timeout=30)

        conforms()
    assert httpx.get(served.url + "/health/ready").status_code == 200
    return tried


def test_a_few_requests_of_some_kinds(fuzzed):
    assert fuzz(fuzzed, 2, every=3) > 20


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_many_requests_of_each_kind(fuzzed):
    assert fuzz(fuzzed, 60) > 1500
