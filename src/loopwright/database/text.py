"""Text as both databases can keep it."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """A text that both databases take: U+FFFD instead of NUL and lone surrogates."""
    # Nearly every text is ASCII, and finding that out takes a hundredth of the time.
    return text if text.isascii() and "\x00" not in text else _UNSTORABLE.sub("\ufffd", text)


class StorableText(TypeDecorator[str]):
    """Text made `storable`, and ordered byte by byte in both databases."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The type of the column."""
        return dialect.type_descriptor(Text(collation="C" if dialect.name == "postgresql" else None))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """A value on its way into the database."""
        return None if value is None else storable(value)
