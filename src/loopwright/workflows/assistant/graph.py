"""The graph "ConferenceAssistant": wiring only."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, cast

from langgraph.graph import END, START, StateGraph

from loopwright.engine import BoundedGraph, GiveUp, Loop, NodePolicy, Retry, usual_retries
from loopwright.engine.nodes.runner import add_node
from loopwright.errors import unknown_name_message
from loopwright.workflows.assistant import constants as names
from loopwright.workflows.assistant.config import AssistantConfig, AssistantSection, AssistantTimeouts
from loopwright.workflows.assistant.nodes import NODES, NodeDeclaration
from loopwright.workflows.assistant.routes import after_fetching, wish_after_check
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.state import AssistantState, ChatInput
from loopwright.workflows.runtime import compiled

_RETRIES = {
    "reflection": ("reflect", names.REFLECT_AND_REPLAN, names.EXECUTE_QUERIES),
    "mechanical": ("relax", names.RELAX_AND_RETRY, names.CHECK_RESULTS),
}
"""What follows a poor search -> its loop, its node, and where that leads."""
_ALWAYS_DEGRADE = (names.FETCH_DATA, names.UPDATE_PROFILE, names.GENERATE_ACKNOWLEDGMENT)
"""What an answer can do without, model or not."""

settings = AssistantSection()
"""What `should_retry` goes by; a run goes by its own configuration."""


def should_retry(state: AssistantState) -> Literal["reflect_and_replan", "relax_and_retry", "generate_response"]:
    """Wish and bound in one, as the requirement names it: which retry follows, if any.

    The wired graph has one of the two variants only, and its gate bounds the wish; with the default settings both agree
    on every state: ``needs_retry``, which `check_results` writes, has the bound in it.
    """
    if not state.get("needs_retry", False):
        return names.GENERATE_RESPONSE
    return names.REFLECT_AND_REPLAN if settings.reflection_enabled else names.RELAX_AND_RETRY


def loops_of(config: AssistantConfig) -> list[Loop]:
    """The loop ``reflect`` or ``relax``, by configuration; none where no retry is allowed."""
    section = config.assistant
    if section.retry_mode == "none":
        return []
    name, target, _behind = _RETRIES[section.retry_mode]
    return [
        Loop(
            name=name,
            target=target,
            sources=(names.CHECK_RESULTS,),
            limit=section.max_retry_count,
            exhausted=names.GENERATE_RESPONSE,
            counter="retry_count",
            counter_by="node",
            reason=lambda state: state.get("retry_wanted"),
        )
    ]


def build_graph(
    config: AssistantConfig | None = None,
    *,
    services: Services | None = None,
    nodes: Mapping[str, Callable[..., Any]] | None = None,
    **compile_options: Any,
) -> BoundedGraph:
    """Build and compile the workflow.

    Args:
        config: The configuration; by default the embedded one.
        services: The models, the conference and the memory; by default those of the configuration.
        nodes: Other functions of the state for some of the nodes.
        **compile_options: As for LangGraph's ``compile``, for example ``checkpointer``.

    Returns:
        The compiled graph, proven bounded. Its nodes are async: run it with `loopwright.arun` or ``ainvoke``.

    Raises:
        ValueError: If `nodes` names a node that the graph does not have.
    """
    services = services or Services.of(config or AssistantConfig())
    config = config or services.config
    section = config.assistant
    wired = {*NODES} - {each for mode, (_, each, _) in _RETRIES.items() if mode != section.retry_mode}
    for name in nodes or {}:
        if name not in wired:
            raise ValueError(unknown_name_message("node", name, wired))
    builder = StateGraph(AssistantState, input_schema=ChatInput)
    for name, node in NODES.items():
        if name in wired:
            own = (nodes or {}).get(name)
            add_node(builder, name, own or partial(node.work, services=services), _node_policy(node, services))
    builder.add_edge(START, names.FETCH_DATA)
    builder.add_conditional_edges(names.FETCH_DATA, after_fetching)
    builder.add_edge(names.UPDATE_PROFILE, names.GENERATE_ACKNOWLEDGMENT)
    builder.add_edge(names.GENERATE_ACKNOWLEDGMENT, names.PLAN_QUERIES)
    builder.add_edge(names.PLAN_QUERIES, names.EXECUTE_QUERIES)
    builder.add_edge(names.EXECUTE_QUERIES, names.CHECK_RESULTS)
    if section.retry_mode == "none":
        builder.add_edge(names.CHECK_RESULTS, names.GENERATE_RESPONSE)
    else:
        _loop, retry, behind = _RETRIES[section.retry_mode]
        wish: dict[Any, str] = {"retry": retry, "generate_response": names.GENERATE_RESPONSE}
        builder.add_conditional_edges(names.CHECK_RESULTS, wish_after_check, wish)
        builder.add_edge(retry, behind)
    builder.add_edge(names.GENERATE_RESPONSE, names.EVALUATE)
    builder.add_edge(names.EVALUATE, END)
    compile_options.setdefault("name", "ConferenceAssistant")
    return compiled(builder, loops_of(config), config, **compile_options)


def _node_policy(node: NodeDeclaration, services: Services) -> NodePolicy:
    """A node's policy.

    A node that asks a chat model gives way to its rules when that failed for good; who asks and what was said before
    are done without. A store that is down fails the run: it is never "nothing found".
    """
    config = services.config
    pipeline, section = config.pipeline, config.assistant
    asks = node.info.has_llm and services.chat(node.name) is not None
    rules: tuple[Retry, ...] = usual_retries(pipeline.max_retry_attempts, **dict(pipeline.retry)) if asks else ()
    repairs = 0 if node.name == names.GENERATE_RESPONSE else section.repairs
    calls = len(services.models.models_of(node.name)) * (repairs + 1) if asks else 0
    return NodePolicy(
        timeout=_timeout(node.name, section.timeout, asks=asks),
        retries=rules,
        give_up=_give_up(node, services) if asks or node.name in _ALWAYS_DEGRADE else None,
        max_model_calls=calls,
        debug=config.langgraph.debug_mode,
    )


def _timeout(node: str, seconds: AssistantTimeouts, *, asks: bool) -> float | None:
    if asks:
        return seconds.model
    if node in (names.FETCH_DATA, names.UPDATE_PROFILE):
        return seconds.memory
    return seconds.search if node in (names.EXECUTE_QUERIES, names.RELAX_AND_RETRY) else None


def _give_up(node: NodeDeclaration, services: Services) -> GiveUp | None:
    if node.without is None:
        return None
    goto, instead = node.without

    def update(state: Mapping[str, Any], message: str) -> dict[str, Any]:
        return {**instead(cast("AssistantState", state), services), "error": message, "error_node": node.name}

    return GiveUp(goto=goto, update=update)
