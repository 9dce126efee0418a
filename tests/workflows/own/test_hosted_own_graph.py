"""Any graph of LangGraph's becomes a workflow: bounded, with a form, an answer, and the host's saver."""

# No "from __future__ import annotations" here: LangGraph reads the annotations of the schemas below.
import dataclasses
import logging
from operator import add
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import numpy as np
import pytest
from hosted_runs import drive
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.managed import RemainingSteps
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Send
from pydantic import BaseModel, Field
from shapes import graph, loop

from loopwright import Loop, bounded, fallbacks
from loopwright.engine import RunResult
from loopwright.engine.events.schema import NodeFinished, NodeStarted, TextStreamed
from loopwright.errors import GraphError, InputError
from loopwright.testing import ScriptedChatModel
from loopwright.workflows.user_graph import UserGraph


class Draft(TypedDict):
    topic: str
    text: NotRequired[str]
    left: NotRequired[RemainingSteps]


class LongDraft(Draft):
    log: Annotated[list[str], DeltaChannel(lambda log, written: [*log, *written])]


def write(state: Draft) -> dict[str, Any]:
    return {"text": state.get("text", "") + f"<{state['topic']}>"}


def again(state: Draft) -> Literal["write", "__end__"]:
    return "write"


def drafting(state: type = Draft) -> StateGraph:
    builder = graph("START-write", state, write=write)
    builder.add_conditional_edges("write", again)
    return builder


async def test_a_builder_without_loops_is_bounded_and_tells_which_loops_were_chosen(caplog):
    with caplog.at_level(logging.WARNING, "loopwright.loops"):
        hosted = UserGraph("my-drafts", drafting(), limit=2)
        UserGraph("outer", graph("START-inner", Draft, inner=drafting().compile()))
    assert "'write' (write -> write)" in caplog.text and "'inner/write' (write -> write)" in caplog.text
    assert "at most 2 passes" in caplog.text
    done = await drive(hosted, {"topic": "tea"})
    assert done.outcome.answer == "<tea><tea><tea>"
    assert done.outcome.details == {"text": "<tea><tea><tea>"}
    assert done.state["stop_reason"]["limit"] == 2
    assert done.client == []
    assert (hosted.title, done.run.title) == ("My Drafts", "tea")
    assert hosted.shown().loops[0].limit == "2"
    assert hosted.nodes["write"].label == "Write"


def test_a_state_for_everything_asks_for_what_can_be_given_and_never_for_managed_values():
    schema = UserGraph("drafts", drafting(LongDraft), limit=1).input_schema
    assert set(schema["properties"]) == {"topic", "text", "log"}
    assert "required" not in schema
    for made in (drafting(LongDraft), graph("START-write", StateGraph(Draft, input_schema=TypedDict("Nothing", {})))):
        assert UserGraph("made", made).run({}, {}, "r").graph_input == {}, "a graph may need no input"


def test_a_key_may_be_called_as_what_pydantic_has(recwarn):
    hosted = UserGraph(
        "sql", graph("START-write", TypedDict("Sql", {"schema": str, "copy": int}), write=lambda state: {})
    )
    assert hosted.run({"schema": "a", "copy": 1}, {}, "r").graph_input == {"schema": "a", "copy": 1}
    assert not [*recwarn]


async def test_a_bounded_graph_keeps_its_loops_and_not_its_saver(caplog):
    own = InMemorySaver()
    app = bounded(drafting(), Loop(name="more", target="write", sources=("write",), limit=1), checkpointer=own)
    with caplog.at_level(logging.WARNING):
        hosted = UserGraph("drafts", app)
    assert not caplog.records
    saver = InMemorySaver()
    assert (await drive(hosted, {"topic": "x"}, saver=saver, run_id="t")).outcome.answer == "<x><x>"
    assert [loop.name for loop in hosted.shown().loops] == ["more"]
    assert saver.get_tuple({"configurable": {"thread_id": "t"}})
    assert not list(own.list(None))
    assert hosted.graph(None).checkpointer is None
    with pytest.raises(GraphError, match="bounded already"):
        UserGraph("drafts", app, limit=3)


