"""The streaming contract where something fails or somebody leaves: which pieces are the answer can always be told."""

import asyncio

import pytest
from breaking_models import BreakingModel
from conferences import sample_services, services_of, shared_sample
from hypothesis import given
from hypothesis import strategies as st

from loopwright.models import with_fallback
from loopwright.models.embedded.llama import PromptTooLong
from loopwright.retrieval.stores import open_store
from loopwright.testing import ManualClock, always
from loopwright.workflows.assistant import astream_chat, chat
from loopwright.workflows.assistant.answer.references import referenced
from loopwright.workflows.assistant.nodes.answering import Telling
from loopwright.workflows.assistant.schemas import Table
from loopwright.workflows.assistant.sources.catalogue import current

FIRST = current(shared_sample()).of_table(Table.SESSIONS)[0]
QUESTION = f"Which sessions are about {FIRST.title}?"


def streamed(message, services, **options):
    async def collected():
        return [event async for event in astream_chat(message, services=services, **options)]

    return asyncio.run(collected())


def shown(events):
    """The answer as a client has it that begins anew at each start of the node that writes it."""
    text = ""
    for event in events:
        if event.event == "node_start" and event.node == "generate_response":
            text = ""
        elif event.event == "chunk":
            text += event.text
    return text


def of_node(events, node, name):
    return [event for event in events if event.event == name and event.node == node]


def written(events):
    """What the state has as the answer in the end."""
    return of_node(events, "generate_response", "node_end")[-1].output["response_text"]


@pytest.mark.parametrize(
    ("error", "failing"),
    [(ConnectionError("sk-secret"), 1), (ConnectionError("sk-secret"), 99), (ValueError("sk-secret"), 99)],
)
def test_a_model_that_breaks_off_begins_the_answer_anew(error, failing):
    model = BreakingModel(text=f"Go and see this one [{FIRST.id}] there.", error=error, failing=failing)
    with sample_services({"generate_response": model}) as services, ManualClock():
        events = streamed(QUESTION, services)
    starts = of_node(events, "generate_response", "node_start")
    ends = of_node(events, "generate_response", "node_end")
    assert len(starts) == len(ends) == model.calls + (failing > 1)
    assert {event.visit for event in (*starts, *ends)} == {1}
    assert all("error" in event.output and "response_text" not in event.output for event in ends[:-1])
    assert shown(events) == written(events)
    assert events[-1].event == "done"
    assert set(events[-1].referenced_ids) == set(referenced(shown(events), events[-1].referenced_ids))
    # Rules that stand in ask no model.
    assert (starts[-1].model is None) == (failing > 1)
    assert (ends[-1].usage is None) == (failing > 1)
    assert sum(end.usage.calls for end in ends if end.usage) == model.calls


def test_an_error_is_the_last_event_and_says_whether_to_try_again(tmp_path):
    store = open_store(f"sqlite:{tmp_path / 'conference.db'}")
    services = services_of(store, {}, {})
    store.close()
    with services:
        events = streamed(QUESTION, services)
    assert [event.event for event in events].count("error") == 1
    assert (events[-1].event, events[-1].error_type) == ("error", "StoreError")
    assert "Traceback" not in events[-1].error
    (wrong,) = streamed("  ", services)
    assert (wrong.event, wrong.error_type, wrong.can_retry) == ("error", "InputError", False)


async def test_a_reader_that_leaves_cancels_the_run():
    with sample_services() as services:
        stream = astream_chat(QUESTION, services=services)
        async for event in stream:
            if event.event == "node_start":
                break
        await stream.aclose()
        assert asyncio.all_tasks() == {asyncio.current_task()}


def test_models_that_fail_give_way_to_the_rules_and_no_event_holds_secrets_or_inputs():
    nodes = ["update_profile", "generate_acknowledgment", "plan_queries", "generate_response", "evaluate"]
    models = {node: always(RuntimeError("sk-secret")) for node in nodes}
    context = {"user_id": "somebody", "conversation_id": "private"}
    with sample_services(models) as services:
        events = streamed(f"I'm interested in ceramics. {QUESTION}", services, user_context=context)
    sent = "\n".join(event.model_dump_json() for event in events)
    failed = [event.node for event in events if event.event == "node_end" and event.output.get("error")]
    assert set(failed) == set(nodes)
    assert events[-1].status in ("answered", "partial") and events[-1].referenced_ids
    assert "sk-secret" not in sent
    assert "its input was" not in sent
    assert "private" not in sent


def test_an_answer_that_is_empty_or_takes_a_model_too_long_is_that_by_rules():
    for model in (always(""), always("  \n"), always("[sessions:made-up]"), always("?", delay=60.0)):
        with sample_services({"generate_response": model}, timeout={"model": 0.2}) as services:
            result = chat(QUESTION, services=services)
        assert result.error_node == "generate_response"
        assert FIRST.id in result.referenced_ids


def test_marks_of_records_that_were_not_offered_are_never_streamed():
    text = f" \nSee this [sessions:made-up], or this [{FIRST.id}] (and [a link](https://example.org)) [sessions:x1]. "
    model = with_fallback(always(PromptTooLong("too long"), model_name="big"), BreakingModel(text=text, failing=0))
    with sample_services({"generate_response": model}) as services:
        events = streamed(QUESTION, services)
        result = chat(QUESTION, services=services)
    pieces = [event.text for event in events if event.event == "chunk"]
    assert len(pieces) > 3
    assert "".join(pieces) == written(events) == result.answer
    assert result.answer == f"See this, or this [{FIRST.id}] (and [a link](https://example.org))."
    assert result.model_calls == 2


IDS = ("sessions:1", "exhibitors:Pots (and) pans", "speakers:Ada")
MARKS = st.sampled_from(
    [f"[{each}]" for each in IDS]
    + ["[sessions:9]", "[1]", "[a](b)", "【sessions:1】", "\\[sessions:9]", "[", "]", "\n"]
)


@given(st.lists(st.one_of(MARKS, st.text(" \n[]ab:,\\", max_size=6)), max_size=12), st.integers(1, 9))
def test_the_pieces_do_not_depend_on_how_the_model_cuts_its_text(parts, size):
    text = "".join(parts)
    told, whole = Telling(IDS), Telling(IDS)
    for start in range(0, len(text), size):
        told.add(text[start : start + size])
    for character in text:
        whole.add(character)
    answer = told.end()
    assert answer == answer.strip("\r\t ")
    assert set(referenced(answer, IDS)) <= set(IDS)
    assert answer == whole.end()
    assert "[sessions:9]" not in answer.replace("\\[sessions:9]", "")
