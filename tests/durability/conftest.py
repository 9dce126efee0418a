"""Two warm processes that fork for each attempt of a run."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from crashing import Account, CrashingRun, ForkServer, account


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ForkServer, ...]]:
    folder = tmp_path_factory.mktemp("servers")
    started = tuple(ForkServer(seed, folder / f"errors-{seed}") for seed in (1, 2))
    yield started
    for server in started:
        server.close()


@pytest.fixture
def start(servers, tmp_path_factory) -> Callable[..., CrashingRun]:
    """Makes a run in a new folder."""
    return lambda **options: CrashingRun(servers, tmp_path_factory.mktemp("run"), **options)


@pytest.fixture(scope="session")
def uninterrupted(servers, tmp_path_factory) -> Callable[[str], tuple[dict[str, Any], Account]]:
    """Gives the result and the account of a graph that nobody kills; each graph is run once."""

    @cache
    def give(graph: str) -> tuple[dict[str, Any], Account]:
        run = CrashingRun(servers, tmp_path_factory.mktemp("uninterrupted"), graph=graph).finish()
        return run.result, account(run.log)

    return give


@pytest.fixture
def check(uninterrupted) -> Callable[[CrashingRun], Account]:
    """Asserts what holds of every run, however often it was killed."""

    def checked(run: CrashingRun) -> Account:
        expected, whole = uninterrupted(run.graph)
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
