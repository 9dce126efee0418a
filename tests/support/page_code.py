"""What the page's own code makes of a run, outside a browser: in Node, as ``scripts/build_devtools --node`` gives it."""

import asyncio
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from loopwright.runs.hub import RunHub
from loopwright.runs.store import open_runs
from loopwright.workflows.api import Workflow

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class RecordedRun:
    """A run as the server hands it to the page."""

    graph: dict[str, Any]
    events: list[dict[str, Any]]

    def first(self, type: str, node: str) -> int:
        """The number of a node's first event of a type."""
        events = ((kept["seq"], kept["event"]) for kept in self.events)
        return next(seq for seq, event in events if event["type"] == type and event["node"] == node)


@dataclass(frozen=True)
class ShownRun:
    """A run as the page shows it."""

    flow: list[str]
    """PIPELINE_FLOW."""
    meta: dict[str, dict[str, Any]]
    """NODE_META."""
    html: str
    """The markup of WorkflowGraph.svelte."""


def recorded(hosted: Workflow, given: Mapping[str, Any]) -> RecordedRun:
    """Run a workflow to its end on a hub, and read what was kept."""

    async def ran() -> RecordedRun:
        store = open_runs("memory")
        hub = RunHub(store, [hosted], InMemorySaver())
        await hub.open()
        run = await hub.until_ended((await hub.start(hosted.name, given)).id)
        await hub.close()
        assert run.status == "finished", run.error
        events = [{"seq": kept.seq, "event": json.loads(kept.data)} for kept in store.events(run.id)]
        return RecordedRun(store.graph(run.id).model_dump(mode="json"), events)

    return asyncio.run(ran())


def shown(runs: Sequence[tuple[RecordedRun, int]]) -> list[ShownRun]:
    """Show runs, each as it was at one of its events; 0 is before it began."""
    node = subprocess.run(
        [ROOT / "scripts/build_devtools", "--node"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
    given = [{"graph": run.graph, "events": run.events, "upTo": seq} for run, seq in runs]
    made = subprocess.run(
        [f"{node}/node", ROOT / "tests/support/page_code.mjs"],
        cwd=ROOT / "devtools", input=json.dumps(given), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return [ShownRun(**each) for each in json.loads(made.stdout)]
