"""Runs of a hosted workflow as a host drives them: a context of its own, the engine's events, what is told of them."""

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from loopwright.engine import RunEvent, RunResult, astream
from loopwright.engine.events.schema import RunFinished, StateSaved, Told
from loopwright.models.prompts import prompt_changes
from loopwright.models.registry import model_changes
from loopwright.models.usage import usage_of_the_run
from loopwright.workflows.api import ClientEvent, Outcome, Run, Workflow


@dataclass
class Driven:
    """What came of a run."""

    run: Run
    events: list[RunEvent] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    client: list[ClientEvent] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)
    error: BaseException | None = None

    @property
    def state(self) -> dict[str, Any]:
        return next(event.state for event in reversed(self.events) if isinstance(event, RunFinished))

    def saved(self) -> list[dict[str, Any]]:
        """Every state that was saved, as developers read it."""
        return [
            {key: self.run.plain(key, value) for key, value in event.values.items()}
            for event in self.events
            if isinstance(event, StateSaved)
        ]

    def thoughts(self) -> list[Told]:
        """What the run was made to think."""
        return [told for told in self.told if told.kind == "thinking"]


async def drive(
    hosted: Workflow,
    given: dict[str, Any],
    *,
    saver: BaseCheckpointSaver[str] | None = None,
    uploads: Mapping[str, Path] | None = None,
    models: Mapping[str, Any] | None = None,
    prompts: Mapping[str, Any] | None = None,
    run_id: str = "",
    recovered: bool = False,
) -> Driven:
    """Run to the end in a task, and so a context, of its own; `recovered` goes on with a run that was begun."""

    async def whole() -> Driven:
        model_changes.set(models)
        prompt_changes.set(prompts)
        name = run_id or uuid.uuid4().hex
        made = (hosted.recovered if recovered else hosted.run)(given, uploads or {}, name)
        usage_of_the_run.set(made.usage)
        done = Driven(made)
        options: dict[str, Any] = {"thread_id": name, "states": True} if saver else {}
        try:
            graph = made.within(hosted.graph(saver))
            async for event in astream(graph, None if recovered else made.graph_input, **options):
                done.events.append(event)
                done.told += made.told(event)
                done.client += made.client_events(event)
        except Exception as error:
            done.error = error
            done.client += made.failed(error)
            return done
        done.outcome, last = await made.ended(RunResult(done.state, tuple(done.events)))
        done.client += last
        return done

    return await asyncio.create_task(whole())
