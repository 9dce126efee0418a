"""Runs of all workflows: begun, followed, looked at, cancelled, resumed and forked."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from loopwright.diagram.shown import ShownGraph
from loopwright.errors import UnknownRun
from loopwright.runs.checkpoints import CheckpointView, checkpoints, logged, state_at
from loopwright.runs.compare import Comparison, compare
from loopwright.runs.reproducing import test_of
from loopwright.runs.schemas import MOST_TAGS, LoggedEvent, Order, RunFilter, RunPage, RunRecord, Tag
from loopwright.server.answering import begin_once
from loopwright.server.context import RUN_ID, Context, Here
from loopwright.server.described import streamed
from loopwright.server.given import AnyGiven, Given, check_state, require_harmless
from loopwright.server.problems import MISSING, PROBLEM
from loopwright.server.sse import LastEventId, event_stream
from loopwright.workflows.api import RunChanges

router = APIRouter(prefix="/runs", tags=["runs"])
comparison = APIRouter(prefix="/compare", tags=["runs"])

RunId = Annotated[str, Path(pattern=RUN_ID)]
ComparedId = Annotated[str, Query(pattern=RUN_ID)]
IdempotencyKey = Annotated[
    str | None, Header(description="Names the request: sent again with the same key, it gives the same run.")
]
STARTS: dict[int | str, dict[str, Any]] = {404: PROBLEM, 503: PROBLEM}
STREAM: dict[int | str, dict[str, Any]] = {
    200: streamed("RunEvent", "The events of the run, each with the id RUN_ID:N."),
    204: {"description": "The client has every event, and no more will come."},
    404: PROBLEM,
}
TEST: dict[int | str, dict[str, Any]] = {
    200: {"description": "A file for pytest.", "content": {"text/x-python": {"schema": {"type": "string"}}}},
    404: PROBLEM,
}
MOST_EVENTS = 5000


class StartRun(RunChanges):
    """What shall run."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"workflow": "headline", "input": {"text": "The harbour of Brindlemere was rebuilt in 1912."}}]
        }
    )

    workflow: str
    """The workflow."""
    input: Given
    """Its input, as the workflow's input schema has it."""
    priority: Annotated[int, Field(ge=-100, le=100)] = 0
    """Of the runs that wait, those with the highest have their turn first."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_assistants(cls, given: Any) -> Any:
        if isinstance(given, dict) and "assistant_id" in given:
            raise ValueError("a background run of LangGraph's clients needs a thread here: create one, and give its id")
        return given  # pyright: ignore[reportUnknownVariableType]


class ResumeRun(BaseModel):
    """How a run shall go on."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{}, {"answer": "yes"}]})

    answer: AnyGiven = None
    """What a person answers, of a run that waits for that."""


class ForkRun(RunChanges):
    """What shall be otherwise from a checkpoint on."""

    checkpoint_id: str
    """The checkpoint."""
    state: Given | None = None
    """Key of the state -> its value; what is not named stays."""


class LeaveOut(BaseModel):
    """What shall be left out."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"loop": "reflect"}]})

    loop: str
    """The loop whose passes are left out."""
    kept: Annotated[int, Field(ge=0)] = 0
    """So many of its passes stay: those behind them are left out."""


class TagRun(BaseModel):
    """What a run shall be called."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"tags": ["baseline"]}]})

    tags: Annotated[tuple[Tag, ...], Field(max_length=MOST_TAGS)]
    """Its tags, all of them."""


class ListRuns(RunFilter):
    """Which runs are wanted, in which order, and how many of them."""

    model_config = ConfigDict(extra="ignore")

    text: Annotated[str | None, Field(max_length=1000)] = None
    """Words that stand in the title, the input or the answer; SQLite takes at most 1,000 conditions at once."""
    limit: Annotated[int, Field(ge=1, le=500)] = 50
    """How many at most."""
    before: str | None = None
    """What the page before gave as ``next``."""
    order: Order = "started_at"
    """What comes first."""


class Log(BaseModel):
    """A part of a run's events."""

    events: list[LoggedEvent]
    """The events in order."""
    next: int | None
    """Give it as ``after`` to get what follows; None if there is no more so far."""
    total: int
    """How many events the run has so far."""


class CheckpointState(BaseModel):
    """The state at a checkpoint."""

    values: dict[str, Any]
    """Key -> value, in plain JSON, without secrets, long values shortened."""


@router.post("", status_code=201, operation_id="start_run", responses=STARTS | {409: PROBLEM, 422: PROBLEM})
async def start_run(asked: StartRun, context: Here, idempotency_key: IdempotencyKey = None) -> RunRecord:
    """Begin a run, or let it wait its turn; it goes on whether or not anybody follows it."""
    hosted = context.hub.hosted(asked.workflow)
    changes = require_harmless(asked, hosted)
    begin = partial(context.hub.start, hosted.name, asked.input, changes=changes, priority=asked.priority)
    return await begin_once(context, idempotency_key, asked.model_dump(mode="json"), begin)


@router.get("", operation_id="list_runs")
async def list_runs(context: Here, asked: Annotated[ListRuns, Query()]) -> RunPage:
    """Runs, newest or highest first."""
    return await context.hub.store.aside(context.hub.store.list, asked, asked.limit, asked.before, asked.order)


@router.get("/tags", operation_id="list_tags")
async def list_tags(context: Here) -> list[str]:
    """The tags that any run has."""
    return [*await context.hub.store.aside(context.hub.store.tags)]


@router.get("/{run_id}", operation_id="get_run", responses=MISSING)
async def get_run(run_id: RunId, context: Here) -> RunRecord:
    """A run, as it is now."""
    return await context.hub.known(run_id)


