"""Which chat model serves which node."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from loopwright.models.registry import DEFAULT
from loopwright.runs.preparing import chosen_models
from loopwright.server.context import Context, Here
from loopwright.server.given import check_model, check_node, offered
from loopwright.server.problems import MISSING
from loopwright.workflows.api import Workflow

router = APIRouter(prefix="/workflows/{workflow}/models", tags=["models"])


class NodeModel(BaseModel):
    """The chat model of a node."""

    node: str
    """The node, or ``default``, which serves the nodes without an entry of their own."""
    model: str | None
    """The chat model that serves it, fallbacks after ``then``; null for none."""
    configured: str | None
    """The one of the configuration; null for none."""
    chosen: bool
    """Whether a person chose otherwise than the configuration."""
    used_by_default: bool
    """Whether it has no entry of its own, so that ``default`` counts."""


class NodeModels(BaseModel):
    """The chat models of a workflow's nodes."""

    nodes: list[NodeModel]
    """The nodes that can have one, and ``default``."""
    offered: list[str]
    """The names that the configuration uses; ``provider:name`` of a known provider is taken too."""


class ChooseModel(BaseModel):
    """A chat model for a node."""

    model_config = ConfigDict(extra="forbid")

    model: str | None
    """Its name, ``provider:name``; null for no model."""


@router.get("", operation_id="list_models", responses=MISSING)
async def list_models(workflow: str, context: Here) -> NodeModels:
    """The chat models of a workflow's nodes."""
    return await _models(context, context.hub.hosted(workflow))


@router.put("/{node}", operation_id="choose_model", responses=MISSING)
async def choose_model(workflow: str, node: str, asked: ChooseModel, context: Here) -> NodeModels:
    """Choose the chat model of a node; runs that begin from now on use it."""
    hosted = context.hub.hosted(workflow)
    check_node(hosted, node)
    check_model(hosted, asked.model)
    await context.hub.store.aside(context.hub.store.assign, hosted.name, node, asked.model)
    return await _models(context, hosted)


@router.delete("/{node}", operation_id="unchoose_model", responses=MISSING)
async def unchoose_model(workflow: str, node: str, context: Here) -> NodeModels:
    """Let the configuration decide again on the chat model of a node."""
    hosted = context.hub.hosted(workflow)
    check_node(hosted, node)
    await context.hub.store.aside(context.hub.store.assign, hosted.name, node, None, clear=True)
    return await _models(context, hosted)


async def _models(context: Context, hosted: Workflow) -> NodeModels:
    registry = hosted.models
    if registry is None:
        return NodeModels(nodes=[], offered=[])
    entries = registry.describe()
    chosen = await context.hub.store.aside(chosen_models, context.hub.store, hosted)
    found: list[NodeModel] = []
    for node in (*hosted.model_nodes, DEFAULT):
        configured = ", then ".join(registry.models_of(node)) or None
        own = node in chosen or node in entries or node == DEFAULT
        model = chosen[node] if node in chosen else configured if own else chosen.get(DEFAULT, configured)
        found.append(
            NodeModel(node=node, model=model, configured=configured, chosen=node in chosen, used_by_default=not own)
        )
    return NodeModels(nodes=found, offered=offered(hosted))
