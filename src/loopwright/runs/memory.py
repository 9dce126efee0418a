"""What served graphs remember from run to run: a store of LangGraph's, for those that were compiled without one."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from langgraph.store.base import BaseStore

from loopwright.postgres import PostgresAddress, is_postgres
from loopwright.workflows.api import Workflow
from loopwright.workflows.user_graph import UserGraph


@asynccontextmanager
async def remembering(workflows: Iterable[Workflow[Any]], place: str) -> AsyncGenerator[None]:
    """Give graphs a store, in a file or beside the checkpoints of an address in PostgreSQL, as long as they are run."""
    async with AsyncExitStack() as exits:
        if graphs := [each for each in workflows if isinstance(each, UserGraph)]:
            if is_postgres(place):
                store: BaseStore = await asyncio.to_thread(_in_postgres, place, exits)
            else:
                from langgraph.store.sqlite import AsyncSqliteStore

                store = await exits.enter_async_context(AsyncSqliteStore.from_conn_string(place))
                await store.setup()
            for each in graphs:
                each.store = store
        yield


def _in_postgres(url: str, exits: AsyncExitStack) -> BaseStore:
    from langgraph.store.postgres import PostgresStore

    from loopwright.checkpoints.postgres import SCHEMA, connected, is_made, make_tables, pool_at

    address = PostgresAddress.parse(url, schema=SCHEMA, holds="a checkpoint store")
    with connected(address) as connection:
        if not is_made(connection, address, "store_migrations", PostgresStore):
            make_tables(connection, address, PostgresStore(connection).setup)
    pool: Any = exits.enter_context(pool_at(address))
    return PostgresStore(pool)
