"""How every connection to PostgreSQL begins, and databases that are not as one would wish: poolers, encodings, rights."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from socket import socketpair
from unittest.mock import Mock

import pytest
from postgres import beside, postgres_server, postgres_url  # noqa: F401
from run_histories import a_run, shown
from store_contract import contribution

from loopwright.checkpoints import open_checkpointer
from loopwright.errors import ConfigError, StoreError
from loopwright.postgres import STANDSTILL, PostgresAddress, with_schema
from loopwright.retrieval import stores
from loopwright.retrieval.stores import open_store
from loopwright.runs.jobs.protocol import Served
from loopwright.runs.jobs.shared import ProcrastinateJobs
from loopwright.runs.store import open_runs
from loopwright.workflows.assistant.config import AssistantConfig
from loopwright.workflows.assistant.services import Services as AssistantServices
from loopwright.workflows.rag.config import RAGConfig
from loopwright.workflows.rag.services import Services as RagServices

BEGUN = (
    "SELECT current_setting('search_path') AS a, current_setting('idle_in_transaction_session_timeout') AS b, "
    "current_setting('client_encoding') AS c"
)
SERVED = Served(queues=("walk",), cancel=lambda _: None, changed=lambda _: None)


def schema_of(url: str) -> str:
    return PostgresAddress.parse(url, schema="loopwright", holds="").schema


@pytest.fixture
def database(postgres_url: str) -> Callable[[str], str]:  # noqa: F811
    """Makes a database, and gives the address of a schema in it."""

    def make(how: str) -> str:
        name = f"of_{schema_of(postgres_url)}"
        with beside(postgres_url) as admin:
            admin.execute(f"CREATE DATABASE {name} TEMPLATE template0 {how}")
        return postgres_url.replace("/postgres?", f"/{name}?")

    return make


async def test_every_connection_begins_with_its_schema_and_none_with_options(postgres_url: str) -> None:  # noqa: F811
    """PgBouncer refuses startup options, or drops them; what is set afterwards it hands on."""
    schema, urls = schema_of(postgres_url), [with_schema(postgres_url, "", what) for what in ("store", "saver", "jobs")]
    assert "options" not in PostgresAddress.parse(postgres_url, schema="", holds="").libpq()
    with closing(open_runs(postgres_url)) as runs, runs._database.reading() as connection:
        assert [*connection.exec_driver_sql(BEGUN).one()] == [schema, f"{STANDSTILL // 1000}s", "UTF8"]
    with open_store(urls[0]) as store, store._database.writing() as connection:
        assert [*connection.exec_driver_sql(BEGUN).one()] == [f"{schema}_store, public, extensions", "1min", "UTF8"]
    with open_checkpointer(urls[1]) as saver, saver._cursor() as cursor:  # type: ignore[attr-defined]
        assert [*cursor.execute(BEGUN).fetchone().values()] == [f"{schema}_saver", "3s", "UTF8"]
    jobs = ProcrastinateJobs(urls[2], "told", 1)
    await jobs.open(SERVED)
    assert [*(await jobs._connector.execute_query_one_async(BEGUN)).values()] == [f"{schema}_jobs", "3s", "UTF8"]
    async with jobs._connector._get_standalone_connection() as connection:
        assert await (await connection.execute(BEGUN)).fetchone() == (f"{schema}_jobs", "3s", "UTF8")
    await jobs.close()


@pytest.mark.parametrize("mode", ["session", "transaction", "none left"])
def test_a_pooler_that_lends_sessions_out_is_refused(postgres_url: str, mode: str, monkeypatch) -> None:  # noqa: F811
    monkeypatch.setattr("loopwright.postgres._PATIENCE", 0.1 if mode == "none left" else 20)
    address = PostgresAddress.parse(f"postgresql://{mode.split()[0]}@pooler/all", schema="s", holds="a thing")
    told = pytest.raises(ConfigError, match="mode, which keeps nothing") if mode == "transaction" else nullcontext()
    with beside(postgres_url) as one, beside(postgres_url) as other, beside(postgres_url) as third:
        pooled, (silent, _end) = Mock(wraps=one, info=Mock(backend_pid=-1)), socketpair()
        waiting = Mock(wraps=third, pgconn=Mock(socket=silent.fileno()))
        found = {"session": other, "transaction": one, "none left": waiting}[mode]
        type(pooled).connect = staticmethod(lambda **_how: found)
        with told:
            address.configure(pooled)


def test_every_text_is_kept_whatever_the_encodings(database: Callable[[str], str], monkeypatch) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    url = database("ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'")
    with open_store(url) as store, closing(open_runs(with_schema(url, "", "runs"))) as runs:
        store.put([contribution("ก.md", "ข้อความ 資料 ü")])
        assert store.passages(["ก.md::0"])[0].text == "ข้อความ 資料 ü"
        runs.create(a_run("r1", title="คำถาม"), shown())
        assert runs.get("r1").title == "คำถาม"


def test_a_database_that_cannot_keep_a_text_says_what_to_do(database: Callable[[str], str]) -> None:
    with open_store(database("ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")) as store:
        with pytest.raises(StoreError, match="make the database anew with the encoding UTF8"):
            store.put([contribution("b", "ข้อความ")])


async def test_who_may_make_no_schemas_uses_those_that_are_there(postgres_url: str) -> None:  # noqa: F811
    schema = schema_of(postgres_url)
    given = postgres_url.replace("//postgres:@", f"//owner_{schema}:@")
    urls = [with_schema(given, "", what) for what in ("store", "runs", "saver", "jobs")]
    with beside(postgres_url) as admin:
        admin.execute(f"CREATE ROLE owner_{schema} LOGIN")
        admin.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        for url in urls:
            admin.execute(f"CREATE SCHEMA {schema_of(url)} AUTHORIZATION owner_{schema}")
    with open_store(urls[0]) as store:
        store.put([contribution("a", "word")])
    open_runs(urls[1]).close()
    with open_checkpointer(urls[2]) as saver:
        assert [*saver.list(None)] == []
    jobs = ProcrastinateJobs(urls[3], "told", 1)
    await jobs.open(SERVED)
    await jobs.close()


def test_a_store_that_is_to_be_there_is_not_made(postgres_url: str) -> None:  # noqa: F811
    schema = schema_of(postgres_url)
    with pytest.raises(StoreError, match=f"there is no knowledge store in schema {schema} of .*: ingest documents"):
        open_store(postgres_url, create=False)
    with beside(postgres_url) as admin:
        assert admin.execute("SELECT to_regnamespace(%s)", [schema]).fetchone() == (None,)
    open_store(postgres_url).close()
    open_store(postgres_url, create=False).close()


def test_pgvector_in_a_schema_where_nobody_looks(database: Callable[[str], str]) -> None:
    url = database("")
    with beside(url) as admin:
        admin.execute("CREATE SCHEMA elsewhere")
        admin.execute("CREATE EXTENSION vector SCHEMA elsewhere")
        with pytest.raises(StoreError, match=r"in the schema elsewhere, .*: ALTER EXTENSION vector SET SCHEMA public"):
            open_store(url)
        admin.execute("ALTER EXTENSION vector SET SCHEMA public")
    open_store(url).close()


def test_who_stands_still_while_writing_locks_nobody_out_for_long(postgres_url: str, monkeypatch) -> None:  # noqa: F811
    monkeypatch.setattr(stores, "_STANDSTILL", 300)
    with open_store(postgres_url) as one, open_store(postgres_url) as other, ThreadPoolExecutor(1) as threads:
        with pytest.raises(StoreError, match="cannot be reached") as caught, one._writing() as connection:
            threads.submit(other.put, [contribution("b", "word")]).result(30)
            connection.exec_driver_sql("SELECT 1")
        assert caught.value.transient
        one.put([contribution("a", "word")])
        assert [*other.digests()] == ["a", "b"]


def test_two_workflows_in_one_database_have_two_stores(monkeypatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("loopwright.workflows.stored.open_store", lambda *_, schema, **__: opened.append(schema))
    for made in (RagServices.of(RAGConfig()), AssistantServices.of(AssistantConfig())):
        monkeypatch.setattr(made.opened, "entered", lambda _name, make: make())
        assert made.store is None
    assert opened == ["loopwright", "loopwright_assistant"]
