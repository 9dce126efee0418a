"""Texts and moments as both databases can keep them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Column, Integer, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

from loopwright.database import storable

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_EARLIEST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LATEST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND


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


KEY = BigInteger().with_variant(Integer(), "sqlite")
"""The type of a row's number; SQLite numbers rows by itself only if it is INTEGER."""


def text_column(name: str, *, primary_key: bool = False, nullable: bool = False, unique: bool = False) -> Column[str]:
    """A column of `StorableText`."""
    return Column(name, StorableText(), primary_key=primary_key, nullable=nullable, unique=unique or None)


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970 in UTC; a time without time zone is taken as UTC.

    What its zone puts outside the years 1 to 9999 of UTC is moved to their beginning or end.
    """
    since = ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND
    return min(max(since, _EARLIEST), _LATEST)


def moment(since: int) -> datetime:
    """The moment of so many microseconds since 1970, UTC."""
    return _EPOCH + since * _MICROSECOND