class Asked(MessagesState):
    language: str


async def test_messages_become_one_text_with_room_for_lines():
    def reply(state: Asked) -> dict[str, Any]:
        assert isinstance(state["messages"][0], HumanMessage)
        return {"messages": [AIMessage(f"{state['messages'][0].text}! {state.get('language', '-')}")]}

    hosted = UserGraph("chat", graph("START-reply reply-END", Asked, reply=reply))
    assert "required" not in hosted.input_schema
    assert hosted.input_schema["properties"]["message"]["format"] == "multiline"
    assert "messages" not in hosted.input_schema["properties"]
    assert "$defs" not in hosted.input_schema
    done = await drive(hosted, {"message": "hello\nthere"})
    assert done.outcome.answer == "hello\nthere! -"
    assert done.run.title == "hello there"
    done = await drive(hosted, {"language": "Dutch", "message": "hi"})
    assert (done.outcome.answer, done.run.title) == ("hi! Dutch", "hi")
    for given in ([("user", "hi")], "hi", {"role": "user", "content": "hi"}):  # as LangGraph takes them
        assert hosted.run({"message": None, "messages": given}, {}, "r").title == "hi"
    for wrong in ({"message": ""}, {"message": 3}, {"message": "hi", "messages": []}):
        with pytest.raises(InputError, match="chat"):
            hosted.run(wrong, {}, "r")


TALK = list[AnyMessage]


@pytest.mark.parametrize(
    ("keys", "optional"),
    [
        ({"messages": TALK}, []),
        ({"messages": Annotated[list, add_messages]}, []),
        ({"question": str, "reply": AIMessage, "chats": dict[str, TALK]}, ["question", "reply", "chats"]),
        ({"question": str, "past": TALK, "messages": Annotated[TALK, add]}, ["message", "question", "past"]),
        ({"message": str, "messages": TALK}, ["messages", "message"]),
    ],
)
async def test_one_list_of_messages_is_a_text_and_is_required_alone(keys, optional):
    seen = []
    builder = graph("START-look", TypedDict("State", keys), look=lambda state: seen.append(state) or {})
    hosted = UserGraph("odd", builder)
    assert [*hosted.input_schema["properties"]] == (optional or hosted.input_schema["required"])
    own = "question" if "question" in optional else "message"
    await drive(hosted, {own: "why?"})
    assert own not in keys or seen[0][own] == "why?"


class Dish(TypedDict, total=False):
    recipe: str
    ballast: str
    verdict: str
    answer: str
    draft_answer: str
    messages: Annotated[list[AnyMessage], add_messages]


async def cook(state: Dish) -> Dish:
    return {"recipe": "".join([str(piece.content) async for piece in ScriptedChatModel("Boil it.").astream("write")])}


STEPS: dict[str, Any] = {
    "weigh": lambda _: {"ballast": "x" * 9},
    "judge": lambda _: {"verdict": "yes"},
    "write": cook,
    "print": lambda state: {"ballast": f"For two: {state['recipe']}"},
    "title": lambda state: {"recipe": f"Eggs. {ScriptedChatModel('Boil it.').invoke('write').text}"},
    "record": lambda _: {"recipe": ScriptedChatModel("Boil it.").invoke("x").text, "ballast": "Asked; said: Boil it."},
    "shout": lambda state: {"answer": state["recipe"].upper()},
    "reply": lambda _: {"messages": [AIMessage("Fry it, then.")]},
    "guess": lambda _: {"draft_answer": ScriptedChatModel("Fry it?").invoke("guess").text},
    "greet": lambda _: {"recipe": ScriptedChatModel("今天天气很好。").invoke("greet").text},
    "wrap": lambda state: {"ballast": f"致读者：{state['recipe']}"},
    "score": lambda _: {"verdict": "took 7 s"} if ScriptedChatModel("7").invoke("score") else {},
}


