"""A bound for agents that somebody else compiles: deep agents' subagents, other people's factories.

Where you compile the graph yourself, `loopwright.bounded` needs no middleware. This one decides as a gate does, by the
same function, and leaves the same traces: the ledger in the state, the stop reason, the event, the log lines.
"""

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any, NotRequired, TypedDict, cast

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.runnables.utils import accepts_config, accepts_run_manager
from langgraph.config import get_config
from langgraph.types import Command
from pydantic import NonNegativeInt

try:
    from langchain.agents.middleware.types import (
        AgentMiddleware,
        ExtendedModelResponse,
        ModelRequest,
        ModelResponse,
        OmitFromInput,
        PrivateStateAttr,
        hook_config,
    )
except ImportError as missing:
    raise ImportError(
        "loopwright.langchain.LoopMiddleware needs langchain: pip install -U 'loopwright[chat]'. "
        "A graph that you compile yourself needs no middleware: bounded(graph, limit=...)"
    ) from missing

from loopwright.engine.budget.budget import Budget, Spent, larger
from loopwright.engine.budget.meter import Meter, current_meter
from loopwright.engine.budget.patience import StallRule
from loopwright.engine.events.reasons import shorten, stops_of, wanted, warning
from loopwright.engine.events.stops import NOT_RUN, as_update, close_tool_calls, messages_in, open_calls
from loopwright.engine.gate import blame, logger, stop_reason, tell
from loopwright.engine.kinds import fits
from loopwright.engine.ledger import NO_STOP, STOP_REASON, StopReason, StopReasons, merge_ledger
from loopwright.engine.loop import END, Loop, Spend, StateLimit, begun, decide
from loopwright.engine.nodes.fallback import require_state
from loopwright.engine.proof.choice import loop_name
from loopwright.errors import LoopDeclarationError, unknown_name_message
from loopwright.fallbacks import say_what_is_missing

AGENT = "agent"
"""The loop's name where the agent has none."""

BOOKS = "loop_middleware"
"""The private state key of the middleware."""

Update = dict[str, Any]

Fallback = Callable[[Mapping[str, Any]], Any] | Runnable[Any, Any]
"""What answers when the agent is refused: a function of the state, or a node of `loopwright.fallbacks`."""


class Books(TypedDict, total=False):
    """What the middleware keeps of one run, in plain JSON; a new input empties it."""

    ledger: dict[str, Spend]
    """The loop's entry, as in a gate's ledger; none before the run's first model call."""
    tools: dict[str, float]
    """Tool -> how many calls of it were let through."""
    spent: Spent
    """What the agent's own model calls took, where there is a budget."""


def merge_books(old: Books, new: Books) -> Books:
    """Reduce two writes: empty books begin a new run, else no count falls; where a tool jumps, two come at once."""
    if not new:
        return Books()
    return Books(
        ledger=merge_ledger(old.get("ledger", {}), new.get("ledger", {})),
        tools=larger(old.get("tools", {}), new.get("tools", {})),
        spent=larger(old.get("spent", {}), new.get("spent", {})),
    )


class LoopState(TypedDict):
    """The state keys of the middleware. No others: what an agent makes of its messages is not touched."""

    loop_middleware: NotRequired[Annotated[Books, PrivateStateAttr, merge_books]]
    """What was spent."""
    stop_reason: NotRequired[Annotated[Any, StopReasons, OmitFromInput]]
    """Why the agent was stopped."""


