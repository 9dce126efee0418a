"""Telling an answer piece by piece, so that the pieces together are the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from loopwright.engine.events.schema import TextStreamed, emit
from loopwright.workflows.assistant.answer.references import without_strangers
from loopwright.workflows.assistant.constants import GENERATE_RESPONSE

# What may become a mark: a bracket that is open, or was closed last, where a parenthesis may make a link of it; with
# the blanks before it, which go with it, and a backslash, which makes it none.
_UNCERTAIN = re.compile(r"[ \t\n\r\\]*(?:[\[【][^\]】\n]{0,400}[\]】]?)?\Z")


class Telling:
    """An answer on its way from a chat model to the person, without marks to records that were not offered.

    What may be a part of a mark is kept back until the mark is whole.
    """

    def __init__(self, offered_ids: Sequence[str]) -> None:
        self._ids = offered_ids
        self._kept = ""
        self._told = ""

    def add(self, piece: str) -> None:
        """Tell what a further piece of the model's text makes certain."""
        self._kept += piece
        uncertain = _UNCERTAIN.search(self._kept)
        end = uncertain.start() if uncertain else len(self._kept)
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
    """Tell a piece of the answer."""
    if text:
        emit(TextStreamed(node=GENERATE_RESPONSE, text=text).model_dump(mode="json"))
