"""What is particular to checkpoints in PostgreSQL: what JSON would change, lost connections, and one schema for many."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypedDict

import psycopg
import pytest
import shapes
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import END
from postgres import END_OTHERS, beside, postgres_server, postgres_url  # noqa: F401
from shapes import HERE

from loopwright.checkpoints import aopen_checkpointer, open_checkpointer
from loopwright.checkpoints.postgres import SCHEMA, prepared
from loopwright.errors import CheckpointError


class State(TypedDict, total=False):
    n: int
    value: Any
    text: str


def stored(url: str) -> int:
    """The bytes of all rows."""
    tables = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
    query = "SELECT " + " + ".join(f"(SELECT coalesce(sum(pg_column_size(t)), 0) FROM {name} t)" for name in tables)
    with beside(url) as connection:
        return connection.execute(query).fetchone()[0]


def test_a_long_text_that_does_not_change_is_kept_once(postgres_url: str) -> None:  # noqa: F811
    text = "".join(chr(0x4E00 + number * 7 % 20_000) for number in range(60_000))  # 180 kB, which nothing makes small
    again = {"step": lambda state: END if state["n"] >= 20 else "step"}
    builder = shapes.graph("START-step step?step step?END", State, again, step=lambda state: {"n": state["n"] + 1})
    with open_checkpointer(postgres_url) as saver:
        app = builder.compile(checkpointer=saver)
        app.invoke({"n": 0, "text": text}, HERE, durability="sync")
        assert [item.values["text"] == text for item in app.get_state_history(HERE) if item.values] == [True] * 21
    assert stored(postgres_url) < 4 * 180_000  # the input, its write, the value; LangGraph's saver alone: 22 times


def test_a_thread_of_langgraphs_own_saver_goes_on(postgres_url: str) -> None:  # noqa: F811
    address = prepared(postgres_url)
    made = shapes.graph("START-first first-then", State, first=lambda _: {"n": 1}, then=lambda _: {"n": 2})
    place = {**address.libpq(), "options": f"-c search_path={address.schema}"}
    with PostgresSaver.from_conn_string(
        psycopg.conninfo.make_conninfo(**{k: v for k, v in place.items() if v is not None})
    ) as plain:
        app = made.compile(checkpointer=plain, interrupt_before=["then"])
        app.invoke({"n": 0, "text": "x" * 5000, "value": 1.5}, HERE, durability="sync")
    with open_checkpointer(postgres_url) as saver:
        app = made.compile(checkpointer=saver)
        app.invoke(None, HERE, durability="sync")
        assert app.get_state(HERE).values == {"n": 2, "text": "x" * 5000, "value": 1.5}
        assert [item.values["text"] for item in app.get_state_history(HERE) if item.values] == ["x" * 5000] * 3


async def test_connections_lost_between_two_steps_are_made_anew(postgres_url: str) -> None:  # noqa: F811
    def cut(state: State) -> State:
        with beside(postgres_url) as admin:
            admin.execute(END_OTHERS)  # as a restart of the server does
        return {"n": state["n"] + 1, "value": [state["n"]] * 5000}

    made = shapes.graph("START-first first-then", State, first=cut, then=cut)
    with open_checkpointer(postgres_url) as saver:
        assert made.compile(checkpointer=saver).invoke({"n": 0}, HERE, durability="sync")["n"] == 2
    async with aopen_checkpointer(postgres_url) as saver:
        assert (await made.compile(checkpointer=saver).ainvoke({"n": 0}, HERE, durability="sync"))["n"] == 2


def test_many_open_a_new_schema_at_once(postgres_url: str) -> None:  # noqa: F811
    made = shapes.graph("START-work", State, work=lambda _: {"value": ["same"] * 3000})

    def work(number: int) -> None:
        with open_checkpointer(postgres_url) as saver:
            made.compile(checkpointer=saver).invoke({"n": 0}, {"configurable": {"thread_id": str(number)}})

    with ThreadPoolExecutor(6) as threads:
        assert [*threads.map(work, range(6))] == [None] * 6
    with open_checkpointer(postgres_url) as saver:
        assert len({item.config["configurable"]["thread_id"] for item in saver.list(None)}) == 6


@pytest.mark.parametrize("url", ["postgresql://me:hunter2@127.0.0.1:1/base", "postgres://me:hunter2@[::1]:1/base"])
async def test_a_server_that_is_not_there_is_named_without_the_password(url: str) -> None:
    with pytest.raises(CheckpointError, match=f"checkpoint store in schema {SCHEMA} of base at") as caught:
        async with aopen_checkpointer(url):
            pass
    assert "hunter2" not in str(caught.value)