class LoopMiddleware(AgentMiddleware[Any, Any, Any]):
    """Bounds an agent's loop: after `limit` passes it ends with an honest answer.

    A pass is one return to the model. Put it first in the list: what comes before it also runs before it decides, and a
    middleware that jumps back to the model from there does so without asking.

    Args:
        limit: How many passes a run gets after the first model call; a new input starts a new run, a resume or an
            answer to an interrupt does not. A `StateLimit` reads it from the state; its key cannot be checked here.
        per_tool: Tool -> how many of its calls run. A further one is answered with a message that says so.
        stall: How lack of progress is noticed, for example ``same_call_same_result()``.
        warn_at: From so many passes left on, the model is told how many. The history does not keep it.
        budget: What the agent's own model calls may take (model calls, tokens, money), looked at before every pass.
        fallback: Gives the last answer: text, a message, messages, or a state update, which can fill
            ``structured_response``. It finds ``stop_reason`` in the state. None says what was tried and what is
            missing.

    Raises:
        LoopDeclarationError: If a value is of no use; it names it.
    """

    state_schema = cast("Any", LoopState)

    def __init__(
        self,
        *,
        limit: int | StateLimit,
        per_tool: Mapping[str, int] | None = None,
        stall: StallRule | Sequence[StallRule] | None = None,
        warn_at: int = 0,
        budget: Budget | None = None,
        fallback: Fallback | None = None,
    ) -> None:
        super().__init__()
        self.loop = Loop(
            name=AGENT, target="model", sources=("tools",), limit=limit, stall=stall, budget=budget, warn_at=warn_at
        )
        if per_tool is not None and not fits(per_tool, Mapping[str, NonNegativeInt]):
            fix = "give the calls of each tool, from 0 up, by its name, for example {'search': 3}"
            raise LoopDeclarationError("LoopMiddleware", f"per_tool is {per_tool!r}: {fix}")
        self.per_tool: dict[str, int] = dict(per_tool or {})
        self._unsought = frozenset(self.per_tool)
        if budget and budget.seconds is not None:
            raise LoopDeclarationError(
                "LoopMiddleware",
                "the budget's seconds cannot be kept by a middleware, which does not see its tools' time; bound them "
                "where the agent is called: bounded(agent, budget=Budget(seconds=...))",
            )
        self._fallback = say_what_is_missing() if fallback is None else _as_runnable(fallback)

    # A new input

    def before_agent(self, state: Any, runtime: Any) -> Update:
        """Start new books: LangChain calls this for a new input, and neither for a resume nor for an answer."""
        return {BOOKS: Books()} | ({STOP_REASON: NO_STOP} if stops_of(state.get(STOP_REASON)) else {})

    # A pass

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Any) -> Update:
        """Grant or refuse one pass; the run's first model call is none."""
        update, stop = self._asked(state)
        return self._ended(state, update, stop, self._fallback.invoke({**state, STOP_REASON: stop})) if stop else update

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: Any, runtime: Any) -> Update:
        """As `before_model`."""
        update, stop = self._asked(state)
        if stop is None:
            return update
        return self._ended(state, update, stop, await self._fallback.ainvoke({**state, STOP_REASON: stop}))

    def _asked(self, state: Any) -> tuple[Update, StopReason | None]:
        """What to write, and why the agent stops if it does."""
        books: Books = state.get(BOOKS) or {}
        ledger = books.get("ledger")
        try:
            if not ledger:
                return {BOOKS: {**books, "ledger": {AGENT: begun(self.loop, state, state)}}}, None
            verdict = decide(self.loop, state, state, ledger, books.get("spent"))
        except Exception as error:
            blame(error, self.loop, "limit or stall rule", state)
        step = int(get_config().get("metadata", {}).get("langgraph_step", 0))
        # As `bounded` has it: after the agent, whose name LangChain writes on what its model says.
        agent = next((each.name for each in reversed(state["messages"]) if isinstance(each, AIMessage)), None)
        loop = replace(self.loop, name=loop_name("agent.model", agent))
        reason, granted = wanted(state), verdict.decision == "granted"
        tell(loop, verdict, reason, goto=[loop.target if granted else END], step=step, asked=[*loop.sources])
        update: Update = {BOOKS: {**books, "ledger": {AGENT: verdict.spend}}}
        return update, None if granted else stop_reason(loop, verdict, reason, step)

    def _ended(self, state: Any, update: Update, stop: StopReason, answer: Any) -> Update:
        """The last update: the fallback's answer, and no tool call left open for the thread's next turn."""
        update_of: Any = as_update(answer)
        given: Update = {**update_of} if isinstance(update_of, Mapping) else {"messages": update_of}
        said = messages_in(given.get("messages"), "LoopMiddleware")
        if not any(isinstance(message, AIMessage) for message in said):
            said += say_what_is_missing().invoke({**state, STOP_REASON: stop})["messages"]
        closed = {message.tool_call_id for message in said if isinstance(message, ToolMessage)}
        closing = [one for one in close_tool_calls(state["messages"], stop) if one.tool_call_id not in closed]
        said = [*closing, *said]
        held = state.get(STOP_REASON)  # of the agent itself or another middleware, if it is no stop: it stays
        told = {STOP_REASON: stop} if not held or stops_of(held) else {}
        return {**given, **update, "messages": [*said, *close_tool_calls(said, stop)], **told, "jump_to": "end"}

    # A model call

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Say how many passes are left, and count what the call takes."""
        with self._counting(request.state) as meter:
            return _counted(handler(self._warned(request)), request.state, meter)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """As `wrap_model_call`."""
        with self._counting(request.state) as meter:
            return _counted(await handler(self._warned(request)), request.state, meter)

    @contextmanager
    def _counting(self, state: Any) -> Generator[Meter | None]:
        budget = self.loop.budget
        if budget is None:
            yield None
            return
        meter = Meter(None, budget.price, (state.get(BOOKS) or {}).get("spent", {}), outer=current_meter.get())
        with meter.in_force()():
            yield meter

    def _warned(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        if self._unsought:
            known = {*map(_name_in, request.tools)}
            for tool in sorted(self._unsought - known):
                problem = unknown_name_message("tool", tool, known)
                logger.warning("LoopMiddleware: per_tool has an %s (unless a middleware hides it at first)", problem)
            self._unsought = frozenset[str]()
        entry = ((cast("Any", request.state).get(BOOKS) or {}).get("ledger") or {}).get(AGENT)
        warn_at = self.loop.warn_at
        left = min(entry["limit"], self.loop.ceiling) - entry["spent"] if entry else warn_at
        if not warn_at or left > warn_at:
            return request
        return request.override(messages=[*request.messages, HumanMessage(warning(left))])

    # Tools

    def after_model(self, state: Any, runtime: Any) -> Update | None:
        """Answer the calls of tools that were called as often as they may be; the others run."""
        if not self.per_tool:
            return None
        books: Books = state.get(BOOKS) or {}
        counts, answers = dict(books.get("tools", {})), list[ToolMessage]()
        for call in open_calls(state["messages"]):
            name, limit = call["name"], self.per_tool.get(call["name"])
            if limit is None:
                continue
            if counts.get(name, 0) < limit:
                counts[name] = counts.get(name, 0) + 1
            else:
                text = f"{NOT_RUN}{name} was called as often as it may be in one run ({limit}). Go on without it."
                answers.append(ToolMessage(text, tool_call_id=call["id"] or "", name=name, status="error"))
        return {BOOKS: {**books, "tools": counts}, "messages": answers}


def _as_runnable(fallback: Fallback) -> Runnable[Any, Any]:
    is_made = isinstance(fallback, Runnable)
    try:
        given = {} if is_made else {"config": accepts_config(fallback), "run_manager": accepts_run_manager(fallback)}
        require_state(fallback, [name for name, taken in given.items() if taken])
    except TypeError as error:
        problem = f"fallback is {shorten(repr(fallback))}: give a function of the state ({error})"
        raise LoopDeclarationError("LoopMiddleware", problem) from error
    return fallback if is_made else RunnableLambda(fallback)


def _name_in(tool: Any) -> str:
    """The name of a tool in any form that LangChain binds: a tool, a function, a provider's dict."""
    if isinstance(tool, Mapping):
        return str((its := cast("Any", tool.get("function", tool))).get("name") or its.get("type"))
    return getattr(tool, "name", None) or getattr(tool, "__name__", "")


def _counted(response: ModelResponse[Any], state: Any, meter: Meter | None) -> Any:
    """A model's response, and with it what the run has spent so far."""
    if meter is None:
        return response
    books = cast("Books", {**(state.get(BOOKS) or {}), "spent": meter.total()})
    return ExtendedModelResponse(model_response=response, command=Command(update={BOOKS: books}))
