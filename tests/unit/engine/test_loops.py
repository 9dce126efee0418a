from __future__ import annotations

import pytest

from loopwright.engine.loop import END, Backoff, Loop, StateLimit, decide
from loopwright.errors import LoopDeclarationError


def loop(**fields: object) -> Loop:
    return Loop(**{"name": "x", "target": "a", "sources": ("b",), "limit": 2, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"name": ""}, "must not be empty"),
        ({"name": "a:b"}, "':'"),
        ({"sources": ()}, "at least one source"),
        ({"limit": True}, "from 0 up, not True"),
        ({"limit": StateLimit(key="k", default=-1, ceiling=3)}, "from 0 up"),
        ({"scope": "x"}, "its own scope"),
        ({"exhausted": {"b": END, "c": END}}, "exactly the sources ['b']"),
    ],
)
def test_a_contradictory_declaration_is_refused(fields: dict[str, object], says: str) -> None:
    with pytest.raises(LoopDeclarationError) as caught:
        loop(**fields)
    assert says in str(caught.value)
    assert caught.value.loop == fields.get("name", "x")
    assert "\n" not in str(caught.value)


def test_one_source_may_be_given_without_a_tuple_and_repeated_sources_count_once() -> None:
    assert loop(sources="b").sources == ("b",)
    assert loop(sources=["b", "c", "b"]).sources == ("b", "c")


@pytest.mark.parametrize(
    ("state", "limit"),
    [({}, 3), ({"k": None}, 3), ({"k": 0}, 0), ({"k": 4}, 4), ({"k": 99}, 5)],
)
def test_a_state_limit_is_read_under_its_ceiling(state: dict[str, object], limit: int) -> None:
    again = loop(limit=StateLimit(key="k", default=3, ceiling=5))
    assert decide(again, state, {}, {}).spend["limit"] == limit


@pytest.mark.parametrize("value", ["3", 2.5, True, float("nan"), [3]])
def test_a_state_limit_that_is_no_whole_number_is_refused_by_the_loop_s_name(value: object) -> None:
    with pytest.raises(LoopDeclarationError, match=r"loop 'x'.*'k' must be a whole number"):
        decide(loop(limit=StateLimit(key="k", default=3, ceiling=5)), {"k": value}, {}, {})


def test_backoff_grows_by_its_factor_up_to_its_maximum() -> None:
    backoff = Backoff(initial=0.5, factor=3, maximum=10)
    assert [backoff.seconds(spent) for spent in range(5)] == [0.5, 1.5, 4.5, 10, 10]
