"""No test reaches a real model unless it says so, and none leaves its log levels to its neighbours; long files first."""

import gc
import logging
import os
import ssl
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from loopwright.models import allow_model_requests

# Tests run in as many processes as there are cores: threads of one that wait for work would only take time from others.
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")
# A client of HTTP reads all certificates of the world when it is made; nothing here speaks to a server that has one.
ssl.create_default_context = cache(ssl.create_default_context)

# No test is timed: a loaded machine is no fault. Every run tries the same examples; `./test --all` others, by a seed
# that it prints.
settings.register_profile("every_run", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("all", deadline=None, print_blob=True)
settings.load_profile("every_run")

TESTS = Path(__file__).parent
LONGEST = (
    "durability/test_kills.py",
    "browser/test_devtools.py",
    "durability/test_hosts.py",
    "server/test_server_line.py",
    "unit/langchain/test_agent_limits.py",
    "acceptance/test_reflect_and_replan_wiring.py",
    "meta/test_your_own_workflow.py",
    "durability/test_batch_kills.py",
    "meta/test_documents.py",
    "contract/test_allowances.py",
    "cli/test_mcp.py",
    "durability/test_time_travel.py",
)
"""The files that take a quarter of a minute or more, the longest first."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collects garbage not while collecting tests, and never looks again at what that made: it stays to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves soaks and the later cases of a matrix to ``./test --all``, and puts the longest files first.

    The last file of a run is one for which the other processes wait.
    """
    seen: Counter[str] = Counter()
    for item in items:
        if item.get_closest_marker("soak"):
            item.add_marker(pytest.mark.slow)
        if matrix := item.get_closest_marker("matrix"):
            case = item.nodeid.partition("[")[0]
            seen[case] += 1
            if seen[case] > (matrix.args[0] if matrix.args else 1):
                item.add_marker(pytest.mark.slow)
    places = {TESTS / file: place for place, file in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Names what failed as it fails: a run of an hour that is cut off has told it."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\nFAILED {report.nodeid} ({report.when}, {report.duration:.0f} s)", file=sys.stderr, flush=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--graphs", type=int, default=500, help="random graphs for each soak; ./test --soak takes 10,000")


@pytest.fixture
def soak(
    pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> Callable[[Callable[[int], Any]], list[Any]]:
    """Runs something for as many seeds as ``--graphs`` says, on all cores, and says so; the examples of every run lie before."""
    count = pytestconfig.getoption("graphs")

    def run(work: Callable[[int], Any]) -> list[Any]:
        with ProcessPoolExecutor() as pool:
            found = [*pool.map(work, range(1_000, 1_000 + count), chunksize=20)]
        with capsys.disabled():
            print(f"\n{work.__module__}: {len(found)} random graphs")
        return found

    return run


@pytest.fixture(autouse=True)
def block_model_requests() -> Iterator[None]:
    with allow_model_requests(False):
        yield


@pytest.fixture(autouse=True)
def only_models_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies on this machine changes no test: ``auto`` finds nothing."""
    monkeypatch.setattr("loopwright.models.embedded.resolving.first_here", lambda *_: None)


@pytest.fixture(autouse=True)
def keep_log_levels() -> Iterator[None]:
    """Puts every log level and handler back: a command run in this process sets them for the whole process."""
    root = logging.getLogger()
    handlers = list(root.handlers)
    levels = {logger: logger.level for logger in _loggers()}
    yield
    root.handlers[:] = handlers
    for logger in _loggers():
        logger.setLevel(levels.get(logger, logging.NOTSET))


def _loggers() -> list[logging.Logger]:
    """The root logger and all of this package's that exist by now."""
    known = [logger for name, logger in logging.Logger.manager.loggerDict.items() if name.startswith("loopwright")]
    return [logging.getLogger(), *(logger for logger in known if isinstance(logger, logging.Logger))]
