"""The loop in pydantic-graph, which has no bound of its own: a counter by hand ends it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from answering import RUNS, Enough, answer, outcome, passes
from pydantic_graph import BaseNode, End, GraphBuilder, GraphRunContext, StepContext

PASSES = passes()


@dataclass
class State:
    """The counter, and where it stops."""

    limit: int
    stop: bool = True
    n: int = 0


@dataclass
class A(BaseNode[State, None, int]):
    """The trivial node."""

    async def run(self, ctx: GraphRunContext[State, None]) -> B:
        """Count, and go on."""
        RUNS["a"] += 1
        ctx.state.n += 1
        return B()


@dataclass
class B(BaseNode[State, None, int]):
    """The trivial node that decides."""

    async def run(self, ctx: GraphRunContext[State, None]) -> A | End[int]:
        """Go round again until the limit."""
        RUNS["b"] += 1
        if ctx.state.n <= ctx.state.limit:
            return A()
        if ctx.state.stop:
            return End(ctx.state.n)
        raise Enough


builder = GraphBuilder(state_type=State, output_type=int)


@builder.step
async def begin(_ctx: StepContext[State, None, None]) -> A:
    """Enter the loop."""
    return A()


builder.add(builder.node(A), builder.node(B), builder.edge_from(builder.start_node).to(begin))
graph = builder.build()


def run(state: State) -> int:
    """One run."""
    return asyncio.run(graph.run(state=state, inputs=None))


if __name__ == "__main__":
    answer(
        lambda: outcome(lambda: run(State(PASSES))),
        worst_case="no",
        without_bound=lambda most: run(State(most, stop=False)),
    )
