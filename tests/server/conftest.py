"""Real servers on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from scripted_server import Script, Served, Services, running

from loopwright.retrieval.stores import open_store
from loopwright.server import create_app


@pytest.fixture
def serve_script() -> Iterator[Callable[..., Served]]:
    """Starts servers with a scripted chat; the keywords are those of `create_app`."""
    with ExitStack() as exits:

        def start(*, services: Any = None, chat: Any = None, **options: Any) -> Served:
            played = Script()
            store = exits.enter_context(open_store("memory"))
            app = create_app(services or Services(store), chat=chat or played, **options)
            return Served(exits.enter_context(running(app)), app, played)

        yield start


@pytest.fixture
def served(serve_script) -> Served:
    """A server with a scripted chat and nothing else set."""
    return serve_script()


@pytest.fixture
async def client(served) -> Any:
    """A client of `served` that may hold many connections."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=served.url, timeout=30, limits=limits, trust_env=False) as made:
        yield made
