"""A graph that somebody wrote, as a host runs it: any LangGraph builder or compiled graph."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from loopwright.engine import BoundedGraph, RunResult, bounded
from loopwright.engine.books import STOP_REASON
from loopwright.engine.diagram.flowchart import caption, shown_nodes
from loopwright.errors import GraphError, InputError
from loopwright.models.validation import problem_lines
from loopwright.workflows.graphs import HostedGraphs
from loopwright.workflows.hosting import ClientEvent, HostedRun, NodeInfo, Outcome
from loopwright.workflows.own_input import MESSAGE, InputForm

logger = logging.getLogger("loopwright.loops")

USUAL_LIMIT = 10
"""Passes of each loop that was chosen for a graph that declares none, where nothing else is said."""

_BOOK_ENDS = ("__start__", "__end__")


class OwnGraph(HostedGraphs):
    """A graph that somebody wrote. Its own checkpointer is left alone: the host's takes its place."""

    def __init__(
        self,
        name: str,
        graph: StateGraph[Any, Any, Any, Any] | CompiledStateGraph[Any, Any, Any, Any],
        title: str | None = None,
        description: str | None = None,
        limit: int | None = None,
    ) -> None:
        """Bound the graph, unless it is bounded already.

        Args:
            name: Names it, in addresses too.
            graph: A ``StateGraph``, compiled or not, or what `loopwright.bounded` made.
            title: What people call it; by default its name.
            description: What it does.
            limit: Passes of each loop, for a graph that declares none; None takes `USUAL_LIMIT`.

        Raises:
            GraphError: If it is no graph, cannot be bounded, or is bounded already and a limit is given.
        """
        if limit is not None and isinstance(graph, BoundedGraph):
            raise GraphError(f"graph {name!r} is bounded already, by limits of its own: leave the limit away")
        self.name = name
        self.title = title or caption(name.replace("-", " "))
        self.description = description or ""
        self._graph = graph
        self._limit = USUAL_LIMIT if limit is None else limit
        super().__init__()
        compiled = self.graph(None)
        if compiled.loops and not isinstance(graph, BoundedGraph):
            chosen = ", ".join(
                f"{loop.name!r} ({' and '.join(loop.sources)} -> {loop.target})" for loop in compiled.loops
            )
            logger.warning(
                "graph %r declares no loops, so these were chosen, with at most %d passes each: %s. Declare them with "
                "loopwright.bounded to set limits and fallbacks of your own.",
                name, self._limit, chosen,
            )  # fmt: skip
        self._form = InputForm(compiled.builder)
        self.input_schema = self._form.schema
        self.nodes = {
            node: NodeInfo(label=caption(node)) for node in shown_nodes(compiled.topology()) if node not in _BOOK_ENDS
        }
        self.state_schema = compiled.builder.state_schema
        self.allow = (compiled.builder.state_schema, compiled.builder.input_schema)

    def run(self, given: Mapping[str, Any], uploads: Mapping[str, Path], run_id: str) -> HostedRun:
        """Prepare a run.

        Args:
            given: The input, as `input_schema` has it.
            uploads: Not needed.
            run_id: Not needed.

        Raises:
            InputError: If a value is missing, unknown or of another type.
        """
        try:
            values = self._form.read(given)
        except ValidationError as error:
            raise InputError(f"the input of {self.name!r} does not fit: {'; '.join(problem_lines(error))}") from None
        if not values:
            known = ", ".join(self.input_schema["properties"])
            raise InputError(f"the input of {self.name!r} is empty: give at least one of {known}")
        texts = [given.get(MESSAGE), *given.values()]
        title = next((text for text in texts if isinstance(text, str) and text.strip()), self.title)
        return _OwnRun(given, values, title, [*self._output_keys()])

    def build(self, saver: BaseCheckpointSaver[str] | None) -> BoundedGraph:
        """Bound the graph, unless it is bounded already; see `HostedGraphs.build`.

        Args:
            saver: Where its runs are kept.
        """
        if isinstance(self._graph, BoundedGraph):
            return self._graph.copy({"checkpointer": saver})
        return bounded(self._graph, limit=self._limit, checkpointer=saver)

    def _output_keys(self) -> Sequence[str]:
        builder = self.graph(None).builder
        return [key for key in builder.schemas[builder.output_schema] if key != STOP_REASON]


class _OwnRun(HostedRun):
    """One run; what it answers is what its output says last."""

    def __init__(self, given: Mapping[str, Any], graph_input: Any, title: str, output: Sequence[str]) -> None:
        super().__init__(given, graph_input, title)
        self._output = output

    async def ended(self, result: RunResult) -> tuple[Outcome, Sequence[ClientEvent]]:
        """The last word of the model in the output, else the last text that the run wrote there.

        Args:
            result: The final state.
        """
        output = {key: result.state[key] for key in self._output if key in result.state}
        details = {key: value for key, value in output.items() if value != self.graph_input.get(key)}
        said = [
            message.text
            for value in output.values()
            if isinstance(value, list)
            for message in value  # pyright: ignore[reportUnknownVariableType]
            if isinstance(message, AIMessage) and message.text.strip()
        ]
        written = [value for value in details.values() if isinstance(value, str) and value.strip()]
        answer = (said or written or [""])[-1]
        return Outcome(answer=answer, details=to_jsonable_python(details, fallback=str)), ()
