"""The loops that `bounded(limit=...)` chooses: every cycle is cut, and no first visit of a node needs a pass."""

import itertools
import operator
from collections.abc import Iterator
from typing import Annotated, Any

from chances import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from loopwright.engine.bounds import bounded
from loopwright.engine.proof.choice import choose
from loopwright.engine.proof.graph import cyclic_components

NAMES = "abcdef"


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, list[str]]:
    """Node -> where it leads; every node can be reached."""
    count = draw(st.integers(1, len(NAMES)))
    names = NAMES[:count]
    follow = {START: [names[0]], **{name: draw(st.lists(st.sampled_from([*names, END]), max_size=4)) for name in names}}
    for place, name in enumerate(names[1:], 1):
        follow[draw(st.sampled_from([START, *names[:place]]))].append(name)
    return {node: list(dict.fromkeys(targets)) for node, targets in {**follow, END: []}.items()}


def ways(follow: dict[str, list[str]], node: str = START, seen: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every way from the start on which no node comes twice, to its end."""
    onward = [target for target in follow[node] if target not in seen and target != END]
    if not onward or END in follow[node]:
        yield seen
    for target in onward:
        yield from ways(follow, target, (*seen, target))


@given(graphs())
@settings(max_examples=examples(300))
def test_every_cycle_is_cut_and_what_is_counted_has_been_visited_before(follow: dict[str, list[str]]) -> None:
    chosen = choose(follow)
    cut = {(source, choice.target) for choice in chosen for source in choice.sources}
    assert not cyclic_components({node: [t for t in ts if (node, t) not in cut] for node, ts in follow.items()})
    counted = {(source, choice.target) for choice in chosen if not choice.first_free for source in choice.sources}
    for way in ways(follow):
        assert not counted & {*itertools.pairwise(way)}


class State(TypedDict, total=False):
    way: list[str]
    log: Annotated[list[str], operator.add]


@given(graphs(), st.data())
@settings(max_examples=examples(60), deadline=None)
def test_with_no_passes_at_all_every_way_without_a_repetition_is_still_free(
    follow: dict[str, list[str]], data: st.DataObject
) -> None:
    made = StateGraph(State)
    for name in follow.keys() - {START, END}:
        made.add_node(name, lambda _state, name=name: {"log": [name]})
    for node, targets in follow.items():
        if targets:

            def route(state: State, node: str = node) -> str:
                walked = [START, *state.get("log", [])]
                rest = state["way"][len(walked) - 1 :]
                return rest[0] if rest else END

            made.add_conditional_edges(node, route, [*dict.fromkeys([*targets, END])])
    app: Any = bounded(made, limit=0)
    for way in data.draw(st.lists(st.sampled_from([*ways(follow)]), min_size=1, max_size=4)):
        final = app.invoke({"way": list(way), "log": []})
        assert final["log"] == list(way)
        assert "stop_reason" not in final
