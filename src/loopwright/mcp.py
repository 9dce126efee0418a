"""An MCP server: proofs of graphs, and every workflow, as tools of any MCP host."""

import asyncio
import json
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from anyio import CancelScope
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from uvicorn import Config
from uvicorn import Server as HttpServer  # behind mcp, as the first package that is missing is named

import loopwright
from loopwright.check.report import as_json
from loopwright.check.targets import check_targets, split_target
from loopwright.database import storable
from loopwright.engine import RunEvent, RunResult
from loopwright.engine.events.reasons import stops_said
from loopwright.engine.events.schema import LoopDecided, NodeStarted
from loopwright.errors import GraphError, InputError, LoopwrightError, NodeFailed
from loopwright.workflows.api import Outcome, Run, Workflow, plain_json, upload_fields

Context = ServerRequestContext[Any, Any]
"""What a tool knows of its caller, to whom it tells how far it is."""


def _check(target: str) -> dict[str, Any]:
    return json.loads(as_json(check_targets([target], import_them=False, allow_empty=True)))


def _certificate(target: str) -> dict[str, Any]:
    if not split_target(target)[1]:
        raise InputError(f"{target!r} names no graph: give FILE.py:GRAPH or MODULE:GRAPH")
    # In a process of its own: here, what was imported once would stay as it was before the file was edited.
    command = [sys.executable, "-m", "loopwright", "graph", "show", "--format", "json", "--", target]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise GraphError(done.stderr.rstrip().rpartition("\n")[2].removeprefix("loopwright: "))
    return json.loads(done.stdout)["certificate"]


def _proof(name: str, title: str, description: str, target: str) -> Tool:
    """A tool that proves something of graphs; what its one argument names is told in `target`."""
    named = {"target": {"type": "string", "description": target}}
    taken = {"type": "object", "properties": named, "required": ["target"]}
    read_only = ToolAnnotations(read_only_hint=True)
    return Tool(name=name, title=title, description=description, annotations=read_only, input_schema=taken)


PROOFS: dict[str, tuple[Tool, Callable[[str], dict[str, Any]]]] = {
    "check_graph": (_proof(
        "check_graph", "Check graphs", "Is every cycle of every LangGraph graph in a file or folder bounded? Names the "
        "cycles that are not, each with a Loop ready to paste. The code is read, never run.",
        "A Python file, a notebook or a folder.",
    ), _check),
    "certificate": (_proof(
        "certificate", "Certificate of a graph", "The proven worst case of one run of a graph: supersteps, runs of "
        "each node, model calls, and what that rests on. Imports the module, so its code runs.",
        "FILE.py:GRAPH or MODULE:GRAPH, a variable or a function that makes the graph.",
    ), _certificate),
}  # fmt: skip
"""The tools that prove: name -> tool, and what proves it."""


def server(workflows: Iterable[Workflow[Any]]) -> Server[Any]:
    """Make the server.

    Args:
        workflows: Each becomes a tool that is called as it is and takes what its `Input` says; a file is given as its
            path on this machine.
    """
    hosted = {each.name: each for each in workflows}
    for name in PROOFS.keys() & hosted.keys():
        raise InputError(f"a workflow cannot be a tool {name!r}: that one proves graphs")

    async def list_tools(context: Context, asked: PaginatedRequestParams | None) -> ListToolsResult:
        runs = [
            Tool(
                name=each.name, title=each.title, description=each.description or each.title,
                input_schema=each.input_schema, output_schema=Outcome.model_json_schema(),
            )
            for each in hosted.values()
        ]  # fmt: skip
        return ListToolsResult(tools=[*(tool for tool, _ in PROOFS.values()), *runs])

    async def call_tool(context: Context, asked: CallToolRequestParams) -> CallToolResult:
        given = asked.arguments or {}
        try:
            if asked.name in PROOFS:
                return await _proven(PROOFS[asked.name][1], given)
            if asked.name in hosted:
                work = asyncio.create_task(_answered(hosted[asked.name], given, context))
                try:
                    return await asyncio.shield(work)
                finally:  # mcp cancels a call at every wait anew, which would cut short what its nodes do last
                    work.cancel()
                    with CancelScope(shield=True):
                        await asyncio.wait({work})
        except LoopwrightError as error:
            return _failed(error.told if isinstance(error, NodeFailed) else str(error))
        except (Exception, SystemExit) as error:  # of somebody's graph: the host is told, and the server goes on
            return _failed(f"{type(error).__name__}: {error}")
        raise MCPError(INVALID_PARAMS, f"there is no tool {asked.name!r}; there are {', '.join((*PROOFS, *hosted))}")

    return Server(
        "loopwright", version=loopwright.__version__, title="Loopwright", on_list_tools=list_tools,
        on_call_tool=call_tool, instructions="Proves that agent graphs stop; runs workflows whose loops are bounded.",
    )  # fmt: skip


