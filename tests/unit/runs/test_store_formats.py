"""A history that another version of Loopwright made: recognised, told in words, and never changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from run_histories import a_run, shown

from loopwright.errors import StoreError
from loopwright.runs.states import checkpoints
from loopwright.runs.store import KeptEvent, NewEvents, open_runs


def changed(path: Path, *statements: str) -> bytes:
    """A history in which something was changed, as bytes."""
    open_runs(f"sqlite:{path}").close()
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (["UPDATE run_history SET format = 7"], "has the format 7, .* reads the format 4; .*: update Loopwright,"),
        (["UPDATE run_history SET format = 0"], "has the format 0, .*: use the version of Loopwright that made it,"),
        (["DELETE FROM run_history"], "has the format none, .*: use the version of Loopwright that made it,"),
        (["INSERT INTO run_history VALUES (5)"], "has the format 4, 5, .*: update Loopwright,"),
    ],
)
def test_a_history_of_another_format_is_refused_with_what_to_do_and_not_touched(tmp_path, statements, told):
    path = tmp_path / "runs.db"
    before = changed(path, *statements)
    with pytest.raises(StoreError, match=f"(?s)runs.db .*{told}") as caught:
        open_runs(f"sqlite:{path}")
    assert "it was not touched" in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("data", ['{"type": "of_later"}', '{"type": "state"}', "{", "[]"])
def test_an_event_of_another_version_is_named(tmp_path, data):
    with closing(open_runs(f"sqlite:{tmp_path / 'runs.db'}")) as store:
        store.create(a_run("r1"), shown())
        store.write([], [NewEvents("r1", "run", [KeptEvent(1, "state", data)])])
        with pytest.raises(
            StoreError, match=r"event 1 \(state\) of run r1 is damaged, or of another version .* delete"
        ):
            checkpoints(store, "r1")
