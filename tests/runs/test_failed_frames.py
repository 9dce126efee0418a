"""A run that failed keeps where in the user's own code it did."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

from hosted_graphs import opened

from loopwright.engine import bounded
from loopwright.workflows.user_graph import UserGraph

SOURCE = """\
from typing import TypedDict
from langgraph.graph import START, StateGraph

class State(TypedDict, total=False):
    text: str
    size: int

KEY = "sk-abcdefghijklmnopqrstuvwxyz"

def measured(text):
    return json.loads(text)["size"]

def measure(state: State):
    return {"size": measured(state["text"])}

graph = StateGraph(State)
graph.add_node(measure)
graph.add_edge(START, "measure")
"""


async def test_the_places_of_the_graph_are_kept_and_no_library_nor_key(tmp_path: Path) -> None:
    file = tmp_path / "sizes.py"
    file.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("sizes", file)
    sizes = importlib.util.module_from_spec(spec)
    sizes.json = json
    spec.loader.exec_module(sizes)
    async with opened(tmp_path, UserGraph("sizes", bounded(sizes.graph, []))) as hub:
        record = await hub.until_ended((await hub.start("sizes", {"text": "{}"})).id)
        assert (record.status, record.error_node) == ("failed", "measure")
        assert [(Path(one.file).name, one.line, one.function) for one in record.error_frames] == [
            ("sizes.py", 14, "measure"), ("sizes.py", 11, "measured"),
        ]  # fmt: skip
        innermost = record.error_frames[-1]
        assert innermost.code[innermost.line - innermost.first] == '    return json.loads(text)["size"]'
        assert "sk-" not in record.model_dump_json()
        assert hub.store.get(record.id).error_frames == record.error_frames
        await hub.resume(record.id)
        assert hub.store.get(record.id).error_frames == ()