async def serve_stdio(workflows: Sequence[Workflow[Any]]) -> None:
    """Serve the host that started this process, over standard input and output, until it closes them."""
    made = server(workflows)
    async with stdio_server() as (read, write):
        await made.run(read, write, made.create_initialization_options())


async def serve_http(workflows: Sequence[Workflow[Any]], listener: socket.socket) -> None:
    """Serve the hosts that connect to an address, by streamable HTTP, until told to stop."""
    app = server(workflows).streamable_http_app()
    await HttpServer(Config(app, log_level="warning")).serve([listener])


async def _proven(call: Callable[[str], dict[str, Any]], given: Mapping[str, Any]) -> CallToolResult:
    target = given.get("target")
    if not isinstance(target, str) or len(given) != 1:
        raise InputError("give target, a text, and nothing else")
    found = await asyncio.to_thread(call, target)
    if (errors := found.get("errors")) and not found.get("graphs"):
        raise GraphError("; ".join(errors))
    return _result([json.dumps(found, ensure_ascii=False, indent=2)], found)


async def _answered(workflow: Workflow[Any], given: Mapping[str, Any], context: Context) -> CallToolResult:
    """Run a workflow, tell the host of each node and pass, and answer with what came out."""
    files = [given[name] for name in upload_fields(workflow.Input) if isinstance(given.get(name), str)]
    run = workflow.run(given, {file: Path(file) for file in files if Path(file).is_file()}, uuid.uuid4().hex)
    result: Any = None  # the last that it gives
    told = 0
    async for event in workflow.follow(run):
        if isinstance(event, RunResult):
            result = event
            continue
        for words in _progress(workflow, run, event):
            told += 1
            await context.session.report_progress(told, message=storable(words))
    outcome, _events = await run.ended(result)
    plain, failed = plain_json(outcome.model_dump()), outcome.error is not None
    said = _with_citations(outcome) or ("" if failed else json.dumps(plain["details"], ensure_ascii=False, indent=2))
    stops = "; ".join(stops_said(result.state.get("stop_reason")))
    return _result([said, stops, f"failed: {outcome.error}" if failed else ""], plain, failed=failed)


def _progress(workflow: Workflow[Any], run: Run, event: RunEvent) -> Iterable[str]:
    if isinstance(event, NodeStarted):
        info = workflow.nodes.get(event.node)
        yield info.label if info else event.node
    elif isinstance(event, LoopDecided) and event.decision == "granted":
        yield f"loop {event.loop}: pass {event.spent} of {event.limit}" + (f", {event.reason}" if event.reason else "")
    elif isinstance(event, LoopDecided):
        yield f"loop {event.loop}: {event.decision} after {event.spent} of {event.limit}"
    for told in run.told(event):
        yield told.message


def _with_citations(outcome: Outcome) -> str:
    cited = [
        f"[{each.mark}] {each.title}"
        + (f": “{' '.join(each.quote.split())}”" if each.quote else "")
        + (f" {each.url}" if each.url else "")
        for each in outcome.citations
    ]
    return "\n".join([outcome.answer, *([""] if cited else []), *cited])


def _failed(message: str) -> CallToolResult:
    return _result([" ".join(message.split())], failed=True)


def _result(texts: Iterable[str], found: dict[str, Any] | None = None, *, failed: bool = False) -> CallToolResult:
    """What is sent, without halves of characters: a name of a file may hold them, and UTF-8 takes none."""
    content = [TextContent(text=storable(text)) for text in texts if text]
    plain = None if found is None else json.loads(storable(json.dumps(found, ensure_ascii=False)))
    return CallToolResult(content=[*content], structured_content=plain, is_error=failed)
