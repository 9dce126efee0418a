"""The savers that ship keep the contract for savers, and a saver that loses something does not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from postgres import postgres_server, postgres_url  # noqa: F401

from loopwright.checkpoints import aopen_checkpointer, open_checkpointer
from loopwright.testing import CheckpointerContract


class TestMemory(CheckpointerContract):
    @pytest.fixture
    def saver(self) -> InMemorySaver:
        return InMemorySaver()


class TestJsonFiles(CheckpointerContract):
    @pytest.fixture
    def saver(self, tmp_path: Path) -> Iterator[Any]:
        with open_checkpointer(f"json:{tmp_path / 'runs'}") as saver:
            yield saver


class TestSqlite(CheckpointerContract):
    @pytest.fixture
    def saver(self, tmp_path: Path) -> Iterator[Any]:
        with open_checkpointer(f"sqlite:{tmp_path / 'runs.db'}") as saver:
            yield saver

    @pytest.fixture
    def open_async_saver(self, tmp_path: Path) -> Callable[[], AbstractAsyncContextManager[Any]]:
        return lambda: aopen_checkpointer(f"sqlite:{tmp_path / 'runs.db'}")


class TestPostgres(CheckpointerContract):
    @pytest.fixture
    def saver(self, postgres_url: str) -> Iterator[Any]:  # noqa: F811
        with open_checkpointer(postgres_url) as saver:
            yield saver

    @pytest.fixture
    def open_async_saver(self, postgres_url: str) -> Callable[[], AbstractAsyncContextManager[Any]]:  # noqa: F811
        return lambda: aopen_checkpointer(postgres_url)


class Forgetful(InMemorySaver):
    """Loses what finished in a superstep that did not end."""

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        return

    async def aput_writes(self, *args: Any, **kwargs: Any) -> None:
        return


class Mixing(InMemorySaver):
    """Keeps all threads in one."""

    def _one(self, config: Any) -> Any:
        return {**config, "configurable": {**config["configurable"], "thread_id": "all"}}

    def get_tuple(self, config: Any) -> Any:
        return super().get_tuple(self._one(config))

    def list(self, config: Any, **options: Any) -> Iterator[Any]:
        return super().list(self._one(config), **options)

    async def alist(self, config: Any, **options: Any) -> AsyncIterator[Any]:
        for item in self.list(config, **options):
            yield item

    def put(self, config: Any, *args: Any) -> Any:
        return super().put(self._one(config), *args)

    def put_writes(self, config: Any, *args: Any, **kwargs: Any) -> None:
        super().put_writes(self._one(config), *args, **kwargs)


@pytest.mark.parametrize(
    ("saver", "broken"),
    [
        (Forgetful, {"test_what_finished_beside_a_failure_does_not_run_again", "test_an_interrupt_waits_for_its_answer"}),
        (Mixing, {"test_threads_are_apart"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_saver_that_breaks_the_contract_fails_the_suite(saver, broken, way):
    failed = set()
    for name in [name for name in dir(CheckpointerContract) if name.startswith("test_")]:
        if _fails(name, saver(), way):
            failed.add(name)
    assert failed == broken


def _fails(name: str, saver: Any, way: str) -> bool:
    class Request:
        param = way

        def getfixturevalue(self, name: str) -> Any:
            return saver if name == "saver" else CheckpointerContract.open_async_saver.__wrapped__(None, saver)

    suite = CheckpointerContract()
    play = CheckpointerContract.play.__wrapped__(suite, Request())
    try:
        getattr(suite, name)(play)
    except (AssertionError, KeyError, ValueError):
        return True
    return False
