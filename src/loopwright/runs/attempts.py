"""Attempts of nodes that LangGraph itself repeats, by a node's ``retry_policy``.

Its streams tell nothing of them: a node is reported when it begins and when it is done, with whatever failed in between
left out. But each attempt is a run of its own for callbacks. Nodes under a policy of Loopwright tell of their attempts
themselves, see `loopwright.engine.nodes.runner`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langgraph.errors import GraphBubbleUp

from loopwright.engine import BoundedGraph
from loopwright.engine.events.schema import NodeRetried
from loopwright.engine.nodes.policy import TryAgain

RULE = "retry_policy"
"""What stands in the place of a retry rule's name."""


def repeats_nodes(graph: BoundedGraph) -> bool:
    """Whether LangGraph may repeat a node of a graph."""
    return bool(graph.retry_policy) or any(node.retry_policy for node in graph.nodes.values())


class Attempts(BaseCallbackHandler):
    """Tells of each attempt of a node that failed, as soon as the next one begins. For one run of one graph."""

    run_inline = True

    def __init__(self, graph: BoundedGraph, told: Callable[[NodeRetried], None]) -> None:
        """Know of no attempt yet."""
        self._graph = graph
        self._told = told
        self._running: dict[UUID, str] = {}
        self._failed: dict[str, tuple[BaseException, float]] = {}
        self._failures: Counter[str] = Counter()

    def on_chain_start(
        self,
        serialized: dict[str, Any],
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Something begins: an attempt of a node, or a part of one, which is passed over."""
        node, visit = (metadata or {}).get("langgraph_node"), (metadata or {}).get("langgraph_checkpoint_ns")
        # LangGraph marks what it runs itself; a graph within a node has a namespace below that node's.
        own = any(tag.startswith("graph:step:") for tag in tags or ())
        if not own or not isinstance(node, str) or not isinstance(visit, str) or "|" in visit:
            return
        self._running[run_id] = visit
        if visit in self._failed:
            error, at = self._failed.pop(visit)
            policies = self._graph.nodes[node].retry_policy or self._graph.retry_policy
            retried = NodeRetried(
                node=node,
                attempt=self._failures[visit],
                attempts=max((policy.max_attempts for policy in policies), default=self._failures[visit] + 1),
                kind=type(error).__name__,
                message=str(error),
                rule=RULE,
                wait=time.monotonic() - at,
            )
            self._told(retried)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Something is done."""
        self._running.pop(run_id, None)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Something failed: if it is an attempt of a node, another one may follow."""
        visit = self._running.pop(run_id, None)
        if visit is not None and not isinstance(error, GraphBubbleUp | TryAgain):
            self._failures[visit] += 1
            self._failed[visit] = (error, time.monotonic())
