"""One contract for every knowledge store."""

from collections.abc import Callable
from pathlib import Path

import pytest
from postgres import postgres_server, postgres_url  # noqa: F401
from store_contract import StoreContract

from loopwright.retrieval.stores import KnowledgeStore, open_store


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def open(self, tmp_path: Path) -> Callable[[], KnowledgeStore]:
        return lambda: open_store(f"sqlite:{tmp_path / 'knowledge.db'}")


@pytest.mark.slow  # the code is that of the file
class TestStoreInMemory(StoreContract):
    shared = False

    @pytest.fixture
    def open(self) -> Callable[[], KnowledgeStore]:
        return lambda: open_store("memory")


class TestPostgresStore(StoreContract):
    @pytest.fixture
    def open(self, postgres_url: str) -> Callable[[], KnowledgeStore]:  # noqa: F811
        return lambda: open_store(postgres_url)
