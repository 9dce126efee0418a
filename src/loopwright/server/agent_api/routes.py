"""The addresses that LangGraph's own clients ask."""

import asyncio
import json
import logging
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.sse import KEEPALIVE_COMMENT as IDLE
from pydantic import BaseModel, BeforeValidator, Field

from loopwright.errors import InputError
from loopwright.runs.schemas import RunRecord
from loopwright.server.agent_api.streaming import Mode, frames, sse, waited
from loopwright.server.agent_api.threads import At, Place, Threads, Turn, ended_well
from loopwright.server.context import Context, Here
from loopwright.server.given import AnyGiven, Given
from loopwright.server.problems import INTERNAL, Problem, problem_of
from loopwright.workflows.api import Workflow, plain_json
from loopwright.workflows.user_graph import UserGraph

logger = logging.getLogger(__name__)
router = APIRouter(include_in_schema=False)

NAMESPACE = uuid.UUID("6f1c3a52-0a39-4a0f-9d53-8f6a5a7d9a10")
"""What clients call an id is made of the workflow's name in this one."""
STARTED = datetime.now(UTC)
"""Since when assistants are here."""
_BEGINNING: set[asyncio.Future[Any]] = set()
"""Runs that begin: the event loop itself holds no task."""


class NewThread(BaseModel):
    """A thread that a client asks for; its metadata is passed over."""

    thread_id: str | None = None
    if_exists: Literal["raise", "do_nothing"] = "raise"
    supersteps: Any = None


class History(BaseModel):
    """Which states are wanted."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 10
    before: Place | str | None = None
    metadata: dict[str, Any] | None = None


class Update(At):
    """A change of a thread's state."""

    values: AnyGiven = None
    as_node: str | None = None


REFUSED = {
    "webhook": "follow the run (join, join_stream), or ask GET /v1/runs/ID",
    "after_seconds": "ask for the run when it is to begin",
}
"""What a run cannot be asked for with -> what to do instead."""


class Config(BaseModel):
    """A configuration, of which counts what the graph's context has a field for."""

    configurable: Given = {}


class NewRun(Turn):
    """A run that a client asks for; what is not here (tags, metadata) is passed over."""

    assistant_id: str
    stream_mode: Mode | list[Mode] = "values"
    if_not_exists: Literal["create", "reject"] = "reject"
    on_disconnect: Literal["cancel", "continue"] = "continue"
    webhook: Any = None
    after_seconds: Any = None
    context: Annotated[Given | None, BeforeValidator(lambda given: given or None)] = None
    config: Config | None = None

    def within(self, hosted: Workflow[Any]) -> Turn:
        """What a workflow is asked for, with what was said of its graph's context in the input.

        Raises:
            InputError: If it has none.
        """
        if self.context and not hosted.context:
            raise InputError(f"context cannot be given here: the graph of {hosted.name!r} declares none")
        configured = self.config.configurable if self.config else {}
        asked = hosted.asked_context if configured and isinstance(hosted, UserGraph) else None
        known = asked.model_json_schema()["properties"] if asked else ()
        said = {key: configured[key] for key in configured if key in known} | (self.context or {})
        if self.input is None or not said:
            return self
        return self.model_copy(update={"input": {hosted.context: said, **self.input}})

    def require_possible(self) -> None:
        """Refuse what cannot be done here, rather than pass it over."""
        for name, instead in REFUSED.items():
            if getattr(self, name):
                raise InputError(f"{name} cannot be given here: {instead}")
        if self.command and (self.command.update or self.command.goto):
            raise InputError("a command can only resume here: change the state with update_state before it")
        if self.at and self.command:
            raise InputError("a command answers the last state of a thread: give it no checkpoint")


class Search(BaseModel):
    """Which assistants are wanted."""

    graph_id: str | None = None
    name: str | None = None
    metadata: dict[str, Any] | None = None
    limit: Annotated[int, Field(ge=1)] = 10
    offset: Annotated[int, Field(ge=0)] = 0


async def _threads(request: Request) -> Threads:
    return request.app.state.agent_threads


AllThreads = Annotated[Threads, Depends(_threads)]
"""The threads as a parameter of a route; they know the `Context`."""


# Assistants


def _hosted(context: Context, assistant_id: str) -> Workflow[Any]:
    for hosted in context.hub.workflows.values():
        if assistant_id in (hosted.name, hosted.title, _assistant_id(hosted)):
            return hosted
    return context.hub.hosted(assistant_id)


