"""What is known of a run before it starts."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from loopwright.engine.cycles import suggested_loop
from loopwright.engine.gate import ENGINE_NODES, is_engine_node
from loopwright.errors import UnboundedCycleError


class Certificate(BaseModel):
    """The worst case of one run, known before it starts."""

    model_config = ConfigDict(frozen=True)

    bounded: bool
    """Whether every cycle crosses a bound."""
    unbounded_cycles: tuple[tuple[str, ...], ...] = ()
    """Cycles that cross none: the names of their nodes, in order."""
    max_supersteps: int | None = None
    """LangGraph supersteps, gates included; None if unbounded."""
    max_runs_by_node: dict[str, int | None] = {}
    """Node -> how often it can run; None where a fan-out with Send is possible and its width is not declared."""
    max_node_runs: int | None = None
    """The sum of the above, with the nodes of subgraphs; None if any is unknown."""
    max_model_calls: int | None = None
    """Calls of chat models, retries included; None unless all that call one say how often, or a budget does."""
    max_seconds: float | None = None
    """Seconds, retries included; None unless every node outside the engine has a timeout."""
    max_tokens: int | None = None
    """Tokens, but for what calls in flight take beyond it; None without a budget of tokens."""
    assumptions: tuple[str, ...] = ()
    """What the figures rest on and the engine cannot check."""

    def require(self) -> Certificate:
        """Return the certificate if the graph is bounded.

        Raises:
            UnboundedCycleError: If a cycle crosses no bound; it names every cycle found.
        """
        if not self.bounded:
            first = self.unbounded_cycles[0]
            gates = [node.removeprefix(ENGINE_NODES) for node in first if is_engine_node(node)]
            fix = f"Declare a Loop, for example {suggested_loop(first)}"
            if gates:
                # Where the fallback depends on the source, that is named behind the loop; others are note-takers.
                loop = next((gate for gate in gates if ":" in gate), min(gates, key=len)).partition(":")[0]
                fix = f"The exhausted route of loop {loop!r} leads back into it; let it lead out, to END in the end"
            raise UnboundedCycleError(self.unbounded_cycles, fix)
        return self
