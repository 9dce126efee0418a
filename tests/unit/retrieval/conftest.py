"""A search engine on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from search_server import SearchServer, searching


@pytest.fixture
def server() -> Iterator[SearchServer]:
    with searching() as started:
        yield started
