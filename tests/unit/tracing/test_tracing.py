"""Runs of bounded graphs as OpenTelemetry's own exporter sends them to a receiver on loopback."""

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from installed import needs

needs("opentelemetry.sdk", "opentelemetry.exporter")

from langchain_core.messages import AIMessage  # noqa: E402
from langchain_core.runnables import RunnableLambda  # noqa: E402
from langchain_core.tools import tool  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402
from langgraph.graph import END, MessagesState  # noqa: E402
from langgraph.prebuilt import ToolNode, tools_condition  # noqa: E402
from langgraph.types import Command, Send, interrupt  # noqa: E402
from loopback import listening  # noqa: E402
from opentelemetry import trace  # noqa: E402
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: E402
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: E402
from opentelemetry.sdk.metrics import MeterProvider  # noqa: E402
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: E402
from opentelemetry.sdk.resources import Resource  # noqa: E402
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: E402
from otlp_receiver import Receiver  # noqa: E402
from served_graphs import GRAPHS  # noqa: E402
from shapes import graph, jump  # noqa: E402

from loopwright import Budget, Loop, bounded  # noqa: E402
from loopwright.errors import NodeFailed  # noqa: E402
from loopwright.fallbacks import best_effort  # noqa: E402
from loopwright.testing import ScriptedChatModel  # noqa: E402
from loopwright.tracing import exporting, instrument, uninstrument  # noqa: E402

OTHER = "somebody.elses.instrumentation"


class PricedModel(ScriptedChatModel):
    """One whose price is known."""

    def _get_ls_params(self, stop: Any = None, **kwargs: Any) -> Any:
        return {"ls_provider": "openai", "ls_model_name": "gpt-4o-mini", "ls_model_type": "chat"}


@pytest.fixture
def traced() -> Iterator[Callable[[], Receiver]]:
    """Traces this process to a receiver; called, it sends what is left and gives the receiver."""
    with listening(Receiver()) as receiver:
        resource = Resource.create({"service.name": "mine"})
        tracers = TracerProvider(resource=resource)
        tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{receiver.url}/v1/traces")))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{receiver.url}/v1/metrics"))
        meters = MeterProvider([reader], resource)
        instrument(tracers, meters)

        def sent() -> Receiver:
            tracers.force_flush()
            meters.force_flush()
            return receiver

        sent.tracer = tracers.get_tracer(OTHER)
        yield sent
        uninstrument()
        tracers.shutdown()
        meters.shutdown()


@tool
def search(query: str) -> str:
    """Search."""
    return "nothing"


def agent(tracer: Any, limit: int = 2, **options: Any) -> Any:
    """An agent that never gives up, whose model calls somebody else's instrumentation traces."""
    call = {"name": "search", "args": {"query": "x"}, "id": "1"}
    usage = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}

    def reply(messages: Any) -> AIMessage:
        with tracer.start_as_current_span("chat gpt-4o-mini"):
            return AIMessage("", tool_calls=[call], usage_metadata=usage)

    model = PricedModel(*[reply] * 20).bind_tools([search])

    def ask(state: MessagesState) -> Any:
        return {"messages": [model.invoke(state["messages"])]}

    async def aask(state: MessagesState) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    made = graph("START-agent tools-agent", MessagesState, agent=RunnableLambda(ask, aask), tools=ToolNode([search]))
    made.add_conditional_edges("agent", tools_condition)
    loop = Loop(name="again", target="agent", sources=("tools",), limit=limit, reason=lambda state: "still nothing")
    return bounded(made, [loop], name="searcher", **options)


