"""The run history in a database that SQLAlchemy speaks to; hardly anything here depends on which one."""

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from typing import Any, ParamSpec, TypeVar

from sqlalchemy import Connection, Executable, and_, bindparam, delete, false, func, insert, or_, select, update

from loopwright.database.database import Database
from loopwright.database.values import microseconds
from loopwright.diagram.shown import ShownGraph
from loopwright.errors import AttemptLost, InputError, UnknownRun
from loopwright.runs.schemas import (
    ENDED,
    Channel,
    Charge,
    KeptEvaluation,
    KeptEvent,
    NewEvents,
    Order,
    PromptVersion,
    RunFilter,
    RunPage,
    RunRecord,
)
from loopwright.runs.store.listing import page, tags_of
from loopwright.runs.store.tables import (
    ALLOWANCES,
    ASSIGNMENTS,
    EVALUATIONS,
    EVENTS,
    GRAPHS,
    PROMPTS,
    RUNS,
    TAGS,
    as_json,
    read,
    row_of,
)

P = ParamSpec("P")
T = TypeVar("T")


class RunStore:
    """A run history, with prompts, models, evaluations and allowances; `open_runs` gives one on SQLite or PostgreSQL.

    Methods block and may be called from any thread; each is one transaction. Every one raises `StoreError` if the
    database fails, ``transient=True`` where another attempt may succeed.
    """

    def __init__(self, database: Database) -> None:
        """Use a database."""
        self._database = database
        self.name = database.name
        """What messages call it; without a password."""
        self.told: Callable[[Iterable[RunRecord], Iterable[NewEvents]], None] = lambda _runs, _events: None
        """Called with runs and events once they are kept."""
        # One for each connection that it takes at most: who waits for the database takes no thread from anybody else.
        self._threads = ThreadPoolExecutor(8, "runs")

    async def aside(self, call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Make a call of this history in one of its own threads, without holding up the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(call, *args, **named))

    def create(self, run: RunRecord, graph: ShownGraph) -> None:
        """Keep a new run.

        Args:
            run: The run.
            graph: Its graph, kept once for all runs that have the same: the workflow may look otherwise later.

        Raises:
            InputError: If there is one with this id.
        """
        document = graph.model_dump_json()
        digest = hashlib.sha256(document.encode()).hexdigest()
        added = self._database.insert
        with self._database.writing() as connection:
            connection.execute(added(GRAPHS).values(digest=digest, document=document).on_conflict_do_nothing())
            new = added(RUNS).values(**row_of(run), graph=digest).on_conflict_do_nothing()
            key = connection.scalar(new.returning(RUNS.c.key))
            if key is None:
                raise InputError(f"there is a run {run.id!r} already: give another id")
            _tag(connection, key, run.tags)
        self.told([run], ())

    def write(self, runs: Iterable[RunRecord] = (), events: Iterable[NewEvents] = ()) -> None:
        """Keep what happened, in one transaction: all of it or nothing; what is kept already is passed over.

        Args:
            runs: Runs as they are now; a run that is not kept (any more) is passed over.
            events: New events; those of a run that is not kept are passed over.

        Raises:
            AttemptLost: If a record or events are of an earlier attempt than the newest that began.
        """
        runs = [*runs]
        rows = {run.id: row_of(run, goes_on=run.outcome is None) for run in runs}
        added = [item for item in events if item.events]
        if not rows and not added:
            return
        epochs = [(run_id, row["epoch"]) for run_id, row in rows.items()]
        epochs += [(item.run_id, item.epoch) for item in added]
        with self._database.writing() as connection:
            keys = _keys(connection, epochs)
            there = [{**row, "of": keys[run_id]} for run_id, row in rows.items() if run_id in keys]
            for ended in (True, False):
                if changed := [row for row in there if ("searched" in row) is ended]:
                    connection.execute(update(RUNS).where(RUNS.c.key == bindparam("of")), changed)
            new = [
                {"run": keys[item.run_id], "channel": item.channel, "seq": one.seq, "name": one.name, "data": one.data}
                for item in added
                if item.run_id in keys
                for one in item.events
            ]
            if new:
                connection.execute(self._database.insert(EVENTS).on_conflict_do_nothing(), new)
            self._tell(connection, keys)
        self.told(runs, added)

    def begin(self, run: RunRecord) -> None:
        """Keep that a further attempt of a run begins: from now on nothing of an earlier one is kept.

        Args:
            run: The run as it is now, with the epoch that follows the one kept.

        Raises:
            AttemptLost: If somebody else was faster.
            InputError: If the run is not kept.
        """
        kept = select(RUNS.c.key, RUNS.c.epoch).where(RUNS.c.id == run.id).with_for_update()
        with self._database.writing() as connection:
            row = connection.execute(kept).one_or_none()
            if row is None:
                raise UnknownRun(run.id)
            if row.epoch != run.epoch - 1:
                raise AttemptLost(run.id, run.epoch, row.epoch)
            connection.execute(update(RUNS).where(RUNS.c.key == row.key).values(**row_of(run)))
            self._tell(connection, [run.id])
        self.told([run], ())

    def get(self, run_id: str) -> RunRecord | None:
        """A run with its children, or None if it is not kept."""
        wanted = select(RUNS.c.summary, RUNS.c.document).where(RUNS.c.id == run_id)
        forked = select(RUNS.c.id).where(RUNS.c.parent == run_id).order_by(RUNS.c.started_at, RUNS.c.id)
        with self._database.reading() as connection:
            row = connection.execute(wanted).one_or_none()
            children = tuple(connection.scalars(forked))
            tags = tags_of(connection, [run_id])[run_id]
        if row is None:
            return None
        return read(RunRecord, f"run {run_id!r}", row.summary, row.document, children=children, tags=tags)

    def beginning(self, run_id: str, other: str, newest: int | None = None) -> Sequence[RunRecord]:
        """A run, if it is kept, and those (the `newest`) whose ids are another text and a number from 2; no tags."""
        between = RUNS.c.id > f"{other}1", RUNS.c.id < f"{other}:"  # a colon follows the digits
        there = or_(RUNS.c.id == run_id, and_(*between, func.rtrim(RUNS.c.id, "0123456789") == other))
        ids = select(RUNS.c.id).where(there).order_by(func.length(RUNS.c.id).desc(), RUNS.c.id.desc()).limit(newest)
        wanted = select(RUNS.c.id, RUNS.c.summary, RUNS.c.document).where(RUNS.c.id.in_(ids))
        return [read(RunRecord, f"run {row.id!r}", row.summary, row.document) for row in self._rows(wanted)]

    def set_tags(self, run_id: str, tags: Sequence[str]) -> None:
        """Keep what people call a run, in place of what they called it before.

        Raises:
            InputError: If the run is not kept.
        """
        with self._database.writing() as connection:
            key = connection.scalar(select(RUNS.c.key).where(RUNS.c.id == run_id).with_for_update())
            if key is None:
                raise UnknownRun(run_id)
            connection.execute(delete(TAGS).where(TAGS.c.run == key))
            _tag(connection, key, tags)

    def tags(self) -> Sequence[str]:
        """The tags that any run has, in order."""
        return self._first(select(TAGS.c.tag).distinct().order_by(TAGS.c.tag))

    def graph(self, run_id: str) -> ShownGraph | None:
        """The graph that a run ran on, or None if the run is not kept."""
        wanted = select(GRAPHS.c.document).join(RUNS, RUNS.c.graph == GRAPHS.c.digest).where(RUNS.c.id == run_id)
        documents = self._first(wanted)
        return read(ShownGraph, f"the graph of run {run_id!r}", documents[0]) if documents else None

    def events(
        self, run_id: str, channel: Channel = "run", after: int = 0, limit: int = 1000, size: int | None = None
    ) -> list[KeptEvent]:
        """Events of a run in order.

        Args:
            run_id: The run.
            channel: Which of its channels.
            after: The number of the last event that is known, 0 for none.
            limit: How many at most.
            size: Characters of JSON that they have together at most; the first is given whatever it has.
        """
        wanted = (
            select(EVENTS.c.seq, EVENTS.c.name, EVENTS.c.data)
            .join(RUNS, RUNS.c.key == EVENTS.c.run)
            .where(RUNS.c.id == run_id, EVENTS.c.channel == channel, EVENTS.c.seq > after)
            .order_by(EVENTS.c.seq)
            .limit(max(0, limit))
        )
        with self._database.reading() as connection:
            # What is beyond the size is not read: SQLite gives row after row.
            rows = connection.execute(wanted)
            return [*within((KeptEvent(row.seq, row.name, row.data) for row in rows), size)]

    def log(self, run_id: str, channel: Channel = "run") -> Iterator[KeptEvent]:
        """All events of a run in order, read a part at a time."""
        after = 0
        while part := self.events(run_id, channel, after):
            yield from part
            after = part[-1].seq

    def count(self, run_id: str, channel: Channel = "run") -> int:
        """How many events a run has."""
        found = select(func.count()).select_from(EVENTS).join(RUNS, RUNS.c.key == EVENTS.c.run)
        return self._first(found.where(RUNS.c.id == run_id, EVENTS.c.channel == channel))[0]

    def list(
        self, wanted: RunFilter, limit: int = 50, before: str | None = None, order: Order = "started_at"
    ) -> RunPage:
        """Runs, newest or highest first.

        Args:
            wanted: Which.
            limit: How many at most.
            before: What the part before gave as ``next``, in the same order.
            order: What comes first.

        Raises:
            InputError: If `before` is nothing that a page gave.
        """
        with self._database.reading() as connection:
            return page(connection, wanted, limit, before, order)

    def under_way(self) -> Mapping[tuple[str, str], int]:
        """How many runs go on or wait their turn, by workflow and status."""
        kinds = RUNS.c.workflow, RUNS.c.status
        counted = select(*kinds, func.count().label("number")).where(RUNS.c.status.in_(("running", "queued")))
        return {(row.workflow, row.status): row.number for row in self._rows(counted.group_by(*kinds))}

    def going_on(self) -> Sequence[str]:
        """The runs that go on, then those that wait their turn; the oldest of each first."""
        wanted = select(RUNS.c.id).where(RUNS.c.status.in_(("running", "queued")))
        return self._first(wanted.order_by(RUNS.c.status.desc(), RUNS.c.started_at, RUNS.c.id))

    def delete(self, run_id: str, first: Callable[[str], None] | None = None) -> bool:
        """Forget a run that has ended, with its events; its children stay, and name a parent that is not kept.

        Args:
            run_id: The run.
            first: Forgets what else is kept of it, in the same transaction: where it fails, the run stays.

        Returns:
            Whether it was kept, and had ended.
        """
        with self._database.writing() as connection:
            # It may go on since somebody looked at it. Its events go with it by the foreign key.
            gone = delete(RUNS).where(RUNS.c.id == run_id, RUNS.c.status.in_(ENDED))
            found = connection.execute(gone).rowcount > 0
            if found and first:
                if connection.dialect.name == "postgresql":  # this stands still for as long as the other takes
                    connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
                first(run_id)
        return found

    def outdated(self, *, older_than: datetime | None = None, keep: int | None = None) -> Sequence[str]:
        """Old runs that have ended, and are to be forgotten; the oldest first.

        Args:
            older_than: Runs that began before this moment.
            keep: Of the rest those beyond the newest so many, for each workflow.
        """
        newest_first = (RUNS.c.started_at.desc(), RUNS.c.id.desc())
        # Those that are too old come last, so the others' places do not depend on them.
        place = func.row_number().over(partition_by=RUNS.c.workflow, order_by=newest_first).label("place")
        ended = select(RUNS.c.id, RUNS.c.started_at, place).where(RUNS.c.status.in_(ENDED)).subquery()
        goes = or_(
            false() if older_than is None else ended.c.started_at < microseconds(older_than),
            false() if keep is None else ended.c.place > keep,
        )
        return self._first(select(ended.c.id).where(goes).order_by(ended.c.started_at, ended.c.id))

    def prompt_versions(self, workflow: str, prompt: str | None = None) -> Sequence[PromptVersion]:
        """The versions that people wrote, of one prompt or all, by prompt and version; not those of the package."""
        wanted = select(PROMPTS.c.document).where(PROMPTS.c.workflow == workflow)
        if prompt is not None:
            wanted = wanted.where(PROMPTS.c.prompt == prompt)
        documents = self._first(wanted.order_by(PROMPTS.c.prompt, PROMPTS.c.version))
        return [read(PromptVersion, f"a prompt of {workflow!r}", document) for document in documents]

    def keep_prompt(self, version: PromptVersion) -> None:
        """Keep a version of a prompt.

        Raises:
            InputError: If this version exists: somebody else was faster.
        """
        row = version.model_dump(include={"workflow", "prompt", "version"})
        row["document"] = as_json(version.model_dump(mode="json"))
        with self._database.writing() as connection:
            added = self._database.insert(PROMPTS).values(row).on_conflict_do_nothing()
            if connection.scalar(added.returning(PROMPTS.c.version)) is None:
                raise InputError(
                    f"version {version.version} of the prompt {version.prompt!r} of {version.workflow!r} exists: "
                    "somebody else was faster; read the newest version and change that"
                )

    def assignments(self, workflow: str) -> dict[str, str | None]:
        """The chat models that people chose: node -> model; None for no model."""
        wanted = select(ASSIGNMENTS.c.node, ASSIGNMENTS.c.model).where(ASSIGNMENTS.c.workflow == workflow)
        return {row.node: row.model for row in self._rows(wanted.order_by(ASSIGNMENTS.c.node))}

    def assign(self, workflow: str, node: str, model: str | None, *, clear: bool = False) -> None:
        """Keep which chat model, None for none, serves a node, or ``default``.

        Where the choice is to be cleared, it is forgotten instead, so that the configuration's holds again.
        """
        if clear:
            statement = delete(ASSIGNMENTS).where(ASSIGNMENTS.c.workflow == workflow, ASSIGNMENTS.c.node == node)
        else:
            row = {"workflow": workflow, "node": node, "model": model}
            statement = self._database.insert(ASSIGNMENTS).values(row)
            statement = statement.on_conflict_do_update(index_elements=["workflow", "node"], set_={"model": model})
        with self._database.writing() as connection:
            connection.execute(statement)

    def charge(self, charges: Sequence[Charge]) -> tuple[Charge, str, int] | None:
        """Add to what was spent, all of it or, where one goes beyond a limit, nothing; however many ask at once.

        Returns:
            None, or the first that was refused, its limit beyond which it would go, and how much of that is spent.
        """
        table, keys = ALLOWANCES, sorted({charge.key for charge in charges})
        none = [{"key": key, "model_calls": 0, "tokens": 0, "usd": 0} for key in keys]
        with self._database.writing() as connection:
            connection.execute(self._database.insert(table).values(none).on_conflict_do_nothing())
            # In one order, so that nobody waits for somebody who waits for him.
            kept = select(table).where(table.c.key.in_(keys)).order_by(table.c.key).with_for_update()
            spent = {row["key"]: row for row in connection.execute(kept).mappings()}
            for charge in charges:
                for resource, limit in charge.limits.items():
                    if spent[charge.key][resource] + charge.amounts[resource] > limit:
                        return charge, resource, spent[charge.key][resource]
            for charge in charges:
                more = {resource: table.c[resource] + amount for resource, amount in charge.amounts.items()}
                connection.execute(update(table).where(table.c.key == charge.key).values(more))
        return None

    def evaluations(self, workflow: str) -> Sequence[KeptEvaluation]:
        """What came of labelled questions, the newest version first."""
        table = EVALUATIONS
        wanted = select(table.c.document).where(table.c.workflow == workflow)
        wanted = wanted.order_by(table.c.created_at.desc(), table.c.questions, table.c.version)
        return [read(KeptEvaluation, f"an evaluation of {workflow!r}", document) for document in self._first(wanted)]

    def keep_evaluation(self, kept: KeptEvaluation) -> None:
        """Keep what came of labelled questions, in place of what the same version made of them before."""
        key = kept.model_dump(include={"workflow", "questions", "version"})
        told = {"created_at": microseconds(kept.created_at), "document": as_json(kept.model_dump(mode="json"))}
        insert = self._database.insert(EVALUATIONS).values(**key, **told)
        with self._database.writing() as connection:
            connection.execute(insert.on_conflict_do_update(index_elements=[*key], set_=told))

    def delete_evaluation(self, workflow: str, questions: str, version: str) -> bool:
        """Forget what a version made of a set of questions; False if nothing was kept."""
        table = EVALUATIONS
        kept = table.c.workflow == workflow, table.c.questions == questions, table.c.version == version
        with self._database.writing() as connection:
            return connection.execute(delete(table).where(*kept)).rowcount > 0

    def claim(self) -> None:
        """Be the one server of a history in a file until it is closed, or its process ends, however that is.

        One in memory is nobody else's, and one in PostgreSQL may have any number of servers and workers.

        Raises:
            StoreError: If another one has it. Who only reads, or forgets old runs, needs no claim.
        """
        self._database.claim()

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _rows(self, wanted: Executable) -> Sequence[Any]:
        with self._database.reading() as connection:
            return connection.execute(wanted).all()

    def _first(self, wanted: Executable) -> Sequence[Any]:
        """What stands in the first column of what is found."""
        return [row[0] for row in self._rows(wanted)]

    def _tell(self, connection: Connection, runs: Iterable[str]) -> None:
        """Let the other processes know of which runs something new is kept, as soon as it is."""
        if connection.dialect.name == "postgresql":
            for run_id in runs:
                connection.execute(select(func.pg_notify(self._database.schema, run_id)))