def dish(edges: str, **more: Any) -> StateGraph:
    return graph(edges, Dish, **{name: step for name, step in STEPS.items() if name in edges}, **more)


async def answer_of(made: Any) -> str:
    hosted = UserGraph("dish", made)
    run = hosted.run({"recipe": "?"}, {}, "r")
    *_, result = [event async for event in hosted.follow(run)]
    return (await run.ended(result))[0].answer


@pytest.mark.parametrize(
    ("edges", "answer"),
    [
        ("START-judge judge-weigh", "x" * 9),
        ("START-write write-judge judge-weigh", "Boil it."),
        ("START-guess guess-write", "Boil it."),
        ("START-greet greet-wrap", "致读者：今天天气很好。"),
        ("START-write write-print print-judge", "For two: Boil it."),
        ("START-title title-judge", "Eggs. Boil it."),
        ("START-record record-judge", "Boil it."),
        ("START-write write-reply reply-judge", "Fry it, then."),
        ("START-reply reply-write write-judge", "Fry it, then."),
        ("START-reply reply-write write-shout shout-print", "BOIL IT."),
        ("START-write write-score", "Boil it."),
    ],
)
async def test_of_several_texts_one_is_the_answer(edges, answer):
    assert await answer_of(dish(edges)) == answer


@pytest.mark.parametrize(
    ("more", "fallback", "answer"),
    [
        ("", fallbacks.best_effort("recipe", to="ballast"), "Boil it.\n\n(The best answer so far"),
        ("", fallbacks.best_effort("answer"), "BOIL IT.\n\n(The best answer so far"),
        ("", lambda _: {"ballast": "Sorry."}, "Sorry."),
        ("give_up-END", fallbacks.say_what_is_missing(to="ballast"), "I stopped before I had an answer"),
        ("give_up-END", lambda _: {"ballast": "Sorry."}, "Sorry."),
        ("go_on-judge judge-END", fallbacks.best_effort("recipe", to="ballast"), "BOIL IT."),
        ("save-END shout?save", lambda _: {"ballast": "Saved."}, "BOIL IT."),
    ],
)
async def test_where_a_bound_was_reached_what_the_run_said_at_its_end_is_the_answer(more, fallback, answer):
    own = more.partition("-")[0]
    made = dish(f"START-write write-shout shout?write shout?END {more}", **{own: fallback} if own else {})
    app = bounded(made, loop("l", "shout", "write", 1, own or "fallback"), fallback=None if own else fallback)
    assert (await answer_of(app)).startswith(answer)


