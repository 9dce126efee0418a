"""What can go wrong with a file of SQLite, and what to do then; needs nothing that is not Python's."""

import sqlite3

from loopwright.errors import StoreError

_SQLITE_FIXES = {
    sqlite3.SQLITE_FULL: "the disk is full; nothing was changed: make room and try again",
    sqlite3.SQLITE_READONLY: "it may not be written to; nothing was changed: check the permissions of file and folder",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check that its folder exists and may be read and written",
    sqlite3.SQLITE_NOTADB: "it is no SQLite database, and was not touched: give another path",
    sqlite3.SQLITE_CORRUPT: "the database is damaged: move the file away to begin a new one",
    sqlite3.SQLITE_IOERR: "reading or writing failed; nothing was changed: check the disk",
}


def explained_sqlite(error: sqlite3.Error, name: str) -> StoreError:
    """What to raise for what SQLite did, of a file by its name; transient where another attempt may succeed."""
    primary = getattr(error, "sqlite_errorcode", 0) & 0xFF  # what Python itself refuses has no code
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreError(f"{name} is locked: another process writes to it; try again later", transient=True)
    fix = _SQLITE_FIXES.get(primary)
    return StoreError(
        f"{name}: {fix} ({error})" if fix else f"{name}: {error}", transient=primary == sqlite3.SQLITE_FULL
    )
