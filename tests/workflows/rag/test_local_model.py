"""The whole workflow with a local chat model as the default."""

import pytest
from knowledge import BRIDGES, kept
from weights import local_chat

from loopwright.models import allow_model_requests
from loopwright.workflows.rag import RAGConfig, Services, ask

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def services():
    chat = {"model": local_chat(), "timeout": 600}
    section = {"timeout": {"model": 1800}, "grading_concurrency": 1}
    return Services.of(RAGConfig.load(None, {"models": {"default": chat}, "rag": section}, {}), kept(BRIDGES))


def test_a_local_model_answers_beside_the_quotes(services):
    with allow_model_requests():
        result = ask("Who designed the Tower Bridge?", services=services)
    assert "Horace Jones" in result.answer.text and result.status == "answered"
    assert result.answer.citations[0].title in ("Tower Bridge", "Horace Jones")
    assert result.model_calls == 1 and result.tokens > 0