ASKED = {"messages": [("user", "where?")]}
RUN = "invoke_agent searcher"


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_plain_graph_has_spans_of_nodes_and_passes_and_others_spans_nest_under_them(
    asynchronous, traced, monkeypatch
):
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "http,gen_ai_latest_experimental")
    app = agent(traced.tracer)
    with traced.tracer.start_as_current_span("my request"):
        before = trace.get_current_span()
        _ = await app.ainvoke(ASKED) if asynchronous else app.invoke(ASKED)
        assert trace.get_current_span() is before, "what is current must be as it was before the run"
    receiver = traced()
    assert receiver.services == {"mine"}
    assert {span.trace_id for span in receiver.spans} == {receiver.named("my request")[0].trace_id}

    (run,) = receiver.named(RUN)
    assert receiver.path_of(run) == ["my request", RUN]
    told = run.attributes
    assert (told["gen_ai.operation.name"], told["gen_ai.agent.name"]) == ("invoke_agent", "searcher")
    assert (told["loopwright.stop_reason"], told["loopwright.loop.name"]) == ("exhausted", "again")
    assert told["loopwright.certificate.max_supersteps"] == app.certificate.max_supersteps

    around = [[], ["pass again 1"], ["pass again 2"]]
    assert [receiver.path_of(span)[2:-1] for span in receiver.named("node agent")] == around
    assert [span.attributes["loopwright.node.visit"] for span in receiver.named("node agent")] == [1, 2, 3]
    chats = [span for span in receiver.spans if span.scope == OTHER and span.name.startswith("chat")]
    assert [receiver.path_of(span)[2:-1] for span in chats] == [[*path, "node agent"] for path in around]
    tools = receiver.named("execute_tool search")
    assert [receiver.path_of(span)[2:-1] for span in tools] == [[*path, "node tools"] for path in around]
    assert tools[0].attributes == {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}

    gates = [span.attributes for span in receiver.named("gate loop.again")]
    decided = [(gate["loopwright.loop.decision"], gate["loopwright.loop.passes"]) for gate in gates]
    assert decided == [("granted", 1), ("granted", 2), ("exhausted", 2)]
    first = receiver.named("pass again 1")[0].attributes
    assert (first["loopwright.loop.limit"], first["loopwright.loop.reason"]) == (2, "still nothing")
    assert (first["gen_ai.usage.input_tokens"], first["gen_ai.usage.output_tokens"]) == (1000, 100)

    of = {"loopwright.graph.name": "searcher", "loopwright.loop.name": "again"}
    assert receiver.points["loopwright.loop.passes"] == [(of, 2)]
    assert receiver.points["loopwright.loop.refusals"] == [({**of, "loopwright.loop.decision": "exhausted"}, 1)]
    ((labels, cost),) = receiver.points["loopwright.loop.cost"]
    assert labels == of and cost == pytest.approx(2 * (1000 * 0.15 + 100 * 0.6) / 1e6)


def test_without_the_opt_in_no_convention_in_development_is_used(traced):
    agent(traced.tracer).invoke(ASKED)
    assert not [key for span in traced().spans for key in span.attributes if key.startswith("gen_ai.")]


def test_errors_questions_and_spent_budgets_are_told(traced):
    app = agent(traced.tracer, limit=9, budget=Budget(model_calls=2), checkpointer=InMemorySaver())
    app.invoke(ASKED, {"configurable": {"thread_id": "1"}})
    spent = traced().named("budget spent")[0]
    assert traced().path_of(spent) == [RUN, "budget spent"]
    told = spent.attributes
    assert (told["loopwright.budget.resource"], told["loopwright.budget.limit"]) == ("model_calls", 2)

    def ask(state: dict[str, Any]) -> Any:
        if interrupt("sure?") == "no":
            raise NodeFailed("ask", "then not", snapshot="question='who?'")

    asking = bounded(graph("START-ask", dict, ask=ask), name="asker", checkpointer=InMemorySaver())
    place = {"configurable": {"thread_id": "2"}}
    asking.invoke({"a": 1}, place)
    with pytest.raises(NodeFailed, match=r"then not; its input was question='who\?'"):
        asking.invoke(Command(resume="no"), place)
    waits, failed = traced().named("node ask")
    assert waits.attributes["loopwright.interrupted"] and not waits.failed
    assert failed.failed and failed.attributes["error.type"] and failed.told.endswith("then not")
    assert [run.failed for run in traced().named("invoke_agent asker")] == [False, True]
    left = agent(traced.tracer, limit=9, budget=Budget(model_calls=3), fallback=best_effort())
    assert any(chunk["type"] == "budget" for chunk in left.stream(ASKED, stream_mode="custom"))
    assert traced().named(RUN)[-1].attributes["loopwright.interrupted"], "left before its fallback, it has a span too"


