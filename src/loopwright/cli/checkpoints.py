"""``loopwright checkpoints``: what has been saved of runs, and tidying it up."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loopwright.errors import InputError

if TYPE_CHECKING:
    from langgraph.checkpoint.base import CheckpointTuple
    from rich.console import Console

app = typer.Typer(help="Look at saved runs, and tidy them up.", no_args_is_help=True)

Spec = Annotated[str, typer.Argument(metavar="SPEC", help="Where they are: json:DIR, sqlite:FILE or postgresql://...")]
Thread = Annotated[str, typer.Argument(metavar="THREAD", help="The run's thread.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LONGEST_TEXT = 300
_MOST_ITEMS = 10


@app.command("list")
def list_threads(spec: Spec, as_json: AsJson = False) -> None:
    """List the runs, the one that was saved last first."""
    from loopwright.checkpoints.archive import open_archive
    from loopwright.checkpoints.encoding import showable
    from loopwright.checkpoints.history import summaries, without_engine_nodes

    with open_archive(spec) as archive:
        threads = summaries(archive)
    if as_json:
        _print_json([showable(asdict(thread)) for thread in threads])
        return
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("thread", "status", "step", "ran", "next", "loops", "stopped by", "saved", "checkpoints", "size"):
        table.add_column(heading, no_wrap=True)
    for thread in threads:
        table.add_row(
            _escaped(thread.id), thread.status, str(thread.step),
            _escaped(", ".join(without_engine_nodes(thread.ran))),
            _escaped(", ".join(without_engine_nodes(thread.next))),
            _escaped(_loops(thread.loops)), _escaped(_stop(thread.stop_reason)),
            thread.time[:19].replace("T", " "), str(thread.checkpoints), _size(thread.bytes),
        )  # fmt: skip
    _console(wide=True).print(table if threads else "no runs")


@app.command()
def show(
    spec: Spec,
    thread: Thread,
    step: Annotated[int | None, typer.Option("--step", help="This step, not the last; the input is -1.")] = None,
    checkpoint: Annotated[
        str | None, typer.Option("--checkpoint", help="This checkpoint, by how its id begins.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Show long values whole.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the state of a run at a step, what comes next, and what was written already."""
    from loopwright.checkpoints.archive import open_archive
    from loopwright.checkpoints.history import find_checkpoint

    if step is not None and checkpoint is not None:
        raise InputError("--step and --checkpoint both name a checkpoint: give one of them.")
    with open_archive(spec) as archive:
        found = find_checkpoint(archive, thread, step=step, checkpoint_id=checkpoint)
        parent = archive.saver.get_tuple(found.parent_config) if found.parent_config else None
    described = _described(found, parent)
    if as_json:
        _print_json(described)
    else:
        _print_checkpoint(thread, described, full=full)


