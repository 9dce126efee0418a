"""The loop in LlamaIndex Workflows, which bounds seconds and not passes: a counter by hand ends it."""

from __future__ import annotations

import asyncio

from answering import RUNS, Enough, answer, outcome, passes
from workflows.events import Event, StartEvent, StopEvent

from workflows import Workflow, step

PASSES = passes()


class Again(Event):
    """Another pass is wanted."""

    n: int


class Done(Event):
    """The first node is through."""

    n: int


class TwoNodes(Workflow):
    """``a -> b -> a ...``."""

    limit: int = PASSES
    stop: bool = True

    @step
    async def a(self, event: StartEvent | Again) -> Done:
        """The trivial step."""
        RUNS["a"] += 1
        return Done(n=(event.n if isinstance(event, Again) else 0) + 1)

    @step
    async def b(self, event: Done) -> Again | StopEvent:
        """The trivial step that decides."""
        RUNS["b"] += 1
        if event.n <= self.limit:
            return Again(n=event.n)
        if self.stop:
            return StopEvent(result=event.n)
        raise Enough


async def run(limit: int, *, stop: bool = True) -> int:
    """One run, without the limit of 45 seconds that a workflow has by itself."""
    workflow = TwoNodes(timeout=None)
    workflow.limit, workflow.stop = limit, stop
    return await workflow.run()


if __name__ == "__main__":
    answer(
        lambda: outcome(lambda: asyncio.run(run(PASSES))),
        worst_case="no: seconds only (45 by default)",
        without_bound=lambda most: asyncio.run(run(most, stop=False)),
    )
