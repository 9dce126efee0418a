"""The workflows that are served."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from loopwright.engine.diagram.shown import ShownGraph
from loopwright.runs.report import workflow_report
from loopwright.runs.reporting.schemas import LoopReport
from loopwright.runs.schemas import RunFilter
from loopwright.server.context import Context, Here
from loopwright.server.problems import PROBLEM
from loopwright.workflows.hosting import Example, Hosted

router = APIRouter(prefix="/workflows", tags=["workflows"])

MISSING: dict[int | str, dict[str, Any]] = {404: PROBLEM}


class Workflow(BaseModel):
    """A workflow that is served."""

    name: str
    """Names it, in addresses too."""
    title: str
    """What people call it."""
    description: str
    """What it does."""
    input_schema: dict[str, Any]
    """JSON schema of what a run takes."""
    examples: list[Example]
    """Inputs to try."""
    streams_answer: bool
    """Whether its answer comes in pieces, as ``text`` events."""
    model_nodes: list[str]
    """The nodes that can have a chat model; none if that cannot be changed."""
    has_prompts: bool
    """Whether it has prompts that can be edited."""
    runs: int
    """How many runs of it are kept."""
    loops: list[str]
    """Its bounded loops."""


@router.get("", operation_id="list_workflows")
async def list_workflows(context: Here) -> list[Workflow]:
    """The workflows that are served."""
    return [await _described(context, hosted) for hosted in context.hub.workflows.values()]


@router.get("/{workflow}", operation_id="get_workflow", responses=MISSING)
async def get_workflow(workflow: str, context: Here) -> Workflow:
    """A workflow."""
    return await _described(context, context.workflow(workflow))


@router.get("/{workflow}/topology", operation_id="get_topology", responses=MISSING)
async def get_topology(workflow: str, context: Here) -> ShownGraph:
    """The graph of a workflow, with its loops and the proof that it stops."""
    return await asyncio.to_thread(context.topology, context.workflow(workflow))


@router.get("/{workflow}/report", operation_id="get_loop_report", responses=MISSING)
async def get_loop_report(workflow: str, context: Here) -> LoopReport:
    """What each loop of a workflow did, cost and gained, by the runs that are kept."""
    hosted = context.workflow(workflow)
    return await asyncio.to_thread(workflow_report, context.hub.store, hosted.name)


async def _described(context: Context, hosted: Hosted) -> Workflow:
    graph = await asyncio.to_thread(context.topology, hosted)
    page = await asyncio.to_thread(context.hub.store.list, RunFilter(workflow=hosted.name), 1)
    return Workflow(
        name=hosted.name,
        title=hosted.title,
        description=hosted.description,
        input_schema=hosted.input_schema,
        examples=list(hosted.examples),
        streams_answer=hosted.streams_answer,
        model_nodes=list(hosted.model_nodes) if hosted.models else [],
        has_prompts=hosted.prompts is not None,
        runs=page.total,
        loops=[loop.name for loop in graph.loops],
    )