async def test_what_was_said_in_an_earlier_turn_is_no_answer():
    calls = {"messages": [AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1"}])]}
    turns = iter([{"messages": [AIMessage("Boil it.")]}, calls, {"answer": [7]}, {"verdict": "Sorry."}])
    hosted, saver = UserGraph("chat", dish("START-next", next=lambda _: next(turns))), InMemorySaver()
    for asked, answer in (("How?", "Boil it."), ("And fish?", ""), ("Eggs?", "[7]"), ("Tea?", "Sorry.")):
        assert (await drive(hosted, {"message": asked}, saver=saver, run_id="t")).outcome.answer == answer


async def test_a_run_that_goes_on_is_told_of_its_texts_from_its_log():
    weighed = {"ballast": np.zeros(3), "verdict": [b"so", float("inf")]}
    done = await drive(UserGraph("numbers", graph("START-weigh", Dish, weigh=lambda _: weighed)), {"recipe": "?"})
    assert (done.error, done.outcome.error) == (None, None)
    assert done.outcome.details == {"ballast": "[0. 0. 0.]", "messages": [], "verdict": ["so", None]}

    # Resumed behind what the model said, a run is told of it from its log.
    again = UserGraph("dish", dish("START-write write-judge judge-weigh")).recovered({"recipe": "?"}, {}, "r")
    again.replay(TextStreamed(node="write", text="Boil it."))
    again.replay(NodeFinished(node="write", task_id="1", visit=1, seconds=0.0, update={"recipe": "Boil it."}))
    again.told(NodeFinished(node="judge", task_id="2", visit=1, seconds=0.0, update={"verdict": "yes"}))
    ended, _ = await again.ended(RunResult({"recipe": "Boil it.", "verdict": "yes"}, ()))
    assert ended.answer == "Boil it."


class Place(BaseModel):
    name: str
    visits: int = 0


class Trip(BaseModel):
    place: Place
    days: int = Field(default=1, ge=1, description="How long.")


@dataclasses.dataclass
class Ticket:
    train: str
    seats: int = 1
    notes: list[str] = dataclasses.field(default_factory=list)


@pytest.mark.parametrize(
    ("schema", "given", "required", "wrong"),
    [
        (Trip, {"place": {"name": "Ghent"}, "days": 2}, ["place"], {"place": {"name": "Ghent"}, "days": 0}),
        (Ticket, {"train": "IC"}, ["train"], {"train": "IC", "seats": "many"}),
    ],
)
async def test_models_and_dataclasses_are_read_and_checked(schema, given, required, wrong):
    seen = []

    def look(state):
        seen.append(state)
        return {}

    hosted = UserGraph("look", graph("START-look", schema, look=look))
    assert hosted.input_schema["required"] == required
    await drive(hosted, given)
    assert isinstance(seen[0], schema)
    for unfit in (wrong, {**given, "unknown": 1}):
        with pytest.raises(InputError, match="does not fit"):
            hosted.run(unfit, {}, "r")


class Handle:
    """Nothing that JSON has a word for."""


class Narrow(TypedDict):
    question: str
    handle: NotRequired[Annotated[Handle | None, "kept open"]]


class Wide(Narrow):
    answer: list[int]
    final_answer: str


async def test_a_narrow_input_schema_says_what_is_required_whatever_its_types():
    builder = StateGraph(Wide, input_schema=Narrow, output_schema=Wide)
    builder.add_node("ask", lambda state: {"answer": [7], "final_answer": state["question"].upper()})
    builder.add_edge(START, "ask")
    hosted = UserGraph("ask", builder)
    assert hosted.input_schema["required"] == ["question"]
    assert set(hosted.input_schema["properties"]) == {"question", "handle"}
    assert (await drive(hosted, {"question": "why"})).outcome.answer == "WHY"
    assert hosted.outcome({"final_answer": "WHY", "answer": [7]}).answer == "WHY", "a text comes before what is none"
    with pytest.raises(InputError, match="question"):
        hosted.run({}, {}, "r")
    apart = UserGraph("go", graph("START-go", StateGraph(Narrow, input_schema=Ticket), go=lambda _: {}))
    run = apart.run({"train": "IC"}, {}, "r")
    assert run.graph_input == {"train": "IC", "seats": 1}, "the notes stay as they are"
    assert run.onward({"train": "RE", "seats": 4}) == {"train": "IC"}, "so do the seats in a further turn"


@dataclasses.dataclass
class Keyed:
    question: str
    site: str = "here"

    def __post_init__(self):
        assert self.site == "here", "not here"


class Aliased(BaseModel):
    question: str = Field(alias="asked")
    site: str = Field("here", max_length=4)


@pytest.mark.parametrize(
    ("context", "given", "told"),
    [
        (list, None, "[None] None"),
        (Narrow, None, "None None"),
        (Narrow, {"question": "a"}, "{'question': 'a'} a"),
        (Keyed, {"question": "a"}, "Keyed(question='a', site='here') a"),
        (Aliased, {"asked": "a"}, "question='a' site='here' a"),
    ],
)
async def test_each_run_has_a_context_of_its_own_unless_that_has_to_be_given(context, given, told):
    def note(_state, runtime, config: RunnableConfig):
        runtime.store.put(("notes",), "seen", {"times": 1})
        shown = runtime.context if context is not list else [*runtime.context, runtime.context.append(1)]
        return {"text": f"{shown} {config['configurable'].get('question')}"}

    builder = graph("START-note", StateGraph(Draft, context_schema=context), note=note)
    hosted = UserGraph("note", builder)
    asked = {"topic": "tea", **({"context": given} if given else {})}
    assert [(await drive(hosted, asked)).outcome.answer for _ in "12"] == [told, told]
    if context in (Keyed, Aliased):
        problems = "context.(question|asked): Field required", "fit: (not here|context.site: .* at most 4)"
        for said, problem in zip(({}, {"context": {**given, "site": "there"}}), problems, strict=True):
            with pytest.raises(InputError, match=problem):  # before anything is kept of the run
                hosted.run({"topic": "tea", **said}, {}, "r")
    own = InMemoryStore()
    await drive(UserGraph("note", builder.compile(store=own)), asked)
    assert (hosted.store.get(("notes",), "seen") and own.get(("notes",), "seen")).value == {"times": 1}


async def test_commands_subgraphs_and_async_nodes():
    class State(TypedDict):
        word: str
        count: int

    async def jump(state: State) -> Command[Literal["inner", "__end__"]]:
        return Command(goto="inner" if state.get("count", 0) < 5 else END)

    def grow(state: State) -> dict[str, Any]:
        return {"word": state["word"] + "!", "count": state.get("count", 0) + 1}

    inner = graph("START-grow", State, grow=grow).compile()
    hosted = UserGraph("jumps", graph("START-jump inner-jump", State, jump=jump, inner=inner), limit=3)
    done = await drive(hosted, {"word": "go"}, saver=InMemorySaver())
    assert done.outcome.answer == "go!!!!"
    assert done.state["count"] == 4
    assert hosted.run({"count": 3}, {}, "r").title == '{"count": 3}'


def test_graphs_of_many_savers_do_not_pile_up():
    hosted = UserGraph("drafts", drafting(), limit=1)
    savers = [InMemorySaver() for _ in range(20)]
    made = [hosted.graph(saver) for saver in savers]
    assert hosted.graph(savers[-1]) is made[-1]
    assert hosted.graph(savers[0]) is not made[0]
    assert all(app.checkpointer is saver for app, saver in zip(made, savers, strict=True))


def test_no_graph_is_refused():
    with pytest.raises(GraphError, match="StateGraph"):
        UserGraph("nothing", {"nodes": []})  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="graph 'list' has no keys"):
        UserGraph("list", graph("START-write", Annotated[list, add_messages], write=lambda state: []))


async def test_what_a_model_writes_is_told_piece_by_piece_in_graphs_inside_too():
    words = "A long answer about tea, which comes in pieces of some words each, as a model writes it."

    def deep(state: MessagesState) -> dict[str, Any]:
        return {"messages": ScriptedChatModel(words).invoke(state["messages"])}

    inner = graph("START-deep", MessagesState, deep=deep).compile()
    twice = {"START": lambda state: [Send("agent", state)] * 2}
    hosted = UserGraph("chat", graph("START?agent", MessagesState, twice, agent=inner))
    events = [event async for event in hosted.follow(hosted.run({"message": "tea?"}, {}, "r1"))]
    pieces = [event for event in events if isinstance(event, TextStreamed)]
    begun = [event for event in events if isinstance(event, NodeStarted)]
    for deepest in [event for event in begun if event.node == "agent/deep"]:
        own = [piece for piece in pieces if piece.tasks == [deepest.within, deepest.task_id]]
        assert "".join(piece.text for piece in own) == words
        assert 1 < len(own) < len(words.split())
    assert {piece.node for piece in pieces} == {"agent"}
    assert sorted(event.node for event in begun) == ["agent", "agent", "agent/deep", "agent/deep"]