@pytest.mark.parametrize(
    ("limits", "bound"),
    [
        ({"budget": Budget(model_calls=2)}, "over_budget"),
        ({"budget": Budget(model_calls=3), "fallback": best_effort()}, "over_budget"),
        ({"recursion_limit": 5}, "exhausted"),
    ],
)
def test_a_spent_bound_is_an_outcome_of_the_runs_span_which_ends_last(limits, bound, traced):
    config = {"recursion_limit": limits.pop("recursion_limit", 100)}
    state = agent(traced.tracer, limit=9, **limits).invoke(ASKED, config)
    receiver = traced()
    (run,) = receiver.named(RUN)
    assert run.attributes["loopwright.stop_reason"] == state["stop_reason"]["outcome"] == bound
    assert receiver.spans[-1] is run and not run.failed and "loopwright.interrupted" not in run.attributes
    paths = [receiver.path_of(span) for span in receiver.named("node fallback")]
    assert paths == [[RUN, "node fallback"]] * ("fallback" in limits)


def test_parallel_visits_and_graphs_inside_nest_where_they_run(traced):
    inner = graph("START-look", MessagesState, look=lambda state: None)
    spread = {"action": jump(Send("worker", ASKED), Send("worker", ASKED)), "destinations": ("worker",)}
    outer = graph("START-spread worker-END", MessagesState, spread=spread, worker=inner.compile())
    bounded(outer, name="outer").invoke(ASKED)
    receiver = traced()
    paths = [receiver.path_of(span) for span in receiver.named("node look")]
    assert paths == [["invoke_agent outer", "node worker", "node look"]] * 2
    assert len({span.parent_id for span in receiver.named("node look")}) == 2


@pytest.mark.parametrize("handed_on", [False, True])
def test_a_graph_that_a_node_calls_is_traced_once_and_its_passes_end(handed_on, traced):
    once = {"look": lambda state: "look" if len(state["log"]) < 2 else END}
    more = Loop(name="more", target="look", sources=("look",), limit=5)
    inner = bounded(graph("START-look look?look look?END", routes=once), [more])

    def call(state, config):
        inner.invoke(state, config if handed_on else None)
        traced.tracer.start_span("look").end()  # of the node's own, behind it

    bounded(graph("START-call", call=call), name="outer").invoke({"log": []})
    receiver = traced()
    paths = [receiver.path_of(span)[:-1] for span in receiver.spans if span.name.endswith("look")]
    around = ["invoke_agent outer", "node call"]
    assert sorted(paths, key=len) == [around, around, [*around, "pass more 1"]]
    of = {"loopwright.graph.name": "outer", "loopwright.loop.name": "more"}
    assert receiver.points["loopwright.loop.passes"] == [(of, 1)]


def test_only_what_has_a_place_to_go_is_sent(monkeypatch):
    made: list[Any] = []
    monkeypatch.setattr("opentelemetry.trace.set_tracer_provider", made.append)
    monkeypatch.setattr("opentelemetry.metrics.set_meter_provider", made.append)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:9/v1")
    with exporting():
        assert [type(each) for each in made] == [TracerProvider]


@pytest.mark.slow
def test_a_server_sends_its_runs_where_the_environment_says(tmp_path, monkeypatch):
    needs("fastapi")
    from serving_program import PROGRAM, serving

    (tmp_path / "tiny.py").write_text(GRAPHS)
    with listening(Receiver()) as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
        with serving(PROGRAM, tmp_path, "tiny.py:drafts") as (process, client):
            client.post("/workflows/tiny-drafts/run", json={"topic": "go"}).raise_for_status()
            process.send_signal(signal.SIGINT)
            process.wait(60)
        first, *_more = receiver.named("node write")
        assert receiver.path_of(first)[-2:] == ["invoke_agent LangGraph", "node write"]
        assert receiver.services == {"loopwright"}
