"""The whole assistant with a local chat model in every node that asks one."""

import pytest
from weights import local_chat

from loopwright.models import allow_model_requests
from loopwright.workflows.assistant import AssistantConfig, Services, chat
from loopwright.workflows.assistant.sources.sample import sample_store

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

MARK = "[sessions:1021]"


@pytest.fixture(scope="module")
def services():
    section = {"timeout": {"model": 3000}, "max_retry_count": 1}
    models = {"default": {"model": local_chat(), "timeout": 1800}}
    config = AssistantConfig.load(None, {"models": models, "assistant": section}, {})
    with Services.of(config, sample_store()) as made:
        yield made


def test_a_local_model_answers_from_the_programme_and_cites_what_was_found(services):
    with allow_model_requests():
        result = chat("Is there anything about eels?", services=services)
    assert result.error is None
    assert result.status == "answered"
    assert "sessions:1021" in result.referenced_ids and MARK in result.answer
    assert result.model_calls >= 4
    assert result.tokens > 0


def test_a_local_model_reflects_within_the_bound_where_nothing_is_found(services):
    with allow_model_requests():
        result = chat("Anything about marmalade and jam making?", services=services)
    assert result.error is None
    assert result.path.count("reflect_and_replan") == 1
    assert result.path.count("execute_queries") == 2
    (thought,) = result.thinking_updates
    assert thought.strategy in ("rewrite", "pivot", "relax") and thought.message
    first = result.original_planned_queries
    again = result.queries[len(first) :]
    assert again and not set(again) & set(first)
