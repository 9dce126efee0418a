"""``loopwright checkpoints``: what has been saved of runs, and tidying it up."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loopwright.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(help="List saved runs, and tidy them up.", no_args_is_help=True)

Spec = Annotated[str, typer.Argument(metavar="SPEC", help="Where they are: json:DIR, sqlite:FILE or postgresql://...")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@app.command("list")
def list_threads(spec: Spec, as_json: AsJson = False) -> None:
    """List the runs, the one that was saved last first."""
    from loopwright.checkpoints.encoding import showable
    from loopwright.checkpoints.history import summaries, without_engine_nodes
    from loopwright.checkpoints.opening import open_archive

    with open_archive(spec) as archive:
        threads = summaries(archive)
    if as_json:
        print(json.dumps([showable(asdict(thread)) for thread in threads], indent=2, ensure_ascii=False))
        return
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("thread", "status", "step", "next", "loops", "stopped by", "saved", "checkpoints"):
        table.add_column(heading, no_wrap=True)
    for thread in threads:
        table.add_row(
            _escaped(thread.id), thread.status, str(thread.step),
            _escaped(", ".join(without_engine_nodes(thread.next))),
            _escaped(_loops(thread.loops)), _escaped(_stop(thread.stop_reason)),
            thread.time[:19].replace("T", " "), str(thread.checkpoints),
        )  # fmt: skip
    _console(wide=True).print(table if threads else "no runs")


@app.command()
def prune(
    spec: Spec,
    older_than: Annotated[str, typer.Option("--older-than", metavar="AGE", help="Not saved since, like 12h or 30d.")],
    thread: Annotated[str | None, typer.Option("--thread", help="Only this run.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only say what would go.")] = False,
) -> None:
    """Delete old runs."""
    from loopwright.checkpoints.history import find_thread, summaries
    from loopwright.checkpoints.opening import open_archive

    oldest = _moment(older_than)
    console = _console()
    with open_archive(spec) as archive:
        if thread is not None:
            find_thread(archive, thread)
        old = [one for one in summaries(archive) if one.when < oldest and thread in (None, one.id)]
        for one in old:
            console.print(f"{one.id} ({one.status})", markup=False)
            if yes:
                archive.delete_thread(one.id)
        if yes:
            archive.compact()
    done = f"deleted: {len(old)} runs" if yes else "nothing was deleted; do it with --yes"
    console.print(done if old else "nothing to delete")


def _moment(text: str) -> datetime:
    """The time that was so long ago."""
    match = re.fullmatch(r"(\d+)([smhdw])", text.strip())
    if not match:
        raise InputError(f"--older-than is {text!r}: give a number and a unit (s, m, h, d, w), for example 30d.")
    try:
        return datetime.now(UTC) - timedelta(**{_UNITS[match[2]]: int(match[1])})
    except OverflowError:
        raise InputError(f"--older-than is {text!r}, which is longer than there is time.") from None


def _loops(ledger: dict[str, Any]) -> str:
    """What each loop has spent of its limit, like ``again 2/3``."""
    return ", ".join(f"{name} {spend.get('spent')}/{spend.get('limit')}" for name, spend in ledger.items())


def _stop(reason: Any) -> str:
    """Which bounds were reached."""
    reasons: list[dict[str, Any]] = reason if isinstance(reason, list) else [reason] if reason else []
    return ", ".join(f"{item.get('loop')} {item.get('outcome')}" for item in reasons)


def _console(*, wide: bool = False) -> Console:
    import sys

    from rich.console import Console

    # A table that goes into a pipe or file keeps all of its text.
    return Console(highlight=False, soft_wrap=True, width=10_000 if wide and not sys.stdout.isatty() else None)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
