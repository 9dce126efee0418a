"""The answering node without a model: it goes by the configuration, and says how much a list leaves out."""

from __future__ import annotations

import pytest
from conferences import sample_services
from langchain_core.messages import HumanMessage

from loopwright.workflows.assistant import AssistantConfig, chat
from loopwright.workflows.assistant.answering.fitting import topic_held
from loopwright.workflows.assistant.nodes.answering import judged_by_rules, written_by_rules
from loopwright.workflows.assistant.schemas import Found, Record, Table, Understanding

STATE = {
    "messages": [HumanMessage("lorem ipsum dolor")],
    "understanding": Understanding(
        standalone="lorem ipsum dolor",
        intent="",
        query_mode="specific",
        tables=(Table.SESSIONS,),
        topic="lorem ipsum dolor",
    ),
    "query_results": {
        "sessions": [
            Found(record=Record(id="sessions:1", table=Table.SESSIONS, key="1", title="Lorem ipsum"), score=0.4),
        ]
    },
    "response_text": "**Amet** [sessions:1]",
    "referenced_ids": ["sessions:1"],
}


@pytest.mark.parametrize(("threshold", "status"), [(0.35, "answered"), (0.5, "partial")])
def test_the_configured_threshold_decides_what_fits(threshold: float, status: str) -> None:
    with sample_services(search={"score_threshold": threshold}) as services:
        assert written_by_rules(STATE, services)["status"] == status


def test_the_configured_threshold_judges_the_answer() -> None:
    record = STATE["query_results"]["sessions"][0].record
    held = topic_held(record, "lorem ipsum dolor")
    for threshold, quality in ((0.35, 1.0), (0.8, held)):
        with sample_services(search={"score_threshold": threshold}) as services:
            scores = judged_by_rules(STATE, services)
        # The topic and the wish for sessions.
        assert scores["quality_score"] == pytest.approx((quality + 1) / 2)


def test_a_cut_list_gives_the_number_of_all_that_the_search_counted() -> None:
    with sample_services() as services:
        sessions = services.search.catalogue.of_table(Table.SESSIONS)
        day = sorted({value for record in sessions for value in record.values("day")})[0]
        held = sum(day in record.values("day") for record in sessions)
        result = chat("What is on on the first day?", services=services)
    limit = AssistantConfig().assistant.search.limit
    assert len(result.referenced_ids) == limit
    assert f"And {held - limit} more sessions" in result.answer


def test_the_conference_itself_is_answered_for_without_a_search_or_an_example() -> None:
    with sample_services() as services:
        result = chat("How many sessions are there?", services=services)
        count = len(services.search.catalogue.of_table(Table.SESSIONS))
    assert (result.status, result.referenced_ids) == ("answered", ())
    assert f"{count} sessions" in result.answer and "Ask me" not in result.answer
