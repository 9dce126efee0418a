"""Two warm processes that fork for each attempt of a run."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from crashing import Account, CrashingRun, ForkServer, account

Start = Callable[..., CrashingRun]


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ForkServer, ...]]:
    folder = tmp_path_factory.mktemp("servers")
    started = tuple(ForkServer(seed, folder / f"errors-{seed}") for seed in (1, 2))
    yield started
    for server in started:
        server.close()


@pytest.fixture
def start(servers: tuple[ForkServer, ...], tmp_path_factory: pytest.TempPathFactory) -> Start:
    """Makes a run in a new folder."""
    return lambda **options: CrashingRun(servers, tmp_path_factory.mktemp("run"), **options)


@pytest.fixture(scope="session")
def uninterrupted(
    servers: tuple[ForkServer, ...], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., tuple[dict[str, Any], Account]]:
    """Gives the result and the account of a graph that nobody kills; each graph is run once."""
    known: dict[str, tuple[dict[str, Any], Account]] = {}

    def give(graph: str, input: dict[str, Any]) -> tuple[dict[str, Any], Account]:
        if graph not in known:
            folder: Path = tmp_path_factory.mktemp("uninterrupted")
            run = CrashingRun(servers, folder, graph=graph, input=input).finish()
            known[graph] = (run.result, account(run.log))
        return known[graph]

    return give


@pytest.fixture
def check(uninterrupted: Callable[..., tuple[dict[str, Any], Account]]) -> Callable[[CrashingRun], Account]:
    """Asserts what holds of every run, however often it was killed."""

    def checked(run: CrashingRun) -> Account:
        expected, whole = uninterrupted(run.graph, run.input)
        found = account(run.log)
        assert found.wrong == ()
        assert found.most_again <= 3  # the width of the widest superstep
        assert found.runs == whole.runs
        assert run.result == expected
        most = run.result["certificate"]["max_runs_by_node"]
        assert all(most[node] is None or runs <= most[node] for node, runs in found.runs.items())
        assert found.supersteps <= run.result["certificate"]["max_supersteps"]
        return found

    return checked
