"""What can go wrong with a database, and what to do then."""

import sqlite3

from sqlalchemy.exc import DBAPIError, TimeoutError

from loopwright.database.sqlite_failures import explained_sqlite
from loopwright.errors import StoreError

# By the beginning of SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html
_POSTGRES_FIXES = {
    "22P05": "make the database anew with the encoding UTF8",
    "28": "check the user and the password in the address",
    "3D": "make the database first, with createdb",
    "42501": "give this user the rights to make and use the schema",
    "42P01": "give this user the rights to use the schema, if the table is there",
    "53100": "the disk of the server is full; nothing was changed: make room and try again",
    "53300": "the server has no free connection: try again later",
    "F0": "correct the options in the address",
}
# What a server says to whom it does not let in, where libpq tells no SQLSTATE; in another language it is "not reached".
_REFUSED = {
    "starting up": "57P03",
    "shutting down": "57P03",
    "recovery": "57P03",
    "too many": "53300",
    "connection slots": "53300",
    "authentication": "28P01",
    "pg_hba.conf": "28000",
    "role": "28000",
    "database": "3D000",
}
# So psycopg begins what libpq says of options with which it connects to nothing, unless it says one of the next.
_UNTRIED = "connection is bad: "
_TRIED = ("connection to server", "could not translate host name", "no error details")
# A connection that stood still in a transaction, 25P03, is gone; 25006: it leads to a server that takes no writes, and
# after a failover would for good.
_POSTGRES_LOST = ("08", "25006", "25P03", "57P")
_POSTGRES_TRANSIENT = (*_POSTGRES_LOST, "40", "53", "55P03", "57")


def explained(error: Exception, name: str) -> StoreError:
    """What to raise for what SQLAlchemy, a driver or the system did; transient where another attempt may succeed."""
    if isinstance(error, TimeoutError):
        return StoreError(f"{name} is busy: all its connections are in use; try again later", transient=True)
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, sqlite3.Error):
        return explained_sqlite(cause, name)
    code, message = _told(cause)
    if is_lost(error):
        return StoreError(
            f"{name} cannot be reached: {message}; check that the server runs and the address is right", transient=True
        )
    fix = next((f": {fix}" for prefix, fix in _POSTGRES_FIXES.items() if code.startswith(prefix)), "")
    return StoreError(f"{name} failed: {message}{fix}", transient=code.startswith(_POSTGRES_TRANSIENT))


def is_lost(error: Exception) -> bool:
    """Whether the connection is of no more use, by what SQLAlchemy, a driver or the system raised."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, sqlite3.Error):
        return False
    code, _message = _told(cause)
    # What PostgreSQL did not say, the driver or the system said of the connection.
    return code.startswith(_POSTGRES_LOST) if code else isinstance(error, (DBAPIError, OSError))


def _told(error: BaseException | None) -> tuple[str, str]:
    """The SQLSTATE of an error of PostgreSQL and its message; of a refused connection libpq tells the message alone."""
    diagnosis = getattr(error, "diag", None)
    last = str(error).partition("\nMultiple connection attempts failed.")[0]  # of several hosts
    message = " ".join((getattr(diagnosis, "message_primary", None) or last).split())
    code = getattr(error, "sqlstate", None) or ""
    if not code and "FATAL:" in message:
        message = message.rpartition("FATAL:")[2].strip()
        code = next((code for said, code in _REFUSED.items() if said in message), "")
    elif not code and message.startswith(_UNTRIED) and not any(each in message for each in _TRIED):
        code, message = "F0000", message.removeprefix(_UNTRIED)
    return code, message