@app.command()
def diff(
    spec: Spec,
    thread: Thread,
    step_a: Annotated[int, typer.Argument(metavar="STEP_A")],
    step_b: Annotated[int, typer.Argument(metavar="STEP_B")],
    full: Annotated[bool, typer.Option("--full", help="Show long lines whole.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show which parts of the state differ between two steps, and how."""
    from loopwright.checkpoints.archive import open_archive
    from loopwright.checkpoints.differences import differences
    from loopwright.checkpoints.encoding import showable
    from loopwright.checkpoints.history import find_checkpoint, state_of

    with open_archive(spec) as archive:
        before, after = (showable(state_of(find_checkpoint(archive, thread, step=step))) for step in (step_a, step_b))
    changes = differences(before, after)
    if as_json:
        _print_json([asdict(change) for change in changes])
        return
    console = _console()
    for change in changes:
        console.print(f"{change.kind} {change.path}", markup=False)
        for line in change.lines:
            console.print(f"  {line if full else _cut(line)}", markup=False)
    if not changes:
        console.print(f"no difference between step {step_a} and step {step_b}")


@app.command()
def prune(
    spec: Spec,
    keep: Annotated[int | None, typer.Option("--keep", min=1, help="Keep so many checkpoints of each run.")] = None,
    older_than: Annotated[
        str | None, typer.Option("--older-than", metavar="AGE", help="Delete runs not saved since, like 12h or 30d.")
    ] = None,
    thread: Annotated[str | None, typer.Option("--thread", help="Only this run.")] = None,
    finished_only: Annotated[bool, typer.Option("--finished-only", help="Only runs that are finished.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only say what would go.")] = False,
) -> None:
    """Delete old checkpoints or old runs; what a run needs to go on stays with its newest checkpoint."""
    from loopwright.checkpoints.archive import open_archive
    from loopwright.checkpoints.history import find_thread
    from loopwright.checkpoints.pruning import plan
    from loopwright.checkpoints.pruning import prune as carry_out

    if keep is None and older_than is None:
        raise InputError("say what may go: --keep N (checkpoints of each run) or --older-than AGE (whole runs).")
    age = _age(older_than) if older_than is not None else None
    console = _console()
    with open_archive(spec) as archive:
        if thread is not None:
            find_thread(archive, thread)
        plans = plan(archive, keep=keep, older_than=age, thread_id=thread, finished_only=finished_only)
        for item in plans:
            what = "the whole run" if item.whole else f"{len(item.dropped)} checkpoints"
            console.print(f"{item.thread.id} ({item.thread.status}): {what}", markup=False)
        if not yes:
            console.print("nothing was deleted; do it with --yes" if plans else "nothing to delete")
            return
        done = carry_out(archive, plans)
    console.print(
        f"deleted: {done.threads} runs, {done.checkpoints} checkpoints of other runs, {done.values} pieces of large "
        f"values; {_size(done.bytes)} less on the disk"
    )
    if done.in_use:
        console.print(
            f"{done.in_use} pieces of large values are younger than five minutes and may be in use; "
            "a later prune takes them"
        )


def _age(text: str) -> timedelta:
    match = re.fullmatch(r"(\d+)([smhdw])", text.strip())
    if not match:
        raise InputError(f"--older-than is {text!r}: give a number and a unit (s, m, h, d, w), for example 30d.")
    try:
        return timedelta(**{_UNITS[match[2]]: int(match[1])})
    except OverflowError:
        raise InputError(f"--older-than is {text!r}, which is longer than there is time.") from None


def _described(found: CheckpointTuple, parent: CheckpointTuple | None) -> dict[str, Any]:
    """Everything about a checkpoint, ready for JSON."""
    from loopwright.checkpoints.encoding import showable
    from loopwright.checkpoints.history import ledger_of, next_nodes, nodes_run, state_of, status

    return {
        "checkpoint": found.checkpoint["id"],
        "parent": parent.checkpoint["id"] if parent else None,
        "time": found.checkpoint["ts"],
        "status": status(found),
        "metadata": showable(dict(found.metadata)),
        "ran": nodes_run(found, parent),
        "next": next_nodes(found),
        "loops": showable(ledger_of(found)),
        "state": showable(state_of(found)),
        "writes": [
            {"task": task, "channel": channel, "value": showable(value)}
            for task, channel, value in found.pending_writes or ()
        ],
    }


def _print_checkpoint(thread: str, described: dict[str, Any], *, full: bool) -> None:
    console = _console()
    metadata = described["metadata"]
    about = {
        "thread": thread,
        "step": f"{metadata.get('step')} ({metadata.get('source')})",
        "checkpoint": described["checkpoint"],
        "saved": described["time"],
        "status": described["status"],
        "ran": ", ".join(described["ran"]),
        "next": ", ".join(described["next"]),
        "loops": _loops(described["loops"]),
        **{key: value for key, value in metadata.items() if key not in ("step", "source", "parents")},
    }
    width = max(len(label) for label, value in about.items() if value)
    for label, value in about.items():
        if value:
            console.print(f"{label:<{width}}  {value}", markup=False)
    for title, items in (
        ("state", described["state"].items()),
        (
            "pending writes",
            ((f"{item['channel']} (task {item['task'][:8]})", item["value"]) for item in described["writes"]),
        ),
    ):
        lines = [f"  {name}: {_pretty(value, full=full)}" for name, value in items]
        if lines:
            console.print(title)
        for line in lines:
            console.print(line, markup=False)


def _pretty(value: Any, *, full: bool) -> str:
    """Write a value as indented JSON, a text of several lines as it is."""
    from loopwright.checkpoints.encoding import pretty

    value = value if full else _shortened(value)
    if isinstance(value, str) and "\n" in value:
        return "\n    " + value.replace("\n", "\n    ")
    return pretty(value, indent=2)


def _shortened(value: Any) -> Any:
    """Cut long texts, lists and dicts, and say how much is left out."""
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, list):
        shown = [_shortened(item) for item in value[:_MOST_ITEMS]]
        return [*shown, f"... {len(value) - _MOST_ITEMS} more"] if len(value) > _MOST_ITEMS else shown
    if isinstance(value, dict):
        shown = {key: _shortened(item) for key, item in list(value.items())[:_MOST_ITEMS]}
        return {**shown, "...": f"{len(value) - _MOST_ITEMS} more"} if len(value) > _MOST_ITEMS else shown
    return value


def _cut(text: str) -> str:
    left_out = len(text) - _LONGEST_TEXT
    return text if left_out <= 0 else f"{text[:_LONGEST_TEXT]}... {left_out:,} more characters"


def _loops(ledger: dict[str, Any]) -> str:
    """What each loop has spent of its limit, like ``again 2/3``."""
    return ", ".join(f"{name} {spend.get('spent')}/{spend.get('limit')}" for name, spend in ledger.items())


def _stop(reason: Any) -> str:
    """Which bounds were reached."""
    reasons: list[dict[str, Any]] = reason if isinstance(reason, list) else [reason] if reason else []
    return ", ".join(f"{item.get('loop')} {item.get('outcome')}" for item in reasons)


def _size(count: float) -> str:
    """Bytes for people."""
    for unit in ("B", "kB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.1f} MB"


def _console(*, wide: bool = False) -> Console:
    import sys

    from rich.console import Console

    # A table that goes into a pipe or file keeps all of its text.
    return Console(highlight=False, soft_wrap=True, width=10_000 if wide and not sys.stdout.isatty() else None)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))
