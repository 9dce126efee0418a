"""Makes spans of what happens in one run of a bounded graph.

A span for the run, one for each visit of a node, one for each granted pass of a loop, and one for each call of a tool.
Calls of models are left to the instrumentations made for them: each node's span is the current one while the node
runs, so theirs nest under it.
"""

import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from langchain_core.outputs import LLMResult
from langgraph.errors import GraphBubbleUp
from langgraph.graph import START
from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.metrics import Meter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer

from loopwright.engine.budget.budget import PriceTable, Usage
from loopwright.engine.budget.meter import reply_of
from loopwright.engine.events.reasons import stops_of
from loopwright.engine.events.schema import Observer
from loopwright.engine.ledger import STOP_REASON
from loopwright.tracing import conventions as names

STEP = "graph:step:"
"""How the tag begins that LangGraph gives to a visit of a node."""
LONGEST = 500
"""Characters of a reason or an error's message."""


class Figures:
    """What is counted over all runs."""

    def __init__(self, meter: Meter) -> None:
        self.passes = meter.create_counter(names.PASSES, "{pass}", "Passes that loops were granted")
        self.refusals = meter.create_counter(names.REFUSALS, "{refusal}", "Passes that loops were refused")
        self.cost = meter.create_counter(names.COST, "USD", "Price of the model calls within passes of loops")


@dataclass
class _Pass:
    """A pass that goes on."""

    loop: str
    span: Span
    used: Usage = field(default_factory=Usage)
    cost: float | None = None


@dataclass
class _Graph:
    """One graph that runs: the run's own, or one inside of a node."""

    around: Span
    passes: list[_Pass] = field(default_factory=list[_Pass])
    """Those that go on, the outermost first."""
    visits: Counter[str] = field(default_factory=Counter[str])

    @property
    def inmost(self) -> Span:
        return self.passes[-1].span if self.passes else self.around


@dataclass
class _Part:
    """What LangChain calls a run: a graph, a node, a tool, or anything in between."""

    parent: UUID | None
    span: Span | None = None
    before: otel.Context | None = None
    """What was current before the span."""
    model: str | None = None


