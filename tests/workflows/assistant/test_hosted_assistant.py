"""The assistant under a host: the same contract for its clients, the same answers, and runs that are apart."""

import asyncio
import json

import pytest
from conferences import empty_conference, sample_services
from hosted_runs import drive
from langgraph.checkpoint.memory import InMemorySaver

from loopwright.models import Prompt
from loopwright.testing import ScriptedChatModel, always
from loopwright.workflows.assistant import astream_chat
from loopwright.workflows.assistant.memory import Memory
from loopwright.workflows.assistant.workflow import AssistantWorkflow

ODD = "Which sessions are about quantum yodelling?"
VARIES = {"run_id", "ts", "duration_ms", "at"}


@pytest.fixture
def hosted():
    with sample_services() as services:
        yield AssistantWorkflow(services)


def plain(event):
    def without_times(value):
        if isinstance(value, dict):
            return {key: without_times(item) for key, item in value.items() if key not in VARIES}
        return [without_times(item) for item in value] if isinstance(value, list) else value

    return event.event, without_times(json.loads(event.model_dump_json(exclude={"event"})))


@pytest.mark.parametrize("message", ["Which keynotes are there?", "Which booth repairs bicycles?"])
async def test_clients_see_exactly_the_streaming_contract(hosted, message):
    context = {"now": "2027-04-16T10:00:00+00:00"}
    given = {"message": message, "user_context": context}
    done = await drive(hosted, given, saver=InMemorySaver())
    with sample_services() as services:
        before = [event async for event in astream_chat(message, user_context=context, services=services)]
    assert [plain(event) for event in done.client] == [plain(event) for event in before]


async def test_states_are_plain_json_without_whole_records(hosted):
    done = await drive(hosted, {"message": "Which keynotes are there?"}, saver=InMemorySaver())
    states = done.saved()
    assert len(states) > 5
    assert json.loads(json.dumps(states)) == states
    assert set(states[-1]["query_results"]["sessions"][0]) == {"id", "title", "score"}


async def test_models_and_prompts_of_runs_at_the_same_time_are_apart(hosted):
    answers = {name: f"From {name}: [sessions:1007]" for name in "abc"}
    models = {name: ScriptedChatModel(text, model_name=f"model-{name}") for name, text in answers.items()}
    names = hosted.prompts.get("generate_response").names
    places = " ".join(f"{{{{{name}}}}}" for name in sorted(names))
    runs = [
        drive(
            hosted,
            {"message": "Which keynotes are there?"},
            models={"generate_response": models[name]},
            prompts={"generate_response": Prompt("generate_response", 0, f"draft of {name} {places}")},
            saver=saver,
        )
        for name, saver in zip("abc", [InMemorySaver(), None, InMemorySaver()], strict=True)
    ]
    *changed, plain_run = await asyncio.gather(*runs, drive(hosted, {"message": "Which keynotes are there?"}))
    for name, done in zip("abc", changed, strict=True):
        assert done.outcome.answer == answers[name]
        assert models[name].calls[0].text.startswith(f"draft of {name} ")
        (start,) = [event for event in done.client if event.event == "node_start" and event.node == "generate_response"]
        (end,) = [event for event in done.client if event.event == "node_end" and event.node == "generate_response"]
        assert (start.model, end.usage.calls, end.prompt_version) == (f"model-{name}", 1, 0)
        chunks = [event.text for event in done.client if event.event == "chunk"]
        assert "".join(chunks) == answers[name]
        assert len(chunks) > 1
    assert plain_run.outcome.answer.startswith("What I found of the kind")
    assert all(event.model is None for event in plain_run.client if event.event == "node_start")


async def test_a_run_with_a_model_has_the_retries_and_bounds_of_that_model(hosted):
    assert hosted.graph(None).certificate.max_model_calls == 0
    hosted.models.assign("evaluate", always({"met": ["all"], "supported": ["all"]}))
    assert hosted.graph(None).certificate.max_model_calls > 0
    saver = InMemorySaver()
    assert hosted.graph(saver) is hosted.graph(saver) is not hosted.graph(None)


async def test_a_turn_is_kept_once_also_when_the_run_is_taken_up_again(hosted):
    given = {"message": "Which keynotes are there?", "user_context": {"conversation_id": "c1", "user_id": "u"}}
    saver = InMemorySaver()
    memory: Memory = hosted.services.memory
    await drive(hosted, given, saver=saver, run_id="r1")
    assert len(await memory.turns("c1", user_id="u")) == 2
    again = await drive(hosted, given, saver=saver, run_id="r1", recovered=True)
    assert again.outcome.status == "answered"
    assert len(await memory.turns("c1", user_id="u")) == 2
    await drive(hosted, given, saver=saver, run_id="r2")
    assert len(await memory.turns("c1", user_id="u")) == 4


async def test_a_failed_run_ends_with_the_clients_error():
    with empty_conference() as services:
        run = AssistantWorkflow(services).run({"message": ODD}, {}, "r")
    assert run.failed(asyncio.CancelledError())[0].error_type == "Cancelled"
    assert run.failed(TimeoutError())[0].can_retry
    (told,) = run.failed(KeyError("secret"))
    assert (told.error_type, "secret" in told.error) == ("InternalError", False)


async def test_the_examples_run_on_the_sample_and_one_of_them_thinks_twice():
    hosted = AssistantWorkflow.sample()
    done = await asyncio.gather(*(drive(hosted, example.input) for example in hosted.examples))
    assert all(each.error is None and each.outcome.answer for each in done)
    assert {"answered", "partial"} <= {each.outcome.status for each in done}
    assert max(len(each.thoughts()) for each in done) == 2
    assert any(each.state.get("stop_reason") for each in done)
    hosted.close()