def within(events: Iterable[KeptEvent], size: int | None) -> Iterator[KeptEvent]:
    """The first of some events.

    Args:
        events: The events in order.
        size: Characters of JSON that they have together at most, None for any number; the first is given whatever it
            has.
    """
    taken = 0
    for number, event in enumerate(events):
        taken += len(event.data)
        if number and size is not None and taken > size:
            return
        yield event


def _tag(connection: Connection, key: int, tags: Iterable[str]) -> None:
    if rows := [{"run": key, "tag": tag} for tag in dict.fromkeys(tags)]:
        connection.execute(insert(TAGS), rows)


def _keys(connection: Connection, epochs: Sequence[tuple[str, int]]) -> dict[str, int]:
    """Id -> key of those runs that are kept; raises `AttemptLost` where an attempt after the given one began."""
    # Until the transaction ends, nobody deletes what was found, or begins another attempt; SQLite needs no lock.
    wanted = select(RUNS.c.id, RUNS.c.key, RUNS.c.epoch).with_for_update(read=True, key_share=True)
    there = wanted.where(RUNS.c.id.in_(sorted({run_id for run_id, _epoch in epochs})))
    found: dict[str, Any] = {row.id: row for row in connection.execute(there)}
    for run_id, epoch in epochs:
        if run_id in found and epoch < found[run_id].epoch:
            raise AttemptLost(run_id, epoch, found[run_id].epoch)
    return {run_id: row.key for run_id, row in found.items()}
