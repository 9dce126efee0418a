"""The facets of each kind of record, as ``data/facets.yaml`` declares them."""

from __future__ import annotations

from functools import cache
from importlib import resources

import yaml
from pydantic import Field, TypeAdapter

from loopwright.workflows.assistant.schemas import Frozen, Table


class Facet(Frozen):
    """One aspect of a kind of record."""

    key: str
    """Names it in `Record.texts`."""
    weight: float = Field(gt=0, le=1)
    """How much a likeness in it says."""
    with_title: bool = False
    """Whether its text is embedded together with the record's title."""
    description: str
    """What it holds."""


def facets_of(table: Table) -> tuple[Facet, ...]:
    """The facets of a table's records, in the order in which they are told.

    Args:
        table: The table.
    """
    return _facets()[table]


def facet_of(table: Table, key: str) -> Facet | None:
    """One facet, or None if the table has none of this key.

    Args:
        table: The table.
        key: The facet's key.
    """
    return _by_key().get((table, key))


@cache
def _facets() -> dict[Table, tuple[Facet, ...]]:
    text = (resources.files("loopwright.workflows.assistant") / "data" / "facets.yaml").read_text(encoding="utf-8")
    return TypeAdapter(dict[Table, tuple[Facet, ...]]).validate_python(yaml.safe_load(text))


@cache
def _by_key() -> dict[tuple[Table, str], Facet]:
    return {(table, facet.key): facet for table, facets in _facets().items() for facet in facets}