def _assistant_id(hosted: Workflow[Any]) -> str:
    return str(uuid.uuid5(NAMESPACE, hosted.name))


def _assistant(hosted: Workflow[Any]) -> dict[str, Any]:
    since = STARTED.isoformat()
    return {
        "assistant_id": _assistant_id(hosted), "graph_id": hosted.name, "name": hosted.title,
        "description": hosted.description or None, "config": {}, "context": {}, "metadata": {"created_by": "system"},
        "version": 1, "created_at": since, "updated_at": since,
    }  # fmt: skip


@router.post("/assistants/search")
async def search_assistants(asked: Search, context: Here) -> list[dict[str, Any]]:
    """The workflows that are served."""
    named = (asked.name or "").lower()
    shown = [_assistant(each) for each in context.hub.workflows.values() if asked.graph_id in (None, each.name)]
    found = [each for each in shown if named in each["name"].lower() and _has(each, asked.metadata)]
    return found[asked.offset :][: asked.limit]


def _has(shown: dict[str, Any], metadata: dict[str, Any] | None) -> bool:
    return (metadata or {}).items() <= shown["metadata"].items()


@router.get("/assistants/{assistant_id}")
async def get_assistant(assistant_id: str, context: Here) -> dict[str, Any]:
    """One of them."""
    return _assistant(_hosted(context, assistant_id))


@router.get("/assistants/{assistant_id}/graph")
async def get_graph(assistant_id: str, context: Here, xray: int | bool = False) -> dict[str, Any]:
    """LangGraph's own drawing of its graph, which has no gates."""
    graph = context.hub.graph(_hosted(context, assistant_id).name)
    return plain_json((await asyncio.to_thread(graph.get_graph, xray=xray)).to_json())


@router.get("/assistants/{assistant_id}/schemas")
async def get_schemas(assistant_id: str, context: Here) -> dict[str, Any]:
    """The schemas of its graph; the input's is what a run takes here."""
    hosted = _hosted(context, assistant_id)
    graph = context.hub.graph(hosted.name)
    own = isinstance(hosted, UserGraph)
    return {
        "graph_id": hosted.name,
        "input_schema": (_schema(graph.get_input_jsonschema) if own else None) or hosted.input_schema,
        "output_schema": _schema(graph.get_output_jsonschema),
        "state_schema": _schema(graph.get_output_jsonschema),
        "config_schema": None,
        "context_schema": hosted.asked_context.model_json_schema() if own and hosted.context else None,
    }


