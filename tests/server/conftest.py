"""Real servers on loopback."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from scripted_server import Script, Served, Services, running
from served_graphs import GRAPHS

from loopwright.cli.serve import opened
from loopwright.retrieval.stores import open_store
from loopwright.runs.hub import RunHub
from loopwright.runs.schemas import RunLimits
from loopwright.runs.store import open_runs
from loopwright.server import ServerSettings, create_app
from loopwright.server.metrics import Metrics
from loopwright.server.uploads import Uploads


def starting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Served]]:
    """Starts servers with a scripted assistant, and other workflows; the other keywords are those of `create_app`."""
    with ExitStack() as exits:

        def start(*, services=None, limits=None, workflows=(), settings=None, **options: Any) -> Served:
            counted, data = Metrics(), tmp_path_factory.mktemp("served")
            settings = ServerSettings(data=data, **(settings or {}))
            store = exits.enter_context(closing(open_runs(f"sqlite:{data / 'runs.db'}")))
            store.told = counted.kept
            script = Script(services or Services(exits.enter_context(open_store("memory"))))
            hub = RunHub(store, [script, *workflows], InMemorySaver(), limits or RunLimits(), uploads=Uploads(settings))
            app = create_app(hub, settings=settings, counted=counted, **options)
            return Served(exits.enter_context(running(app)), app, script)

        yield start


serve_script = pytest.fixture(starting)
serve_in_module = pytest.fixture(starting, scope="module")
"""They last as long as the module."""


@pytest.fixture(scope="module")
def page(serve_in_module, tmp_path_factory) -> Iterator[httpx.Client]:
    """A server of the graphs that a ``langgraph.json`` names, as a client of the page sees it."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "graphs.py").write_text(GRAPHS)
    names = {"chat": "./graphs.py:chat", "drafts": {"path": "./graphs.py:drafts"}, "asking": "graphs:asking"}
    (folder / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": names}))
    url = serve_in_module(workflows=opened(ExitStack(), [f"{folder}/langgraph.json"], None)).url
    with httpx.Client(base_url=url, timeout=120, trust_env=False) as client:
        yield client


@pytest.fixture
def served(serve_script) -> Served:
    """A server with a scripted assistant and nothing else set."""
    return serve_script()


@pytest.fixture
async def client(served) -> Any:
    """A client of `served` that may hold many connections."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=served.url, timeout=60, limits=limits, trust_env=False) as made:
        yield made
