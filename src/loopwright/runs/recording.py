"""Turns what happens in one run into events that can be kept: plain JSON, bounded in size, each state as a difference.

A run that is resumed is told from its log what happened before, so that visits count on and a checkpoint that is
already in the log does not stand there twice.
"""

import logging
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pydantic_core import to_json

from loopwright.engine.budget.patience import fingerprint
from loopwright.engine.events.schema import (
    ModelFellBack,
    NodeFinished,
    NodeGaveUp,
    NodeRetried,
    NodeStarted,
    RunEvent,
    RunFailed,
    StateSaved,
    Told,
)
from loopwright.engine.ledger import HIDDEN
from loopwright.runs.plain import TIGHTER, plain, shortened
from loopwright.workflows.api import Run

logger = logging.getLogger(__name__)

EVENT = 512 * 1024
"""Characters of JSON of one event above which its values are shortened further."""

MESSAGE = 2_000
"""Characters kept of an error's message."""

_FREE = ("changed", "update", "data", "given")
"""Fields of events whose values can be anything."""

_ABSENT = object()


class Recorder:
    """Turns the events of one run into those that are kept. What it is given may hold any value.

    The run knows how developers read a value of the state.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self.failed_node: str | None = None
        """The last node that failed, if one did."""
        self.visit_of: dict[str, int] = {}
        """Id of each visit's task that began -> which visit of its node it is."""
        self.finished: set[str] = set()
        """Ids of those that ended."""
        self.passed_over: set[str] = set()
        """Ids of those whose beginning is not recorded: LangGraph names them once more, and does not run them."""
        self.saved: set[str] = set()
        """Ids of the checkpoints in the log."""
        self._visits: Counter[str] = Counter()
        self._state: dict[str, Any] = {}
        self._values: dict[str, Any] = {}
        """The state of the last checkpoint as the graph had it."""
        self._updated: set[str] = set()
        """Keys that nodes have written since."""

    def replay(self, event: RunEvent) -> None:
        """Take in an event of the run's log, which was kept earlier; they are given in order."""
        self._run.replay(event)
        if isinstance(event, NodeStarted | NodeFinished):
            self._visits[event.node] = max(self._visits[event.node], event.visit)
            self.visit_of[event.task_id] = event.visit
            if isinstance(event, NodeFinished):
                self.finished.add(event.task_id)
        elif isinstance(event, StateSaved):
            self.saved.add(event.checkpoint_id)
            self._state = {key: value for key, value in self._state.items() if key not in event.removed}
            self._state |= event.changed

    def record(self, event: RunEvent) -> RunEvent | None:
        """An event, with values as the state has them, as it is kept: in plain JSON; None for what is in the log."""
        if isinstance(event, NodeStarted):
            # Where the log misses its start as well, the first to tell of it is who looked at the checkpoints.
            if event.task_id in self.passed_over and event.task_id in self.visit_of:
                return None
            given = None if event.given is None else self.plain({"given": event.given})["given"]
            return event.model_copy(update={"visit": self._visit(event), "given": given})
        if isinstance(event, NodeFinished):
            self.finished.add(event.task_id)
            if event.error:
                # Of a graph inside a node, the node inside failed.
                within = (self.failed_node or "").startswith(f"{event.node}/")
                self.failed_node = self.failed_node if within else event.node
                event = event.model_copy(update={"error": self.words(event.error)})
            self._updated.update(event.update)
            return event.model_copy(update={"visit": self._visit(event), "update": self.plain(event.update)})
        if isinstance(event, NodeRetried | NodeGaveUp | ModelFellBack | RunFailed):
            return event.model_copy(update={"message": self.words(event.message)})
        if isinstance(event, StateSaved):
            return self._difference(event)
        if isinstance(event, Told):
            return event.model_copy(update={"data": plain(event.data)})
        return event

    def words(self, text: str) -> str:
        """An error's message as it is kept: without keys, and without what the workflow leaves out of its errors."""
        return shortened(str(self._of_key("error", text)), MESSAGE)

    def plain(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values of the state in plain JSON, as developers see them; the engine's books are left out."""
        shown = {key: self._of_key(key, value) for key, value in values.items() if key not in HIDDEN}
        return plain(shown)

    def _visit(self, event: NodeStarted | NodeFinished) -> int:
        # A task that was cut off, or waited for a person, is the same visit when it runs again.
        visit = self.visit_of.get(event.task_id)
        if visit is None:
            self._visits[event.node] += 1
            visit = self.visit_of[event.task_id] = self._visits[event.node]
        return visit

    def _difference(self, event: StateSaved) -> RunEvent | None:
        if event.checkpoint_id in self.saved:
            return None
        self.saved.add(event.checkpoint_id)
        before, held = self._state, self._values
        # A value that nobody has written since is put in words once: a state may be large, and each step tells of it.
        new = {
            key: value
            for key, value in event.values.items()
            if key in self._updated or key not in before or held.get(key, _ABSENT) is not value
        }
        now = self.plain(new) | {key: before[key] for key in event.values.keys() - new.keys()}
        self._state, self._values, self._updated = now, dict(event.values), set()
        # What is shown of a long value may be alike though the value changed.
        changed = {key: now[key] for key in now if before.get(key, _ABSENT) != now[key] or _differ(key, held, new)}
        return event.model_copy(update={"changed": changed, "removed": [key for key in before if key not in now]})

    def _of_key(self, key: str, value: Any) -> Any:
        try:
            return self._run.plain(key, value)
        except Exception:
            logger.warning("the value of %r could not be put in words by its workflow", key, exc_info=True)
            return value


def _differ(key: str, held: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    with suppress(Exception):  # what was there in one of them only, or cannot be read, is told from what is shown
        return fingerprint(held[key]) != fingerprint(new[key])  # NaN, and many an object, is not equal to itself
    return False


def written(event: RunEvent) -> str:
    """An event as JSON in one line that UTF-8 can hold; values are shortened further where it is too large."""
    data = _json(event)
    for bounds in TIGHTER:
        if len(data) <= EVENT:
            break
        values: dict[str, Any] = {key: getattr(event, key) for key in _FREE if hasattr(event, key)}
        data = _json(event.model_copy(update={key: plain(value, bounds) for key, value in values.items()}))
    return data


def _json(event: RunEvent) -> str:
    try:
        return event.model_dump_json()
    except ValueError:  # a text with half a surrogate pair: an error's message, say
        return to_json(plain(event.model_dump(mode="python"))).decode()
