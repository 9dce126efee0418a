"""The workflows that are served."""

import asyncio
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.datastructures import UploadFile

from loopwright.diagram.shown import ShownGraph
from loopwright.errors import InputError
from loopwright.models.validation import problem_lines
from loopwright.runs.report import LoopReport, workflow_report
from loopwright.runs.schemas import KeptEvaluation, RunFilter, RunRecord
from loopwright.server.answering import begin_once, failure_of
from loopwright.server.context import Context, Here
from loopwright.server.given import Given
from loopwright.server.problems import MISSING, PROBLEM, Problem
from loopwright.server.routes.runs import IdempotencyKey
from loopwright.workflows import api
from loopwright.workflows.api import Example
from loopwright.workflows.texts import read_texts

router = APIRouter(prefix="/workflows", tags=["workflows"])

ANSWERED: dict[int | str, dict[str, Any]] = {status: PROBLEM for status in (404, 409, 500, 503, 507)}
TAKEN: dict[str, Any] = {"schema": {"type": "object", "additionalProperties": True}}
INPUT = {"required": True, "content": {"application/json": TAKEN, "multipart/form-data": TAKEN}}
"""The body of a run, as the description of the API has it: what it holds is its workflow's."""
_body = TypeAdapter[dict[str, Any]](Given)


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
    """Its bounded loops; those of a graph that is a node as ``NODE/LOOP``."""


@router.get("", operation_id="list_workflows")
async def list_workflows(context: Here) -> list[Workflow]:
    """The workflows that are served."""
    return [await _described(context, hosted) for hosted in context.hub.workflows.values()]


@router.get("/{workflow}", operation_id="get_workflow", responses=MISSING)
async def get_workflow(workflow: str, context: Here) -> Workflow:
    """A workflow."""
    return await _described(context, context.hub.hosted(workflow))


@router.get("/{workflow}/topology", operation_id="get_topology", responses=MISSING)
async def get_topology(workflow: str, context: Here) -> ShownGraph:
    """The graph of a workflow, with its loops and the proof that it stops."""
    return await asyncio.to_thread(context.hub.shown, context.hub.hosted(workflow).name)


@router.get("/{workflow}/report", operation_id="get_loop_report", responses=MISSING)
async def get_loop_report(workflow: str, context: Here) -> LoopReport:
    """What each loop of a workflow did, cost and gained, by the runs that are kept."""
    return await context.hub.store.aside(workflow_report, context.hub.store, context.hub.hosted(workflow).name)


@router.get("/{workflow}/evaluations", operation_id="list_evaluations", responses=MISSING)
async def list_evaluations(workflow: str, context: Here) -> list[KeptEvaluation]:
    """What versions of a workflow made of labelled questions, the newest first: what ``evaluate --keep`` kept."""
    return [*await context.hub.store.aside(context.hub.store.evaluations, context.hub.hosted(workflow).name)]


@router.delete("/{workflow}/evaluations", status_code=204, operation_id="delete_evaluation", responses=MISSING)
async def delete_evaluation(workflow: str, questions: str, version: str, context: Here) -> Response:
    """Forget what a version made of a set of questions."""
    hosted = context.hub.hosted(workflow)
    if not await context.hub.store.aside(context.hub.store.delete_evaluation, hosted.name, questions, version):
        told = f"nothing is kept of {questions[:80]!r} with the version {version[:80]!r}"
        raise Problem(told, "UnknownEvaluation", status=404)
    return Response(status_code=204)


@router.post("/{workflow}/run", operation_id="run_workflow", responses=ANSWERED, openapi_extra={"requestBody": INPUT})
async def run_workflow(
    workflow: str, context: Here, http: Request, idempotency_key: IdempotencyKey = None
) -> RunRecord:
    """Run a workflow and answer in one reply; the body is its input, as JSON or as a form, files in it as such."""
    hosted = context.hub.hosted(workflow)
    try:
        if http.headers.get("content-type", "").lower().startswith("multipart/form-data"):
            if idempotency_key is not None:  # its files have new names each time
                raise InputError("a form takes no Idempotency-Key: upload its files first, and send JSON")
            given = _body.validate_python(await _form(context, hosted, http))
        else:
            given = _body.validate_json(await http.body())
    except ValidationError as error:
        raise InputError(f"the body is no input: {problem_lines(error)[0]}") from None
    begin = partial(context.hub.start, hosted.name, given)
    run = await begin_once(context, idempotency_key, [hosted.name, given], begin)
    record = await context.hub.until_ended(run.id)
    if record.status != "finished" or record.outcome is None:
        raise failure_of(record)
    return record


async def _form(context: Context, hosted: api.Workflow[Any], request: Request) -> dict[str, Any]:
    fields = hosted.input_schema["properties"].items()
    lists = [key for key, of in fields if any(kind.get("type") == "array" for kind in (of, *of.get("anyOf", ())))]
    given: dict[str, Any] = {}
    async with request.form() as form:
        for key, value in form.multi_items():
            if isinstance(value, UploadFile) and not (value.filename or value.size):
                continue  # what a browser sends for a file that nobody chose
            told = (await context.uploads.keep(value)).id if isinstance(value, UploadFile) else value
            given[key] = [*given.get(key, ()), told] if key in lists else told
    return read_texts(hosted.Input, given)


async def _described(context: Context, hosted: api.Workflow[Any]) -> Workflow:
    graph = await asyncio.to_thread(context.hub.shown, hosted.name)
    page = await context.hub.store.aside(context.hub.store.list, RunFilter(workflow=hosted.name), 1)
    return Workflow(
        name=hosted.name, title=hosted.title, description=hosted.description, input_schema=hosted.input_schema,
        examples=[*hosted.examples], streams_answer=hosted.streams_answer, has_prompts=hosted.prompts is not None,
        model_nodes=[*hosted.model_nodes] if hosted.models else [], runs=page.total, loops=_loops(graph),
    )  # fmt: skip


def _loops(graph: ShownGraph, place: str = "") -> list[str]:
    inside = [name for node, inner in graph.inside.items() for name in _loops(inner, f"{place}{node}/")]
    return [*(place + loop.name for loop in graph.loops), *inside]