@router.delete("/{run_id}", status_code=204, operation_id="delete_run", responses=MISSING)
async def delete_run(run_id: RunId, context: Here) -> Response:
    """Forget a run, with its events and checkpoints; one that goes on must be cancelled first."""
    await context.hub.delete(run_id)
    return Response(status_code=204)


@router.put("/{run_id}/tags", operation_id="tag_run", responses=MISSING)
async def tag_run(run_id: RunId, asked: TagRun, context: Here) -> RunRecord:
    """Call a run by other tags than before; each says what belongs together, for example ``baseline``."""
    await context.hub.store.aside(context.hub.store.set_tags, run_id, asked.tags)
    return await context.hub.known(run_id)


@router.get("/{run_id}/graph", operation_id="get_run_graph", responses=MISSING)
async def get_run_graph(run_id: RunId, context: Here) -> ShownGraph:
    """The graph that a run ran on, as it was then."""
    graph = await context.hub.store.aside(context.hub.store.graph, run_id)
    if graph is None:
        raise UnknownRun(run_id)
    return graph


@router.get("/{run_id}/events", operation_id="follow_run", response_class=Response, responses=STREAM)
async def follow_run(run_id: RunId, context: Here, last_event_id: LastEventId = None) -> Response:
    """Send the events of a run as they happen, from the first or behind ``Last-Event-ID``; also after its end."""
    return await event_stream(context, run_id, "run", last_event_id)


@router.get("/{run_id}/log", operation_id="get_run_log", response_model=Log, responses=MISSING)
async def get_run_log(
    run_id: RunId,
    context: Here,
    after: Annotated[int, Query(ge=0, lt=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_EVENTS)] = 1000,
) -> Response:
    """A part of the events of a run that have happened so far."""
    await context.hub.known(run_id)
    return Response(await context.hub.store.aside(_log, context, run_id, after, limit), media_type="application/json")


@router.post("/{run_id}/cancel", operation_id="cancel_run", responses=MISSING)
async def cancel_run(run_id: RunId, context: Here) -> RunRecord:
    """End a run; one that has ended stays as it is."""
    return await context.hub.cancel(run_id)


@router.post("/{run_id}/resume", operation_id="resume_run", responses=STARTS)
async def resume_run(run_id: RunId, context: Here, asked: ResumeRun | None = None) -> RunRecord:
    """Go on with a run from its last checkpoint."""
    return await context.hub.resume(run_id, answer=asked.answer if asked else None)


@router.post("/{run_id}/fork", status_code=201, operation_id="fork_run", responses=STARTS)
async def fork_run(run_id: RunId, asked: ForkRun, context: Here) -> RunRecord:
    """Begin a run at a checkpoint of another one, with something changed."""
    record = await context.hub.known(run_id)
    hosted = context.hub.hosted(record.workflow)
    check_state(hosted, asked.state or {})
    changes = require_harmless(asked, hosted)
    return await context.hub.fork(run_id, asked.checkpoint_id, state=asked.state, changes=changes)


@router.post("/{run_id}/counterfactual", status_code=201, operation_id="leave_loop_out", responses=STARTS)
async def leave_loop_out(run_id: RunId, asked: LeaveOut, context: Here) -> RunRecord:
    """Run again what followed a loop's first pass, or a later one, without that pass and those behind it."""
    return await context.hub.counterfactual(run_id, asked.loop, asked.kept)


@router.get("/{run_id}/checkpoints", operation_id="list_checkpoints", responses=MISSING)
async def list_checkpoints(run_id: RunId, context: Here) -> list[CheckpointView]:
    """The checkpoints of a run, from the first."""
    await context.hub.known(run_id)
    return await context.hub.store.aside(checkpoints, context.hub.store, run_id)


@router.get("/{run_id}/checkpoints/{checkpoint_id}", operation_id="get_checkpoint", responses=MISSING)
async def get_checkpoint(run_id: RunId, checkpoint_id: str, context: Here) -> CheckpointState:
    """The whole state at a checkpoint."""
    await context.hub.known(run_id)
    return CheckpointState(values=await context.hub.store.aside(state_at, context.hub.store, run_id, checkpoint_id))


@router.get("/{run_id}/test", operation_id="get_run_test", response_class=Response, responses=TEST)
async def get_run_test(run_id: RunId, context: Here) -> Response:
    """The run as a test for pytest: its input, the way that it took, and how it ended."""
    record = await context.hub.known(run_id)
    events = await context.hub.store.aside(lambda: [*logged(context.hub.store, run_id, "model_called", "told")])
    return Response(test_of(record, context.hub.hosted(record.workflow), events), media_type="text/x-python")


def _log(context: Context, run_id: str, after: int, limit: int) -> bytes:
    """The log as JSON, put together from what is kept: reading and writing each event anew would cost the most."""
    total = context.hub.store.count(run_id)
    kept = context.hub.store.events(run_id, after=after, limit=limit)
    events = ",".join(f'{{"seq":{event.seq},"event":{event.data}}}' for event in kept)
    following = kept[-1].seq if kept and kept[-1].seq < total else None
    return f'{{"events":[{events}],"next":{"null" if following is None else following},"total":{total}}}'.encode()


@comparison.get("", operation_id="compare_runs", responses=MISSING)
async def compare_runs(a: ComparedId, b: ComparedId, context: Here) -> Comparison:
    """What two runs have in common, what not, and which came out better."""
    one, other, store = await context.hub.known(a), await context.hub.known(b), context.hub.store
    return await store.aside(lambda: compare(one, [*logged(store, a)], other, [*logged(store, b)]))
