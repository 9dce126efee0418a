"""What the engine needs of a checkpoint saver, as tests to inherit."""

from __future__ import annotations

import asyncio
import operator
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Annotated, Any, TypeAlias, TypedDict, cast

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from loopwright.engine.bounds import bounded
from loopwright.engine.graph import BoundedGraph
from loopwright.engine.ledger import STOP_REASON
from loopwright.engine.loop import Loop

Saver: TypeAlias = BaseCheckpointSaver[Any]

LIMIT = 3
VALUES: list[Any] = [None, True, 0.1, "ä\n", b"\x00\xff", [1, [2]], {"a": {"b": None}}, "x" * 200_000]


class _State(TypedDict, total=False):
    value: Any
    answer: str
    messages: Annotated[list[AnyMessage], add_messages]
    log: Annotated[list[str], operator.add]


class _Saved:
    """A saver with one way to use it, so that a scenario is written once for both."""

    def __init__(self, saver: Saver, asynchronous: bool) -> None:
        self.saver = saver
        self._asynchronous = asynchronous

    def compile(self, builder: StateGraph[Any], loops: list[Loop] | None = None) -> BoundedGraph:
        """A newly compiled graph, as after a restart."""
        return bounded(builder, loops or [], checkpointer=self.saver)

    async def invoke(self, app: BoundedGraph, input: Any, config: Any) -> Any:
        if self._asynchronous:
            return await app.ainvoke(input, config, durability="sync")
        return app.invoke(input, config, durability="sync")

    async def state(self, app: BoundedGraph, config: Any) -> Any:
        return await app.aget_state(config) if self._asynchronous else app.get_state(config)

    async def history(self, app: BoundedGraph, config: Any) -> list[Any]:
        if self._asynchronous:
            return [item async for item in app.aget_state_history(config)]
        return [*app.get_state_history(config)]

    async def delete(self, thread_id: str) -> None:
        if self._asynchronous:
            await self.saver.adelete_thread(thread_id)
        else:
            self.saver.delete_thread(thread_id)


Scenario: TypeAlias = Callable[[_Saved], Awaitable[None]]
Play: TypeAlias = Callable[[Scenario], None]