def _schema(make: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    try:
        return make()
    except Exception:  # a type that no schema can describe
        return None


# Threads


@router.post("/threads")
async def create_thread(asked: NewThread, threads: AllThreads) -> dict[str, Any]:
    """Make a thread."""
    if asked.supersteps:
        raise InputError("supersteps cannot be given here: run the thread, then change its state with update_state")
    thread_id = asked.thread_id or str(uuid.uuid4())
    if not await threads.known(thread_id):
        threads.create(thread_id)
    elif asked.if_exists == "raise":
        raise Problem(f"there is a thread {thread_id!r} already", "Conflict", status=409)
    return await threads.described(thread_id)


@router.get("/threads/{thread_id}")
async def get_thread(thread_id: str, threads: AllThreads) -> dict[str, Any]:
    """A thread."""
    return await threads.described(thread_id)


@router.delete("/threads/{thread_id}", status_code=204)
async def delete_thread(thread_id: str, threads: AllThreads) -> Response:
    """Forget a thread with its runs."""
    await threads.delete(thread_id)
    return Response(status_code=204)


@router.get("/threads/{thread_id}/state")
@router.get("/threads/{thread_id}/state/{checkpoint_id}")
async def get_state(thread_id: str, threads: AllThreads, checkpoint_id: str | None = None) -> dict[str, Any]:
    """Its state, now or at a checkpoint."""
    return await threads.state(thread_id, checkpoint_id)


@router.post("/threads/{thread_id}/state/checkpoint")
async def get_state_at(
    thread_id: str, checkpoint: Annotated[Place, Body(embed=True)], threads: AllThreads
) -> dict[str, Any]:
    """Its state at a checkpoint."""
    return await threads.state(thread_id, checkpoint.checkpoint_id)


@router.post("/threads/{thread_id}/state")
async def update_state(thread_id: str, asked: Update, threads: AllThreads) -> dict[str, Any]:
    """Change its state."""
    return {"checkpoint": await threads.update(thread_id, asked.values, asked.as_node, asked.at)}


@router.post("/threads/{thread_id}/history")
async def get_history(thread_id: str, asked: History, threads: AllThreads) -> list[dict[str, Any]]:
    """Its states, the last one first."""
    before = asked.before.checkpoint_id if isinstance(asked.before, Place) else asked.before
    found: list[dict[str, Any]] = []
    async for state in threads.history(thread_id, before):
        if _has(state, asked.metadata):
            found.append(state)
        if len(found) == asked.limit:
            break
    return found


@router.get("/threads/{thread_id}/runs")
async def list_thread_runs(
    thread_id: str, threads: AllThreads, limit: int = 10, offset: int = 0, status: str | None = None
) -> list[dict[str, Any]]:
    """Its runs, the last one first."""
    shown = [_shown(threads, record, thread_id) for record in await threads.turns(thread_id)]
    return [each for each in shown if status in (None, each["status"])][offset:][:limit]


@router.get("/threads/{thread_id}/runs/{run_id}")
async def get_thread_run(thread_id: str, run_id: str, threads: AllThreads) -> dict[str, Any]:
    """One of its runs."""
    return _shown(threads, await _turn(thread_id, run_id, threads), thread_id)


@router.get("/threads/{thread_id}/runs/{run_id}/join")
async def join_run(thread_id: str, run_id: str, threads: AllThreads) -> Response:
    """Wait for one of its runs, and answer with its output."""
    record = await _turn(thread_id, run_id, threads)
    return _ended(waited(threads, False, record), record, thread_id)


@router.get("/threads/{thread_id}/runs/{run_id}/stream")
async def join_stream(
    thread_id: str, run_id: str, threads: AllThreads,
    stream_mode: Annotated[list[Mode] | None, Query()] = None, cancel_on_disconnect: bool = False,
) -> Response:  # fmt: skip
    """Follow one of its runs from its beginning."""
    record = await _turn(thread_id, run_id, threads)
    return _streaming(frames(threads, stream_mode or ["values"], cancel_on_disconnect, record), record, thread_id)


@router.post("/threads/{thread_id}/runs/{run_id}/cancel")
async def cancel_run(thread_id: str, run_id: str, threads: AllThreads) -> Response:
    """End one of its runs."""
    await threads.context.hub.cancel((await _turn(thread_id, run_id, threads)).id)
    return Response(status_code=204)


async def _turn(thread_id: str, run_id: str, threads: Threads) -> RunRecord:
    for record in await threads.turns(thread_id):
        if record.id == run_id:
            return record
    raise Problem(f"thread {thread_id} has no run {run_id[:80]!r}", "UnknownRun", status=404)


def _shown(threads: Threads, record: RunRecord, thread_id: str) -> dict[str, Any]:
    assistant_id = _assistant_id(threads.context.hub.hosted(record.workflow))
    statuses = {"queued": "pending", "running": "running", "failed": "error"}
    return plain_json(
        {
            "run_id": record.id, "thread_id": thread_id, "assistant_id": assistant_id, "created_at": record.started_at,
            "updated_at": record.ended_at or record.started_at, "metadata": {}, "kwargs": {},
            "status": "success" if ended_well(record) else statuses.get(record.status, "interrupted"),
            "multitask_strategy": "enqueue",
        }
    )  # fmt: skip


# Runs


async def _begun(asked: NewRun, thread_id: str | None, threads: Threads) -> tuple[RunRecord, int]:
    """Begin a run or go on with one; how many events it had before."""
    asked.require_possible()
    hosted = _hosted(threads.context, asked.assistant_id)
    if thread_id is None:
        thread_id = str(uuid.uuid4())
    elif asked.if_not_exists == "reject":
        await threads.turns(thread_id)
    return await threads.run(thread_id, hosted.name, asked.within(hosted))


async def _answer(
    threads: Threads, http: Request, begin: Awaitable[tuple[RunRecord, int]],
    follow: Callable[[RunRecord, int], AsyncGenerator[bytes]], *, cancel: bool, idle: bytes = b" ",
    failed: Callable[[dict[str, str]], bytes] | None = lambda told: json.dumps({"__error__": told}).encode(),
) -> tuple[AsyncGenerator[bytes], RunRecord | None]:  # fmt: skip
    """What follows the beginning of a run; and the run, or None where it still waits for another one of its thread.

    The reply then begins before it: proxies give up what sends nothing. Where the run cannot begin, it ends with what
    `failed` makes of the problem, or is broken off without it.
    """
    hub, begun = threads.context.hub, asyncio.ensure_future(begin)
    _BEGINNING.add(begun)
    begun.add_done_callback(_BEGINNING.discard)

    def problem() -> Problem | None:
        if error := begun.exception():
            found = problem_of(error)
            logger.warning("a run cannot begin: %s", error, exc_info=error if found.error_type == INTERNAL else None)
            return found
        return None

    def end(_: object) -> None:
        if not begun.cancelled() and not problem() and cancel:
            hub.cancel_soon(begun.result()[0].id)

    async def waiting() -> AsyncGenerator[bytes]:
        try:
            while not begun.done():
                yield idle
                await asyncio.wait({begun}, timeout=hub.limits.keep_alive)
        except BaseException:  # the client left
            begun.remove_done_callback(end)  # where it had left before
            begun.add_done_callback(end)
            raise
        if failed and (found := problem()):
            yield failed({"error": found.error_type, "message": found.error})
            return
        async for part in follow(*begun.result()):
            yield part

    await asyncio.wait({begun}, timeout=hub.limits.keep_alive)
    if await http.is_disconnected():  # nobody will begin the stream that would cancel it
        begun.add_done_callback(end)
    return (follow(*begun.result()), begun.result()[0]) if begun.done() else (waiting(), None)


def _streaming(stream: AsyncGenerator[bytes], record: RunRecord | None, thread_id: str | None) -> Response:
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    if record:
        place = f"/threads/{thread_id}/runs/{record.id}" if thread_id else f"/runs/{record.id}"
        headers |= {"X-Run-Id": record.id, "Content-Location": place}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


def _ended(stream: AsyncGenerator[bytes], run: RunRecord | None, thread_id: str | None) -> Response:
    # A compressor or a buffer would keep the spaces to itself.
    headers = {"Content-Encoding": "identity", "X-Accel-Buffering": "no"}
    if run and thread_id:
        headers["Location"] = f"/threads/{thread_id}/runs/{run.id}/join"
    return StreamingResponse(stream, media_type="application/json", headers=headers)


# AG-UI


@router.post("/agui/{workflow}")
async def run_for_front_end(workflow: str, threads: AllThreads, http: Request) -> Response:
    """Run a workflow, and send what happens as AG-UI's events."""
    try:
        from loopwright.server import agui
    except ModuleNotFoundError as error:
        told = f"{error.name} is not installed: pip install 'loopwright[ag-ui]'"
        raise Problem(told, "ConfigError", status=501) from None
    asked, begun = agui.begun(threads, _hosted(threads.context, workflow), await http.body())
    follow = partial(agui.frames, threads.context, asked)
    answer = await _answer(threads, http, begun, follow, cancel=True, idle=IDLE, failed=agui.failed)
    return _streaming(*answer, asked.thread_id)


@router.post("/threads/{thread_id}/runs")
async def create_run(thread_id: str, asked: NewRun, threads: AllThreads, http: Request) -> Response:
    """Run the thread in the background."""

    async def shown(run: RunRecord, _before: int) -> AsyncGenerator[bytes]:
        yield json.dumps(_shown(threads, run, thread_id)).encode()

    begin = _begun(asked, thread_id, threads)  # anything else in a run's place would be taken for one
    return _ended(*await _answer(threads, http, begin, shown, cancel=False, failed=None), None)


@router.post("/runs/stream")
@router.post("/threads/{thread_id}/runs/stream")
async def stream_run(asked: NewRun, threads: AllThreads, http: Request) -> Response:
    """Run the thread, if there is one, and send what happens as it happens."""
    thread_id = http.path_params.get("thread_id")
    modes: list[Mode] = asked.stream_mode if isinstance(asked.stream_mode, list) else [asked.stream_mode]
    begin, cancel = _begun(asked, thread_id, threads), asked.on_disconnect == "cancel"
    follow = partial(frames, threads, modes, cancel)
    answer = partial(_answer, threads, http, begin, follow, cancel=cancel, idle=IDLE)
    return _streaming(*await answer(failed=lambda told: sse("error", told) + sse("end", None)), thread_id)


@router.post("/runs/wait")
@router.post("/threads/{thread_id}/runs/wait")
async def await_run(asked: NewRun, threads: AllThreads, http: Request) -> Response:
    """Run the thread, if there is one, and answer with its output."""
    thread_id = http.path_params.get("thread_id")
    begin, cancel = _begun(asked, thread_id, threads), asked.on_disconnect == "cancel"
    return _ended(*await _answer(threads, http, begin, partial(waited, threads, cancel), cancel=cancel), thread_id)
