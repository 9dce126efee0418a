"""Records the demonstration runs that ship with the package, src/loopwright/runs/data/*.json.gz.

    python scripts/record_demos.py [NAME ...]

Every run is a real one, through the same hub as the server's, on the samples that come with the package and without a
model: what it shows is what anybody gets. They are recorded by hand where a workflow has changed, and not by
scripts/generate.py, as times and figures differ with every recording; a test says when they have become out of date.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import re
import socket
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loopwright.checkpoints import aopen_checkpointer
from loopwright.runs.demonstrations import RecordedRun, read_demo, recorded_run
from loopwright.runs.hub import RunHub
from loopwright.runs.store import open_runs
from loopwright.runs.store.history import RunStore
from loopwright.workflows.api import Workflow

DATA = Path(__file__).resolve().parent.parent / "src/loopwright/runs/data"
LARGEST = 60_000
"""Bytes of a file."""
FOREIGN = re.compile(r"(/(?:home|root|tmp|work|usr|var|Users)/[^\s\"]*|[A-Z]:\\\\)")
"""What a file's path on some machine looks like."""


@dataclass(frozen=True)
class Demo:
    """A run to record."""

    name: str
    """The file's name, and behind ``demo-`` the run's id."""
    workflow: str
    """Its workflow."""
    input: dict[str, Any]
    """Its input."""
    without: str | None = None
    """The loop without whose passes it is run again; that run is recorded beside it."""


DEMOS = (
    Demo(
        "1-assistant-thought-over-twice", "assistant",
        {"message": "Are there talks about gardening on Saturday morning?"}, without="reflect",
    ),
    Demo("2-assistant-answered-at-once", "assistant", {"message": "Which keynotes are there?"}),
    Demo("3-rag-two-hops", "rag", {"question": "Where was the designer of the Stillwater Bridge born?"}),
    Demo("4-rag-not-in-the-documents", "rag", {"question": "Who is the mayor of Brindlemere?"}, without="transform"),
    Demo(
        "5-iqa-planned-anew", "iqa", {"query": "Is the red boat blurry?", "image": "sample:harbour-blurred"},
        without="replan",
    ),
    Demo("6-iqa-answered-at-once", "iqa", {
        "query": "Which distortion is strongest?\nA) noise\nB) blur\nC) compression",
        "image": "sample:harbour-compressed",
    }),
)  # fmt: skip


def hosted() -> list[Workflow]:
    """The workflows on their samples, without a model."""
    from loopwright.workflows.assistant.config import AssistantConfig
    from loopwright.workflows.assistant.services import Services as AssistantServices
    from loopwright.workflows.assistant.sources.sample import sample_store
    from loopwright.workflows.assistant.workflow import AssistantWorkflow
    from loopwright.workflows.iqa.services import Services as IqaServices
    from loopwright.workflows.iqa.workflow import IQAWorkflow
    from loopwright.workflows.rag.workflow import RagWorkflow

    return [
        AssistantWorkflow(AssistantServices.of(AssistantConfig(), sample_store())),
        RagWorkflow.sample(),
        IQAWorkflow(IqaServices()),
    ]


async def record(demos: Sequence[Demo], folder: Path) -> dict[str, bytes]:
    """Run the demonstrations.

    Args:
        demos: Which.
        folder: Where what is made on the way is kept.

    Returns:
        Name -> file.
    """
    workflows, files = hosted(), dict[str, bytes]()
    with closing(open_runs(f"sqlite:{folder / 'runs.db'}")) as store:
        allow = [kind for each in workflows for kind in each.allow or ()]
        async with aopen_checkpointer(f"sqlite:{folder / 'checkpoints.db'}", allow=allow) as saver:
            hub = RunHub(store, workflows, saver)
            await hub.open()
            for demo in demos:
                files |= await recorded(demo, hub, store, folder)
            await hub.close()
    for each in workflows:
        each.close()
    return files


async def recorded(demo: Demo, hub: RunHub, store: RunStore, folder: Path) -> dict[str, bytes]:
    """One demonstration, and the same without a loop's passes where that is asked for.

    Raises:
        RuntimeError: If a run did not finish, or never went round the loop that is to be left out.
    """
    run_id = f"demo-{demo.name[2:]}"
    await hub.until_ended((await hub.start(demo.workflow, demo.input, run_id=run_id)).id)
    ids = {demo.name: run_id}
    if demo.without:
        child = await hub.until_ended((await hub.counterfactual(run_id, demo.without)).id)
        ids[f"{demo.name}-without"] = child.id
    names = {old: f"{run_id}-without" for old in ids.values() if old != run_id}
    files: dict[str, bytes] = {}
    for name, kept in ids.items():
        record = store.get(kept)
        if record is None or record.status != "finished":
            raise RuntimeError(f"{name}: {record and (record.status, record.error)}")
        print(f"{name}: {record.outcome_status}, quality {record.quality}, passes {record.passes}, {record.path}")
        files[name] = anonymous(recorded_run(store, kept), names, folder)
    return files


def anonymous(run: RecordedRun, names: dict[str, str], folder: Path) -> bytes:
    """The file with the runs' names of the recording, and without the folder in which it was made.

    Raises:
        RuntimeError: If there is a path or the machine's name in it still, or it is too large.
    """
    # Unlike pydantic's own writing, this keeps infinite figures, as the run history does.
    text = json.dumps(run.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))
    for old, new in {**names, f"{folder}/": ""}.items():
        text = text.replace(old, new)
    found = FOREIGN.search(text) or re.search(rf"\b{re.escape(socket.gethostname())}\b", text)
    if found:
        raise RuntimeError(f"a place on this machine is in it: {text[max(0, found.start() - 60) : found.end() + 20]}")
    packed = gzip.compress(text.encode(), mtime=0)
    read_demo(packed)
    if len(packed) > LARGEST:
        raise RuntimeError(f"it has {len(packed)} bytes; the most are {LARGEST}")
    return packed


def main() -> None:
    """Record them, and write the files."""
    logging.disable(logging.WARNING)
    wanted = [demo for demo in DEMOS if not sys.argv[1:] or demo.name in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder:
        files = asyncio.run(record(wanted, Path(folder)))
    DATA.mkdir(exist_ok=True)
    for name, data in files.items():
        (DATA / f"{name}.json.gz").write_bytes(data)
        print(f"{name}.json.gz: {len(data):,} bytes")


if __name__ == "__main__":
    main()
