"""The graph "AgenticIQA-Pipeline": wiring only."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from itertools import pairwise
from typing import Any

from langchain_core.runnables.config import merge_configs
from langgraph.graph import END, StateGraph

from loopwright.engine import BoundedGraph, GiveUp, Loop, LoopMessages, NodePolicy, Retry, Stall, StateLimit
from loopwright.engine.nodes.policy import is_transient
from loopwright.engine.nodes.runner import add_node
from loopwright.errors import ModelError, NodeFailed, unknown_name_message
from loopwright.models import ModelRegistry
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.nodes import executor_node, planner_node, summarizer_node
from loopwright.workflows.iqa.routes import EXHAUSTED, plan_content, replan_reason, wants_replan
from loopwright.workflows.iqa.schemas import ExecutorOutput
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.state import AgenticIQAInput, AgenticIQAState
from loopwright.workflows.runtime import compiled

NAME = "AgenticIQA-Pipeline"
STAGES = ("planner", "executor", "summarizer")
NODES: dict[str, Callable[..., Any]] = dict(zip(STAGES, (planner_node, executor_node, summarizer_node), strict=True))

PLAN_STALL = Stall(key=plan_content)
"""A plan that is equal in every parameter ends the loop: the same work gives the same evidence."""


def replan_loop(config: IQAConfig, stall: Stall | None = PLAN_STALL) -> Loop:
    """The loop from the summarizer back to the planner."""
    return Loop(
        name="replan",
        target="planner",
        sources=("summarizer",),
        limit=StateLimit(
            key="max_replan_iterations",
            default=config.iqa.max_replan_iterations,
            ceiling=config.langgraph.max_iterations,
        ),
        exhausted=END,
        counter="iteration_count",
        history="replan_history",
        reason=replan_reason,
        stall=stall,
        messages=LoopMessages(
            granted=(
                "Replanning triggered: {reason}",
                "Iteration {spent}/{limit}: need_replan=True, max_replan_iterations={limit}, decision: {target}",
            ),
            exhausted=f"{EXHAUSTED} need_replan=True, iteration_count={{spent}}, max_replan_iterations={{limit}}, "
            "decision: __end__",
            stalled="Replanning stopped after {spent}/{limit}: the new plan asks for the same work. Reason: {reason}",
            evicted="replan_history is full: its oldest entry was dropped. This much replanning is excessive.",
        ),
    )


def build_graph(
    config: IQAConfig | None = None,
    *,
    stages: Sequence[str] = STAGES,
    services: Services | None = None,
    nodes: Mapping[str, Callable[..., Any]] | None = None,
    stall: Stall | None = PLAN_STALL,
    **compile_options: Any,
) -> BoundedGraph:
    """Build and compile the pipeline, proven bounded.

    Args:
        config: The configuration; by default the embedded one.
        stages: The stages to include, from the first: with fewer, the graph ends earlier.
        services: The models; by default those of the configuration.
        nodes: Other functions for some of the stages.
        stall: How the replan loop notices that it gets nowhere; None never looks.
        **compile_options: As for LangGraph's ``compile``, for example ``checkpointer``.

    Raises:
        ValueError: If `stages` is no beginning of planner, executor, summarizer, or `nodes` names another stage.
    """
    services = services or Services.of(config or IQAConfig())
    config = config or services.config
    if not stages or tuple(stages) != STAGES[: len(stages)]:
        raise ValueError(f"stages must be a beginning of {STAGES}, not {tuple(stages)}")
    for name in nodes or {}:
        if name not in stages:
            raise ValueError(unknown_name_message("stage", name, stages))
    builder = StateGraph(AgenticIQAState, input_schema=AgenticIQAInput)
    policies = node_policies(config, stages, services.models)
    for stage in stages:
        function = (nodes or {}).get(stage) or partial(NODES[stage], services=services)
        add_node(builder, stage, function, policies[stage])
    builder.set_entry_point("planner")
    for source, target in pairwise(stages):
        builder.add_edge(source, target)
    if stages[-1] == "summarizer":
        builder.add_conditional_edges("summarizer", wants_replan, {"planner": "planner", "__end__": END})
        loops = [replan_loop(config, stall)]
    else:
        builder.add_edge(stages[-1], END)
        loops = []
    compile_options.setdefault("name", NAME)
    graph = compiled(builder, loops, config, **compile_options)
    # It goes into the metadata of every run and checkpoint of the graph.
    made = {"graph": NAME, "version": version("loopwright"), "created": datetime.now(UTC).isoformat(timespec="seconds")}
    graph.config = merge_configs(graph.config, {"metadata": made})
    return graph


def node_policies(
    config: IQAConfig, stages: Sequence[str] = STAGES, models: ModelRegistry | None = None
) -> dict[str, NodePolicy]:
    """How each stage is run, and how the run goes on when a stage failed for good.

    A first plan that fails is an error. A replan that fails ends the run with what it has, and an executor that fails
    on a replan leaves the word to the summarizer, whether or not errors are graceful.
    """
    graceful = config.langgraph.graceful_errors

    def calls(stage: str) -> int:
        """Every model of a chain is asked, and each has its own repairs."""
        asked = len(models.models_of(stage)) if models else 0
        # The executor asks where things are, and only if it has a model.
        return (config.iqa.repairs + 1) * (asked if stage == "executor" else max(1, asked))

    def graceful_or_replanning(state: Mapping[str, Any]) -> bool:
        return graceful or state.get("iteration_count", 0) > 0

    def no_evidence(_state: Mapping[str, Any], message: str) -> dict[str, Any]:
        return {"error": message, "executor_evidence": ExecutorOutput(error=message)}

    goes_on = "summarizer" in stages and config.langgraph.continue_after_error
    give_up = {
        "planner": GiveUp(goto=END, when=graceful_or_replanning),
        "executor": GiveUp(goto="summarizer" if goes_on else END, when=graceful_or_replanning, update=no_evidence),
        "summarizer": GiveUp(goto=END, when=lambda _state: graceful),
    }
    pipeline = config.pipeline
    retries: tuple[Retry, ...] = ()
    if most := pipeline.max_retry_attempts:
        retries = (Retry(on=could_pass, retries=most, **dict(pipeline.retry), jitter="added", name="transient"),)
    return {
        stage: NodePolicy(
            timeout=getattr(pipeline.timeout, stage),
            retries=retries,
            give_up=give_up[stage],
            max_model_calls=calls(stage),
            debug=config.langgraph.debug_mode,
        )
        for stage in stages
    }


def could_pass(error: BaseException) -> bool:
    """Whether another attempt at a stage could succeed.

    No `ModelError` can: what a chat model gets wrong is repaired within the attempt, as often as ``iqa.repairs`` says,
    and a missing key or package stays missing. Connections that break raise the provider's own errors.

    Args:
        error: What the stage raised, or the `NodeFailed` around it.
    """
    cause = error.__cause__ if isinstance(error, NodeFailed) else error
    return is_transient(error) and not isinstance(cause, ModelError)
