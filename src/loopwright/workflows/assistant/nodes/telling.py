"""Telling an answer piece by piece, so that the pieces together are the answer."""

from __future__ import annotations

from collections.abc import Sequence

from loopwright.engine.events.schema import TextStreamed, emit
from loopwright.workflows.assistant.answer import without_strangers
from loopwright.workflows.assistant.constants import GENERATE_RESPONSE

_LONGEST_MARK = 400
"""Characters; a bracket that stays open longer begins no mark."""
_OPENING, _CLOSING = "[【", "]】"


class Telling:
    """An answer on its way from a chat model to the person, without marks to records that were not offered.

    What may be a part of a mark is kept back until the mark is whole.
    """

    def __init__(self, offered_ids: Sequence[str]) -> None:
        """Tell nothing yet.

        Args:
            offered_ids: The ids that were put before the model.
        """
        self._ids = offered_ids
        self._kept = ""
        self._told = ""

    def add(self, piece: str) -> None:
        """Tell what a further piece of the model's text makes certain.

        Args:
            piece: The piece.
        """
        self._kept += piece
        end = _certain(self._kept)
        certain, self._kept = self._kept[:end], self._kept[end:]
        self._tell(certain)

    def end(self) -> str:
        """Tell the rest.

        Returns:
            Everything that was told: the answer.
        """
        self._tell(self._kept.rstrip())
        self._kept = ""
        return self._told

    def _tell(self, text: str) -> None:
        text = without_strangers(text, self._ids)
        if not self._told:
            text = text.lstrip()
        self._told += text
        tell(text)


def tell(text: str) -> None:
    """Tell a piece of the answer.

    Args:
        text: The piece; nothing is told of an empty one.
    """
    if text:
        emit(TextStreamed(node=GENERATE_RESPONSE, text=text).model_dump(mode="json"))


def _certain(text: str) -> int:
    """How much of a text stays as it is, whatever follows it: all but an open mark, and what a mark may swallow."""
    begin = depth = 0
    closed = -1
    for place, character in enumerate(text):
        if character == "\n":
            depth = 0
        elif character in _OPENING:
            begin = begin if depth else place
            depth += 1
        elif character in _CLOSING and depth:
            depth -= 1
            closed = place
    is_open = depth > 0 and len(text) - begin <= _LONGEST_MARK
    # A bracket that was closed last is a link where a parenthesis follows.
    is_last = not depth and 0 <= closed == len(text) - 1
    end = begin if is_open or is_last else len(text)
    # Blanks before a mark go with it, and a backslash makes it none.
    return len(text[:end].rstrip(" \t\n\r\\"))
