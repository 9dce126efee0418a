"""Showing a part of the knowledge graph: what an answer stands on, as one HTML file that opens anywhere."""

from __future__ import annotations

from loopwright.workflows.rag.export.neighbourhood import (
    Edge,
    Neighbourhood,
    Node,
    neighbourhood,
    neighbourhood_of_answer,
)
from loopwright.workflows.rag.export.page import save_html

__all__ = ["Edge", "Neighbourhood", "Node", "neighbourhood", "neighbourhood_of_answer", "save_html"]