@dataclass(eq=False, repr=False)
class RunSpans(Observer):
    """Makes the spans of one run."""

    graph: Any
    """The bounded graph."""
    tracer: Tracer
    """Makes the spans."""
    figures: Figures
    """What is counted over all runs."""
    price: PriceTable | None
    """What models cost; None leaves the cost unknown."""
    _parts: dict[UUID, _Part] = field(default_factory=dict[UUID, _Part], init=False)
    _graphs: dict[UUID, _Graph] = field(default_factory=dict[UUID, _Graph], init=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False)
    _run: Span = field(default=trace.INVALID_SPAN, init=False)
    """The run's span."""

    # The run

    @contextmanager
    def running(self, course: Any) -> Generator[None]:
        """The run's span: from its beginning until it has answered, by its fallback perhaps."""
        name = str(self.graph.name)
        own: dict[str, Any] = {names.GRAPH: name}
        if (most := self.graph.certificate.max_supersteps) is not None:
            own[names.MAX_SUPERSTEPS] = most
        thread = str(course.config.get("configurable", {}).get("thread_id") or "") or None
        own |= names.of_agents({names.OPERATION: names.INVOKE_AGENT, names.AGENT: name, names.CONVERSATION: thread})
        self._run = self.tracer.start_span(f"{names.INVOKE_AGENT} {name}", attributes=own)
        try:
            yield
        except BaseException as error:
            _fail(self._run, error)
            raise
        finally:
            self._stop(course.over)
            self._run.end()

    def making(self) -> AbstractContextManager[Any]:
        """Let the run's span be the current one, and what its caller made current again afterwards.

        A node that runs in its caller's own task leaves its span there: LangChain tells of an end in another task.
        """
        return trace.use_span(self._run, record_exception=False, set_status_on_exception=False)

    def _stop(self, stop: Any) -> None:
        """Note at which bounds the run ends."""
        for each in stops_of(stop):
            said = {names.STOP_REASON: str(each["outcome"]), names.LOOP: each["loop"]}
            self._run.set_attributes({**said, names.LIMIT: each["limit"], names.PASSES: each["spent"]})

    # Graphs and nodes

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None,
        tags: list[str] | None = None, metadata: dict[str, Any] | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        """Begin the span of a node's visit, and make it the current one for all that happens from here on in it."""
        about, part = metadata or {}, _Part(parent_run_id)
        self._parts[run_id] = part
        if parent_run_id and about.get("langgraph_node") != START and any(tag.startswith(STEP) for tag in tags or ()):
            graph, name = self._graph_of(parent_run_id), str(about.get("langgraph_node", ""))
            graph.visits[name] += 1
            own = {names.NODE: name, names.VISIT: graph.visits[name]}
            part.span = self.tracer.start_span(f"node {name}", trace.set_span_in_context(graph.inmost), attributes=own)
            part.before = otel.get_current()
            otel.attach(trace.set_span_in_context(part.span, part.before))

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """End it."""
        graph = self._graphs.get(run_id)
        if graph and graph.around is self._run and isinstance(outputs, Mapping):
            self._stop(outputs.get(STOP_REASON))
        self._end(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """End it with its error; a question to a person is none."""
        self._end(run_id, error)

    def _graph_of(self, run_id: UUID) -> _Graph:
        """A graph by its run; one inside of a node is first known when a node of it begins."""
        with self._lock:
            if run_id not in self._graphs:
                self._graphs[run_id] = _Graph(self._span_around(run_id))
            return self._graphs[run_id]

    def _around(self, run_id: UUID | None) -> Iterator[UUID]:
        """A run, and those that it is a part of, the inmost first."""
        while run_id is not None and run_id in self._parts:
            yield run_id
            run_id = self._parts[run_id].parent

    def _span_around(self, run_id: UUID | None) -> Span:
        spans = (self._parts[each].span for each in self._around(run_id))
        return next((span for span in spans if span), self._run)

    # Loops and budgets

    def on_run_event(self, event: Mapping[str, Any], run_id: UUID | None) -> None:
        """Note what a gate decided, or that the budget is spent."""
        if event["type"] == "loop" and run_id is not None and run_id in self._parts:
            part = self._parts[run_id]  # the graph's own, of a gate; of a middleware the node's
            with self._lock:
                of_gate = run_id in self._graphs
                graph = self._graphs[run_id] if of_gate else self._graph_of(part.parent or run_id)
                self._decided(event, None if of_gate else part.span, graph)
        elif event["type"] == "budget":
            resource = str(event["resource"])
            spent = {names.BUDGET: resource, names.BUDGET_LIMIT: event["limit"], names.BUDGET_SPENT: event["spent"]}
            self.figures.refusals.add(1, {names.GRAPH: str(self.graph.name), names.BUDGET: resource})
            self.tracer.start_span("budget spent", trace.set_span_in_context(self._run), attributes=spent).end()

    def _decided(self, event: Mapping[str, Any], span: Span | None, graph: _Graph) -> None:
        """End the pass that went on, with those inside of it, and begin the one that is granted."""
        loop, granted = str(event["loop"]), event["decision"] == "granted"
        said = {
            names.LOOP: loop,
            names.DECISION: str(event["decision"]),
            names.PASSES: int(event["spent"]),
            names.LIMIT: int(event["limit"]),
            names.REASON: str(event["reason"])[:LONGEST],
        }
        if span is None:
            began = time.time_ns() - int(float(event["waited"]) * 1e9)
            inside = trace.set_span_in_context(graph.inmost)
            self.tracer.start_span(f"gate loop.{loop}", inside, attributes=said, start_time=began).end()
        else:
            span.set_attributes(said)
        while any(each.loop == loop for each in graph.passes):
            self._end_pass(graph)
        labels = {names.GRAPH: str(self.graph.name), names.LOOP: loop}
        if not granted:
            self.figures.refusals.add(1, {**labels, names.DECISION: str(event["decision"])})
            return
        self.figures.passes.add(1, labels)
        inside = trace.set_span_in_context(graph.inmost)
        span = self.tracer.start_span(f"pass {loop} {event['spent']}", inside, attributes=said)
        graph.passes.append(_Pass(loop, span))

    def _end_pass(self, graph: _Graph) -> None:
        ended = graph.passes.pop()
        if ended.used.calls:
            tokens = {names.INPUT_TOKENS: ended.used.input_tokens, names.OUTPUT_TOKENS: ended.used.output_tokens}
            ended.span.set_attributes(names.of_agents(tokens))
        if ended.cost is not None:
            ended.span.set_attribute(names.COST, ended.cost)
        ended.span.end()

    # Models and tools

    def on_chat_model_start(
        self, serialized: Any, messages: Any, *, run_id: UUID, parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        """Note which model is asked; its span is made by who instruments models."""
        self._parts[run_id] = _Part(parent_run_id, model=(metadata or {}).get("ls_model_name"))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Add what a call used to every pass that it is a part of."""
        if (asked := self._parts.pop(run_id, None)) is None:
            return
        usage = Usage.of(reply_of(response))
        cost = self.price(asked.model, usage) if self.price and asked.model and not usage.unmetered_calls else None
        with self._lock:
            for around in self._around(asked.parent):
                for each in self._graphs[around].passes if around in self._graphs else ():
                    each.used += usage
                    if cost is not None:
                        each.cost = (each.cost or 0.0) + cost
                        self.figures.cost.add(cost, {names.GRAPH: str(self.graph.name), names.LOOP: each.loop})

    on_llm_error = on_chain_error

    def on_tool_start(
        self, serialized: Any, input_str: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """Begin the span of a tool's call."""
        name = str((serialized or {}).get("name", "tool"))
        part = self._parts[run_id] = _Part(parent_run_id)
        agents = names.of_agents({names.OPERATION: names.EXECUTE_TOOL, names.TOOL: name})
        around = trace.set_span_in_context(self._span_around(parent_run_id))
        # Not the current one: a tool that a node awaits in its own task would stay that after its end.
        part.span = self.tracer.start_span(f"{names.EXECUTE_TOOL} {name}", around, SpanKind.INTERNAL, agents)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """End it."""
        self._end(run_id)

    on_tool_error = on_chain_error

    def _end(self, run_id: UUID, error: BaseException | None = None) -> None:
        part = self._parts.pop(run_id, None)
        if run_id in self._graphs:  # a graph inside of a node has no span of its own, and passes as any
            with self._lock:
                graph = self._graphs.pop(run_id)
                while graph.passes:
                    self._end_pass(graph)
        if part is None or part.span is None:
            return
        if error is not None:
            _fail(part.span, error)
        part.span.end()
        # Not by the token: a callback may end in a copy of the context in which it began.
        if trace.get_current_span() is part.span and part.before is not None:
            otel.attach(part.before)


def _fail(span: Span, error: BaseException) -> None:
    """Note why a span ends; a question to a person is no error."""
    if isinstance(error, GraphBubbleUp | GeneratorExit):
        span.set_attribute(names.INTERRUPTED, True)
    else:
        span.set_attribute(names.ERROR_TYPE, type(error).__name__)
        span.set_status(Status(StatusCode.ERROR, str(getattr(error, "told", error))[:LONGEST]))
