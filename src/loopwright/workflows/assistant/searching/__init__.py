"""Search over a conference: records by words and by meaning, on one scale, and the words that the conference uses."""

from __future__ import annotations

from loopwright.workflows.assistant.searching.merging import merge
from loopwright.workflows.assistant.searching.search import Search
from loopwright.workflows.assistant.searching.vocabulary import Neighbour, Vocabulary

__all__ = ["Neighbour", "Search", "Vocabulary", "merge"]