class CheckpointerContract:
    """Tests of a checkpoint saver, to inherit.

    The saver is given in a fixture::

        class TestMySaver(CheckpointerContract):
            @pytest.fixture
            def saver(self, tmp_path):
                with MySaver(tmp_path) as saver:
                    yield saver

    Each test runs sync and async; no plug-in for async tests is needed. A saver that has a class of its own for async
    use also overrides `open_async_saver`; one that has only one of the two overrides `ways`.
    """

    ways: tuple[str, ...] = ("sync", "async")
    """How the saver can be used."""

    @pytest.fixture
    def saver(self) -> Any:
        """The saver for sync use, empty. Override it."""
        raise NotImplementedError("override the fixture 'saver': it gives an empty checkpoint saver")

    @pytest.fixture
    def open_async_saver(self, saver: Saver) -> Callable[[], AbstractAsyncContextManager[Saver]]:
        """What opens the saver for async use, empty, within a running event loop; by default it is the same saver."""
        return lambda: nullcontext(saver)

    @pytest.fixture(params=["sync", "async"])
    def play(self, request: pytest.FixtureRequest) -> Play:
        """Plays a scenario in one of the ways."""
        way: str = request.param
        if way not in self.ways:
            pytest.skip(f"this saver is not used {way}")
        opening: Any = (
            request.getfixturevalue("open_async_saver")
            if way == "async"
            else lambda: nullcontext(request.getfixturevalue("saver"))
        )

        async def run(scenario: Scenario) -> None:
            async with opening() as saver:
                await scenario(_Saved(saver, way == "async"))

        return lambda scenario: asyncio.run(run(scenario))

    def test_values_come_back_as_they_were(self, play: Play) -> None:
        """Round trip of plain values, large ones too."""

        async def scenario(saved: _Saved) -> None:
            app = saved.compile(_chain(keep=lambda state: {"value": VALUES}))
            await saved.invoke(app, {"log": []}, _thread())
            found = (await saved.state(saved.compile(_chain(keep=_note("keep"))), _thread())).values["value"]
            assert found == VALUES
            assert [type(value) for value in found] == [type(value) for value in VALUES]

        play(scenario)

    def test_messages_come_back_as_they_were(self, play: Play) -> None:
        """Round trip of messages with their tool calls."""
        call = AIMessage("", tool_calls=[{"name": "search", "args": {"query": "x"}, "id": "call 1"}])

        async def scenario(saved: _Saved) -> None:
            app = saved.compile(_chain(keep=lambda state: {"messages": [call]}))
            final = await saved.invoke(app, {"messages": [HumanMessage("hello")]}, _thread())
            found = (await saved.state(app, _thread())).values
            assert found["messages"] == final["messages"]
            assert [type(message) for message in found["messages"]] == [HumanMessage, AIMessage]

        play(scenario)

    def test_a_failed_run_goes_on_where_it_failed(self, play: Play) -> None:
        """A finished node does not run again."""
        runs: list[str] = []

        async def scenario(saved: _Saved) -> None:
            nodes = {
                "first": _run("first", runs),
                "second": _run("second", runs, fails=1),
                "third": _run("third", runs),
            }
            await _fails(saved, saved.compile(_chain(**nodes)))
            app = saved.compile(_chain(**nodes))
            assert (await saved.state(app, _thread())).next == ("second",)
            final = await saved.invoke(app, None, _thread())
            assert runs == ["first", "second", "second", "third"]
            assert final["log"] == ["first", "second", "third"]

        play(scenario)

    def test_what_finished_beside_a_failure_does_not_run_again(self, play: Play) -> None:
        """Pending writes: the results of a superstep that did not end."""
        runs: list[str] = []

        def good_ended() -> bool:
            deadline = time.monotonic() + 10
            while "good" not in runs and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.3)  # for its result to be taken from it
            return True

        async def scenario(saved: _Saved) -> None:
            builder = StateGraph(_State)
            for name, node in {"good": _run("good", runs), "bad": _run("bad", runs, fails=1, after=good_ended)}.items():
                builder.add_node(name, cast("Any", node))
                builder.add_edge(START, name)
            await _fails(saved, saved.compile(builder))
            final = await saved.invoke(saved.compile(builder), None, _thread())
            assert sorted(runs) == ["bad", "bad", "good"]
            assert sorted(final["log"]) == ["bad", "good"]

        play(scenario)

    def test_a_resumed_loop_gets_only_the_passes_that_are_left(self, play: Play) -> None:
        """The ledger is kept."""
        runs: list[str] = []

        async def scenario(saved: _Saved) -> None:
            builder, loops = _round(_run("work", runs, fails=1, after=lambda: len(runs) == 3))
            await _fails(saved, saved.compile(builder, loops))
            final = await saved.invoke(saved.compile(builder, loops), None, _thread())
            assert len(final["log"]) == 1 + LIMIT
            assert len(runs) == 1 + LIMIT + 1  # the third visit failed, and ran again
            assert (final[STOP_REASON]["spent"], final[STOP_REASON]["limit"]) == (LIMIT, LIMIT)

        play(scenario)

    def test_a_fork_counts_from_where_it_began(self, play: Play) -> None:
        """The ledger of an old checkpoint is the one of its time, and the first history is kept."""

        async def scenario(saved: _Saved) -> None:
            app = saved.compile(*_round(_note("work")))
            await saved.invoke(app, {"log": []}, _thread())
            before = await saved.history(app, _thread())
            old = next(item for item in before if len(item.values.get("log", [])) == 2 and item.next == ("work",))
            forked = await saved.invoke(app, None, old.config)
            assert len(forked["log"]) == 1 + LIMIT
            after = [item.config["configurable"]["checkpoint_id"] for item in await saved.history(app, _thread())]
            kept = [item.config["configurable"]["checkpoint_id"] for item in before]
            assert after[-len(kept) :] == kept
            assert len(after) > len(kept)

        play(scenario)

    def test_a_new_input_starts_a_new_count(self, play: Play) -> None:
        """A second run on the same thread has all its passes."""

        async def scenario(saved: _Saved) -> None:
            app = saved.compile(*_round(_note("work")))
            for number in (1, 2):
                final = await saved.invoke(app, {"log": []}, _thread())
                assert len(final["log"]) == number * (1 + LIMIT)

        play(scenario)

    def test_an_interrupt_waits_for_its_answer(self, play: Play) -> None:
        """The answer reaches the node that asked, in a newly compiled graph."""

        async def scenario(saved: _Saved) -> None:
            builder = _chain(ask=lambda state: {"answer": interrupt("go on?")}, done=_note("done"))
            await saved.invoke(saved.compile(builder), {"log": []}, _thread())
            app = saved.compile(builder)
            assert [item.value for item in (await saved.state(app, _thread())).interrupts] == ["go on?"]
            final = await saved.invoke(app, Command(resume="yes"), _thread())
            assert (final["answer"], final["log"]) == ("yes", ["done"])

        play(scenario)

    def test_threads_are_apart(self, play: Play) -> None:
        """Neither sees, nor loses, what belongs to the other."""

        async def scenario(saved: _Saved) -> None:
            app = saved.compile(*_round(_note("work")))
            for thread in ("one", "two"):
                await saved.invoke(app, {"log": [thread]}, _thread(thread))
            histories = [len(await saved.history(app, _thread(thread))) for thread in ("one", "two")]
            assert histories[0] == histories[1] > 0
            await saved.delete("one")
            assert (await saved.state(app, _thread("one"))).values == {}
            assert (await saved.state(app, _thread("two"))).values["log"] == ["two", *["work"] * (1 + LIMIT)]

        play(scenario)

    def test_the_history_is_complete_and_newest_first(self, play: Play) -> None:
        """One checkpoint for the input, and one for each superstep."""

        async def scenario(saved: _Saved) -> None:
            app = saved.compile(_chain(first=_note("first"), second=_note("second")))
            await saved.invoke(app, {"log": []}, _thread())
            history = await saved.history(app, _thread())
            assert [item.metadata["step"] for item in history] == [2, 1, 0, -1]
            assert [item.next for item in history] == [(), ("second",), ("first",), (START,)]

        play(scenario)


