"""Makes the nodes of a graph count what they spend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from langchain_core.runnables import Runnable
from langgraph.graph import END, StateGraph
from langgraph.graph.state import CompiledStateGraph

from loopwright.engine.budgets import Budget
from loopwright.engine.loops import Loop
from loopwright.engine.metering import Metered, MeteredGraph
from loopwright.engine.rerouting import unwrapped
from loopwright.engine.usage import PriceTable
from loopwright.errors import GraphError, unknown_name_message


def check_budgets(builder: StateGraph[Any, Any, Any, Any], loops: Sequence[Loop], budget: Budget | None) -> None:
    """Refuse budgets that do not fit the graph or each other.

    Raises:
        GraphError: It names the culprit.
    """
    if budget and budget.exhausted not in (None, END, *builder.nodes):
        known = [*builder.nodes, END]
        raise GraphError(f"the run's Budget: {unknown_name_message('node', str(budget.exhausted), known)}")
    if len({id(price) for price in _prices(loops, budget)}) > 1:
        raise GraphError("the budgets of one graph have different prices; give all of them the same price table")


def price_of(loops: Sequence[Loop], budget: Budget | None) -> PriceTable | None:
    """The price table that a graph's budgets share, if there is one."""
    return next(iter(_prices(loops, budget)), None)


def _prices(loops: Sequence[Loop], budget: Budget | None) -> list[PriceTable]:
    budgets = [budget, *(loop.budget for loop in loops)]
    return [one.price for one in budgets if one and one.price]


def meter_nodes(builder: StateGraph[Any, Any, Any, Any]) -> None:
    """Let every node write what it spent together with its result."""
    for spec in builder.nodes.values():
        if spec.cache_policy:
            continue  # its spending would come again with every hit of the cache; the next node writes it
        node = cast("Runnable[Any, Any]", spec.runnable)
        is_graph = isinstance(unwrapped(node), CompiledStateGraph)
        spec.runnable = cast("Any", MeteredGraph.of(node) if is_graph else Metered(node))
