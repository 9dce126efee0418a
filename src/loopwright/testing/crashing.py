"""Kills a run at a chosen place, so that a test can see what a resumed run does again."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from loopwright.errors import ConfigError

When = Literal["before", "after"]
How = Literal["exception", "exit", "kill"]


class InjectedCrash(BaseException):
    """A crash on purpose. No retry, error handler or ``except Exception`` takes it for a failure of the node."""


class CrashInjector(BaseCallbackHandler):
    """A callback that kills a run once, at a chosen place.

    It goes into any compiled graph, bounded or not: ``app.with_config(callbacks=[crash])``, or into one run's config.
    A run that is resumed with the same injector in the same process gets past the place.

    Example:
        >>> crash = CrashInjector(node="write", visit=2, by="kill")
        >>> app.with_config(callbacks=[crash]).invoke({}, config, durability="sync")  # doctest: +SKIP
    """

    exit_code = 70
    """The exit code of a process that it ended with ``by="exit"``."""
    raise_error = True
    run_inline = True

    def __init__(
        self,
        *,
        node: str | None = None,
        visit: int = 1,
        when: When = "before",
        superstep: int | None = None,
        within: float | tuple[float, float] | None = None,
        seed: int = 0,
        by: How = "exception",
    ) -> None:
        """Choose the place by exactly one of `node`, `superstep` and `within`.

        Args:
            node: At a visit of this node; ``"inner/node"`` for a node of the graph inside the node ``inner``.
            visit: Which visit, from 1; a retried attempt is a visit too.
            when: Before the node's work, or after it but before its result is saved.
            superstep: When the first node of this superstep of the outer graph begins, counted as LangGraph counts (the
                first nodes run in superstep 1); everything before it is saved if the durability is ``"sync"``.
            within: Seconds after the first node began, or a range from which a time is drawn at random. An exception is
                raised where the next node begins or ends after that time, the other two strike in the middle.
            seed: Of the random time.
            by: Raise `InjectedCrash`, leave the process with `exit_code` and without any clean-up, or send this
                process SIGKILL.

        Raises:
            ConfigError: If not exactly one place is chosen, or it can never be reached.
        """
        if [node, superstep, within].count(None) != 2:
            raise ConfigError("a CrashInjector needs one place: node=..., superstep=... or within=...")
        if visit < 1:
            raise ConfigError(f"visit is {visit}; visits are counted from 1")
        low, high = within if isinstance(within, tuple) else (within or 0.0, within or 0.0)
        if not 0 <= low <= high:
            raise ConfigError(f"within is {within!r}; give seconds from 0 up, or a range of them")
        if by == "kill" and not hasattr(signal, "SIGKILL"):
            raise ConfigError("this system has no SIGKILL; use by='exit'")
        self.seconds = None if within is None else random.Random(seed).uniform(low, high)
        """Seconds after which it strikes, where that is how the place was chosen."""
        self.crashed = False
        """Whether it has struck."""
        self._node, self._visit, self._when = node, visit, when
        self._superstep, self._by = superstep, by
        self._lock = threading.Lock()
        self._visits: Counter[str] = Counter()
        self._running: dict[UUID, tuple[str, int]] = {}
        self._began: float | None = None

    @property
    def visits(self) -> Mapping[str, int]:
        """Node -> how often it began, those of inner graphs as ``"inner/node"``."""
        return dict(self._visits)

    def on_chain_start(
        self,
        serialized: dict[str, Any],
        inputs: dict[str, Any],
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Called by LangChain when anything begins; only what LangGraph runs as a node counts."""
        if not _is_node(tags or ()):
            return
        node, step = _place(metadata or {})
        with self._lock:
            self._visits[node] += 1
            visit = self._visits[node]
            self._running[run_id] = (node, visit)
            if self._began is None:
                self._start_timer()
        if self._late() or (self._superstep == step and "/" not in node) or self._is_here("before", node, visit):
            self._strike(f"before visit {visit} of {node!r} in superstep {step}")

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Called by LangChain when anything ended well."""
        node, visit = self._running.pop(run_id, ("", 0))
        if visit and (self._late() or self._is_here("after", node, visit)):
            self._strike(f"after visit {visit} of {node!r}")

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Called by LangChain when anything failed."""
        self._running.pop(run_id, None)

    def _start_timer(self) -> None:
        self._began = time.monotonic()
        if self.seconds is not None and self._by != "exception":
            timer = threading.Timer(self.seconds, self._strike, [f"{self.seconds:.3f} s after the start"])
            timer.daemon = True
            timer.start()

    def _late(self) -> bool:
        return self.seconds is not None and time.monotonic() - (self._began or 0.0) >= self.seconds

    def _is_here(self, when: When, node: str, visit: int) -> bool:
        return (self._when, self._node, self._visit) == (when, node, visit)

    def _strike(self, place: str) -> None:
        with self._lock:
            if self.crashed:
                return
            self.crashed = True
        if self._by == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self._by == "exit":
            os._exit(self.exit_code)
        raise InjectedCrash(f"crashed on purpose {place}")


def _is_node(tags: Sequence[str]) -> bool:
    return any(tag.startswith("graph:step:") for tag in tags)


def _place(metadata: Mapping[str, Any]) -> tuple[str, int]:
    """The node's path and its superstep, from what LangGraph says of every task."""
    space = str(metadata.get("langgraph_checkpoint_ns") or metadata.get("langgraph_node"))
    return "/".join(part.partition(":")[0] for part in space.split("|")), int(metadata.get("langgraph_step", 0))
