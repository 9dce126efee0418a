"""Stages of the image-quality pipeline with known behaviour, for tests of what goes on between them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from loopwright.workflows.iqa import ExecutorOutput, IQAConfig, PlannerOutput, SummarizerOutput, build_graph
from loopwright.workflows.iqa.graph import PLAN_STALL


def configured(**overrides: Any) -> IQAConfig:
    """A configuration with quick retries and some keys changed, written with ``__`` for the dot."""
    changes = {key.replace("__", "."): value for key, value in overrides.items()}
    base = {"pipeline.retry.initial_wait": 0.001, "pipeline.retry.max_wait": 0.001}
    return IQAConfig.load(overrides={**base, **changes}, environment={})


QUICK = configured()


@dataclass
class Stages:
    """Three stages that note what they see. Plans vary from pass to pass, and the summarizer asks as told."""

    asks: int = 10**9
    """How many times the summarizer asks for a replan."""
    reason: str | None = "Missing tool scores for vehicle region"
    planner_fails_at: int = 0
    """The visit of the planner that fails; 0 never."""
    executor_fails_at: int = 0
    seen: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Each visit: the stage and a copy of the state that it was given."""

    def visits(self, stage: str) -> list[dict[str, Any]]:
        """The states that a stage was given, in order."""
        return [state for name, state in self.seen if name == stage]

    @property
    def order(self) -> list[str]:
        return [name for name, _state in self.seen]

    def _note(self, stage: str, state: dict[str, Any]) -> int:
        self.seen.append((stage, dict(state)))
        return len(self.visits(stage))

    def planner(self, state: dict[str, Any]) -> dict[str, Any]:
        visit = self._note("planner", state)
        if visit == self.planner_fails_at:
            raise ValueError("the planner broke")
        return {"plan": PlannerOutput(query_scope=[f"scope {visit}"]), "error": None}

    def executor(self, state: dict[str, Any]) -> dict[str, Any]:
        visit = self._note("executor", state)
        if visit == self.executor_fails_at:
            raise ValueError("the executor broke")
        return {"executor_evidence": ExecutorOutput(notes=[f"evidence {visit}"]), "error": None}

    def summarizer(self, state: dict[str, Any]) -> dict[str, Any]:
        visit = self._note("summarizer", state)
        result = SummarizerOutput(
            final_answer=f"answer {visit}",
            quality_reasoning="because",
            need_replan=visit <= self.asks,
            replan_reason=self.reason if visit <= self.asks else None,
        )
        return {"summarizer_result": result}

    @property
    def nodes(self) -> dict[str, Callable[..., Any]]:
        return {"planner": self.planner, "executor": self.executor, "summarizer": self.summarizer}

    def graph(self, config: IQAConfig = QUICK, **options: Any) -> Any:
        wanted = options.get("stages", ("planner", "executor", "summarizer"))
        nodes = {stage: node for stage, node in self.nodes.items() if stage in wanted}
        return build_graph(config, nodes=nodes, **{"stall": PLAN_STALL, **options})


START = {"query": "Is it sharp?", "image_path": "photo.png"}
