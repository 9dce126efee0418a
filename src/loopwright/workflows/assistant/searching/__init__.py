"""Searching the records of a conference with the parts that `loopwright.retrieval` gives."""

from __future__ import annotations

from loopwright.workflows.assistant.searching.search import Search, merge
from loopwright.workflows.assistant.searching.vocabulary import Vocabulary

__all__ = ["Search", "Vocabulary", "merge"]
