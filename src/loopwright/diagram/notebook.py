"""How a notebook shows a bounded graph: its picture with limits, and its certificate."""

from __future__ import annotations

import importlib.util
from html import escape
from typing import TYPE_CHECKING

from loopwright.diagram.drawing import svg
from loopwright.diagram.flowchart import mermaid

if TYPE_CHECKING:
    from loopwright.engine.graph import BoundedGraph


def shown(graph: BoundedGraph) -> dict[str, str]:
    """A graph as text and as HTML; without the package mermaidx its Mermaid text stands for the picture."""
    drawn, proof = graph.topology(), graph.certificate._repr_mimebundle_()  # pyright: ignore[reportPrivateUsage]
    text = mermaid(drawn)
    picture = svg(drawn) if importlib.util.find_spec("mermaidx") else f"<pre>{escape(text)}</pre>"
    return {"text/plain": f"{text}\n{proof['text/plain']}", "text/html": f"<div>{picture}{proof['text/html']}</div>"}
