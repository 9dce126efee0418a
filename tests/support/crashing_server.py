"""A process that has imported everything, and forks for each attempt; started by `crashing.ForkServer`.

For each job, a line of its standard input, it answers with the child's process id. It waits for the child only when the
next line says so, so that until then the id belongs to the child, dead or alive; and then it answers how it ended.
"""

import asyncio
import json
import os
import sys
import traceback
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import crashing_graphs
from crashing_record import Record
from langgraph.checkpoint.sqlite import SqliteSaver

from loopwright.checkpoints import JsonFileSaver, aopen_checkpointer, open_checkpointer
from loopwright.engine import BoundedGraph, arun, resume, run
from loopwright.errors import LoopwrightError


def build(job: dict[str, Any], record: Record, saver: Any) -> BoundedGraph:
    record.watch(saver, job["late"])
    if isinstance(saver, JsonFileSaver):
        record.watch_files()
    elif isinstance(saver, SqliteSaver):
        saver.conn.set_trace_callback(lambda statement: record.note("statement", kind=statement.split()[0]))
    return getattr(crashing_graphs, job["graph"])(record, **job["options"], checkpointer=saver)


def began(state: Any) -> bool:
    """Whether there is something to go on from; a process may die before its first save."""
    return bool(state.values or state.next)


def outcome(graph: BoundedGraph, state: Any, saved: Any) -> dict[str, Any]:
    """What the parent wants to know of a run that came to its end; its time is another one each time."""
    kept, certificate = saved.checkpoint["channel_values"], graph.certificate.model_dump(mode="json")
    spent = {what: amount for what, amount in (kept.get("loop_spent") or {}).items() if what not in ("seconds", "run")}
    return {"state": state, "ledger": kept.get("loop_ledger"), "spent": spent, "certificate": certificate}


def attempt(job: dict[str, Any], record: Record) -> dict[str, Any]:
    config: Any = {"configurable": {"thread_id": job["thread"]}}
    with open_checkpointer(job["saver"]) as saver:
        graph = build(job, record, saver)
        if job["attempt"] and began(graph.get_state(config)):
            result = resume(graph, thread_id=job["thread"], **job["run"])
        else:
            result = run(graph, job["input"], thread_id=job["thread"], **job["run"])
        return outcome(graph, result.state, saver.get_tuple(config))


async def async_attempt(job: dict[str, Any], record: Record) -> dict[str, Any]:
    config: Any = {"configurable": {"thread_id": job["thread"]}}
    async with aopen_checkpointer(job["saver"]) as saver:
        graph = build(job, record, saver)
        input = None if job["attempt"] and began(await graph.aget_state(config)) else job["input"]
        result = await arun(graph, input, thread_id=job["thread"], **job["run"])
        return outcome(graph, result.state, await saver.aget_tuple(config))


def child(job: dict[str, Any]) -> dict[str, Any]:
    """Do a job; an error of ours is an answer."""
    record = Record(job["log"], job["attempt"], job["kill"])
    try:
        if job["options"].get("asynchronous"):
            return asyncio.run(async_attempt(job, record))
        return attempt(job, record)
    except LoopwrightError as error:
        return {"error": type(error).__name__, "message": str(error)}


def warm() -> None:
    """Pay here for what the first run of a process costs besides its imports: no child pays it then."""
    with TemporaryDirectory() as folder:
        for graph in ("three_loops", "flaky"):
            child({
                "saver": f"sqlite:{folder}/{graph}.db", "late": 0.0, "thread": "t", "log": f"{folder}/log", "attempt": 0,
                "graph": graph, "options": {}, "run": {}, "input": {"trace": []}, "kill": None,
            })  # fmt: skip


def serve() -> None:
    """Fork for each job."""
    warm()
    while line := sys.stdin.readline():
        job = json.loads(line)
        pid = os.fork()
        if not pid:
            code = 1
            try:
                Path(job["result"]).write_text(json.dumps(child(job)), encoding="utf-8")
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        print(pid, flush=True)
        sys.stdin.readline()
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    serve()