def _thread(name: str = "one") -> Any:
    return {"configurable": {"thread_id": name}}


def _note(name: str) -> Callable[[Any], dict[str, Any]]:
    return lambda state: {"log": [name]}


def _run(
    name: str, runs: list[str], fails: int = 0, after: Callable[[], bool] = lambda: True
) -> Callable[[Any], dict[str, Any]]:
    """A node that notes its runs, and fails so many times once something has come true."""
    failures: Iterator[int] = iter(range(fails))

    def node(state: Any) -> dict[str, Any]:
        runs.append(name)
        if after() and next(failures, None) is not None:
            raise RuntimeError("told to fail")
        return {"log": [name]}

    return node


def _chain(**nodes: Callable[[Any], Any]) -> StateGraph[Any]:
    builder = StateGraph(_State)
    for before, (name, node) in zip([START, *nodes], nodes.items(), strict=False):
        builder.add_node(name, cast("Any", node))
        builder.add_edge(before, name)
    return builder


def _round(work: Callable[[Any], Any]) -> tuple[StateGraph[Any], list[Loop]]:
    """A node that wants to run again for ever."""
    builder = _chain(work=work)

    def again(state: Any) -> str:
        return "work"

    builder.add_conditional_edges("work", again, ["work", END])
    return builder, [Loop(name="again", target="work", sources=("work",), limit=LIMIT)]


async def _fails(saved: _Saved, app: BoundedGraph) -> None:
    with pytest.raises(RuntimeError, match="told to fail"):
        await saved.invoke(app, {"log": []}, _thread())
