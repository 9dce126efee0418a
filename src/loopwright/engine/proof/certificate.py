"""What is known of a run before it starts."""

from __future__ import annotations

from html import escape
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from loopwright.engine.gate import ENGINE_NODES, is_engine_node
from loopwright.engine.proof.choice import loop_name, loop_text
from loopwright.errors import GraphError, UnboundedCycleError

FIGURES = {
    "max_supersteps": "supersteps", "max_node_runs": "node runs", "max_model_calls": "model calls",
    "max_seconds": "seconds", "max_tokens": "tokens",
}  # fmt: skip
"""Field of a certificate -> what it counts."""


class Witness(BaseModel):
    """Why a certificate holds, so that `check_certificate` need not believe the prover."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    passes: dict[str, int]
    """Loop -> the most passes that its gate grants in one run."""
    level: dict[str, int]
    """Node that can run -> the most supersteps up to it, without what passes add; along every edge it grows."""
    detour: dict[str, int] = {}
    """Loop -> the most supersteps that one of its passes adds."""
    closing: dict[str, int] = {}
    """The levels of what follows a spent budget, where nothing is granted any more."""
    inner: dict[str, Certificate] = {}
    """The certificates of the nodes that are graphs themselves."""


class Certificate(BaseModel):
    """The worst case of one run, known before it starts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[2] = 2
    """The version of the format in which `to_json` keeps it."""
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
    witness: Witness | None = None
    """Why it holds; None if the graph is not bounded."""

    def to_json(self) -> str:
        """The certificate as JSON, to keep beside the graph that was reviewed."""
        return self.model_dump_json(indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Certificate:
        """Read what `to_json` wrote.

        Raises:
            GraphError: If it is no certificate of this version.
        """
        try:
            kept = cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the file"
            raise GraphError(f"this is no certificate of version 2: {where}: {first['msg']}") from None
        if "version" not in kept.model_fields_set:
            raise GraphError("this is no certificate of version 2: it names no version")
        return kept

    def _lines(self) -> list[tuple[str, str]]:
        """What a person reads of it: what, and how much."""
        figures = {what: getattr(self, field) for field, what in FIGURES.items()}
        cycles = [("cycle without a bound", " → ".join((*cycle, cycle[0]))) for cycle in self.unbounded_cycles]
        most = [(name, f"at most {value:,}") for name, value in figures.items() if value is not None]
        rests = [("rests on", each) for each in self.assumptions]
        return [("verdict", "bounded" if self.bounded else "unbounded"), *cycles, *most, *rests]

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """How a notebook shows it."""
        rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in self._lines())
        text = "\n".join(f"{name}: {text}" for name, text in self._lines())
        return {"text/plain": text, "text/html": f'<table style="text-align:left">{rows}</table>'}

    def require(self) -> Certificate:
        """The certificate itself if the graph is bounded; else an `UnboundedCycleError` names every cycle found."""
        if not self.bounded:
            first = next((cycle for cycle in self.unbounded_cycles if "/" not in cycle[0]), ())
            gates = [node.removeprefix(ENGINE_NODES) for node in first if is_engine_node(node)]
            fix = "Give a limit, which bounds the graphs inside, too: bounded(GRAPH, limit=5)"
            if first:
                fix = f"Declare a Loop, for example {loop_text(loop_name(first[0], None), first[0], first[-1:], 5)}"
            if gates:
                loop = gates[0].partition(":")[0]  # where the fallback depends on the source, that is named behind it
                fix = f"The exhausted route of loop {loop!r} leads back into it; let it lead out, to END in the end"
            raise UnboundedCycleError(self.unbounded_cycles, f"{self.doubt}{fix}")
        return self

    @property
    def doubt(self) -> str:
        """What to say first of cycles that need not exist: nothing tells where one of their nodes goes."""
        guessed = [line for line in self.assumptions if line.endswith("any node is assumed")]
        nodes = {node for cycle in self.unbounded_cycles for node in cycle}
        if not guessed or nodes.isdisjoint(guessed[0].partition(" name no ")[0].replace(",", "").split()):
            return ""
        return f"It may not exist: {guessed[0]}. Annotate them with -> Literal[...] first. "
