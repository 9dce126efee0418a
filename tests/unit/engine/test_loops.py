"""The declaration of a loop and what it decides, and the rules that notice one going round without getting anywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import shapes

from loopwright.checkpoints import aopen_checkpointer
from loopwright.engine import Budget, GiveUp, NodePolicy, Plateau, Retry, Stall, bounded, contents, normalised, verify
from loopwright.engine.loop import END, Backoff, Loop, LoopMessages, StateLimit, Verdict, decide
from loopwright.errors import ConfigError, GraphError, LoopDeclarationError
from loopwright.fallbacks import best_effort, say_what_is_missing
from loopwright.langchain import alternation
from loopwright.testing import ScriptedChatModel

ARRAY = numpy.arange(2000)
GRAPH, ROUND = shapes.graph("START-a"), shapes.graph("START-a a?a a?END")


def loop(**fields: object) -> Loop:
    return Loop(**{"name": "x", "target": "a", "sources": ("b",), "limit": 2, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"name": ""}, "must not be empty"),
        ({"name": "a:b"}, "':'"),
        ({"sources": ()}, "at least one source"),
        ({"limit": True}, "limit is True: give a whole number from 0 up"),
        ({"scope": "x"}, "its own scope"),
        ({"exhausted": {"b": END, "c": END}}, "exactly the sources ['b']"),
        ({"source_limits": {"c": 1}}, "'c', which is none of the sources"),
        ({"source_limits": {"b": -1}}, "source_limits is {'b': -1}: give Mapping[str, a whole number"),
        ({"messages": LoopMessages(exhausted={"a": "?"})}, "'messages.exhausted' by source must name exactly"),
        ({"stall": [Stall(key=len), Stall(key=len)]}, "two stall rules have one name"),
        ({"stall": Plateau}, "give a rule; what makes one is called: Plateau(...)"),
    ],
)
def test_a_contradictory_declaration_is_refused(fields: dict[str, object], says: str) -> None:
    with pytest.raises(LoopDeclarationError) as caught:
        loop(**fields)
    assert says in str(caught.value)
    assert caught.value.loop == fields.get("name", "x")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("name", [5, b"x"]), ("target", [None, 5]), ("sources", [None, 5, (5,), (None,), [["a"]]]), ("scope", [None, 5]),
        ("exhausted", [None, 5, {"b": None}]), ("source_limits", [None, 5, [("b", 1)]]), ("messages", [None, "hi", {}]),
        ("counter", [5]), ("counter_by", ["nodes", None]), ("history", [5]), ("history_limit", ["3", None, 1.5, 0]),
        ("first_free", [None, "no"]), ("reason", ["why"]), ("backoff", [2, Backoff]), ("budget", [5, {}]),
        ("stall", [5, "x", len, {}, [None], [Stall]]),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_its_field_is_refused_by_name(field: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(LoopDeclarationError, match=rf"^loop .*: {field} is .*: give "):
            loop(**{field: value})


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Backoff(initial=-1), "initial is -1"), (lambda: Backoff(maximum=float("nan")), "maximum is nan"),
        (lambda: Stall(key="n"), "key is 'n'"), (lambda: Stall(key=len, remembers=-1), "remembers is -1"),
        (lambda: Plateau(key="n"), "key is 'n'"), (lambda: Plateau(key=len, passes=0), "passes is 0"),
        (lambda: StateLimit(key=5, default=1, ceiling=3), "key is 5"), (lambda: alternation(times=0), "times is 0"),
        (lambda: StateLimit(key="k", default=-1, ceiling=3), "default is -1: give a whole"), (lambda: GiveUp(goto=None), "goto is None"),
        (lambda: LoopMessages(exhausted={"a": "{no}"}), "exhausted is '{no}'"), (lambda: LoopMessages(stalled="{"), "'{'"),
        (lambda: NodePolicy(timeout=-1), "timeout is -1"), (lambda: NodePolicy(max_model_calls=-2), "max_model_calls is -2"),
        (lambda: NodePolicy(retries=Retry(on="timeout")), "retries is Retry"), (lambda: NodePolicy(give_up="n"), "give_up"),
        (lambda: verify(ROUND, [5]), r"loops is \[5\]: give a Loop"),  # type: ignore[list-item]
        (Budget, "at least one limit"), (lambda: Budget(tokens=-1), "tokens is -1"),
        (lambda: Budget(model_calls=True), "model_calls is True: give a whole number"),
        (lambda: Budget(model_calls=2.5), "give a whole number"), (lambda: Budget(seconds=float("nan")), "seconds is nan"),
        (lambda: Budget(seconds=float("inf")), "leave out what is not limited"), (lambda: Budget(money=1.0), "has no price"),
        (lambda: Budget(tokens=1, reserve=1.0), "reserve is 1.0"), (lambda: Budget(tokens=1, reserve="n"), "reserve"),
    ],
)  # fmt: skip
def test_so_is_one_in_any_other_declaration(make: Callable[[], object], says: str) -> None:
    with pytest.raises(GraphError, match=says):
        make()


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"on": 5}, "on is 5"), ({"retries": 1.5}, "retries is 1.5"), ({"retries": -1}, "retries is -1: give a whole number from 0 up"),
        ({"on": "rate-limit"}, "unknown kind of failure 'rate-limit'. Did you mean 'rate_limit'?"),
        ({"on": OSError, "initial_wait": -1}, "retry rule 'OSError': initial_wait is -1"),
        ({"factor": 0.5}, "factor is 0.5, not 1 or more"), ({"max_wait": float("nan")}, "max_wait is nan"),
        ({"jitter": "some", "name": "mine"}, "retry rule 'mine': jitter is 'some'"),
    ],
)  # fmt: skip
def test_so_is_one_of_a_retry(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Retry(**{"on": "timeout", **fields})
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("thing", "options", "says"),
    [
        (None, {}, "a StateGraph is needed"), ("agent.py", {}, "a StateGraph is needed"), (GRAPH, {"fan_out": "n"}, "fan_out"),
        (GRAPH, {"budget": 5}, "budget is 5: give a Budget"), (GRAPH, {"loops": "again"}, "loops is 'again': give a Loop"),
        (GRAPH, {"fallback": "a"}, "fallback is 'a': give a node function"),
        (GRAPH, {"checkpointer": "sqlite:x"}, r"checkpointer is 'sqlite:x': give a saver: `with open_checkpointer\('sqlite:"),
        (GRAPH, {"checkpointer": aopen_checkpointer("memory")}, "ContextManager.*: give a saver: `with open_"),
        (GRAPH, {"limt": 3}, "unknown argument 'limt'. Did you mean 'limit'?"),
        (ROUND, {"limit": 3, "fallback": lambda: {}}, "'fallback', <.*<lambda> .*>, cannot be called with the state"),
        (ROUND, {"limit": 3, "fallback": best_effort}, r"makes a node; write best_effort\(...\)"),
        (ROUND, {"limit": 3, "fallback": ScriptedChatModel().with_retry()}, r"takes messages and no state.*answer_without_tools"),
        (shapes.graph("START-a a?a a?b", b=say_what_is_missing), {"loops": loop(sources="a", exhausted="b")}, "'b', .*makes a node; write say_what"),
    ],
)  # fmt: skip
def test_so_is_one_of_a_bounded_graph(thing: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(GraphError, match=says):
        bounded(thing, **options)


def test_one_source_may_be_given_without_a_tuple_and_repeated_sources_count_once() -> None:
    assert LoopMessages(granted="Pass {spent}").granted == ("Pass {spent}",)
    assert Retry(on=[OSError, KeyError]).matches(ConnectionError())
    assert type(loop(limit=numpy.int64(3)).limit) is int, "what NumPy gives no checkpoint keeps"
    assert loop(sources="b").sources == ("b",) and verify(ROUND, loop(sources="a")).bounded
    assert loop(sources=["b", "c", "b"]).sources == ("b", "c")


@pytest.mark.parametrize(("state", "limit"), [({}, 3), ({"k": None}, 3), ({"k": 0}, 0), ({"k": 4}, 4), ({"k": 99}, 5)])
def test_a_state_limit_is_read_under_its_ceiling(state: dict[str, object], limit: int) -> None:
    assert decide(loop(limit=StateLimit(key="k", default=3, ceiling=5)), state, {}, {}).spend["limit"] == limit
    assert "asked" not in decide(loop(limit=StateLimit(key="x", default=9, ceiling=5)), state, {}, {}).spend


@pytest.mark.parametrize("value", ["3", 2.5, True, float("nan"), [3]])
def test_a_state_limit_that_is_no_whole_number_is_refused_by_the_loop_s_name(value: object) -> None:
    with pytest.raises(LoopDeclarationError, match=r"loop 'x'.*'k' must be a whole number"):
        decide(loop(limit=StateLimit(key="k", default=3, ceiling=5)), {"k": value}, {}, {})


def test_backoff_grows_by_its_factor_up_to_its_maximum() -> None:
    assert [*map(Backoff(initial=0.5, factor=3, maximum=10).seconds, range(5))] == [0.5, 1.5, 4.5, 10, 10]


def verdicts(rules: Any, values: list[Any]) -> list[Verdict]:
    """What a loop's rules say of a row of states."""
    found: list[Verdict] = []
    for value in values:
        found.append(decide(loop(limit=20, stall=rules), {}, value, {"x": found[-1].spend} if found else {}))
    return found


def itself(value: Any) -> Any:
    return value


@pytest.mark.parametrize(
    ("rule", "values", "expected"),
    [
        pytest.param(Stall(key=itself), ["a", "b", "b", "c"], "ggsg", id="the same as at the last granted request"),
        pytest.param(Stall(key=itself, remembers=1), ["a", "b", "a", "b"], "gggg", id="one remembered, so two in turn go on"),
        pytest.param(Stall(key=itself, remembers=2), ["a", "b", "a", "b"], "ggss", id="two remembered"),
        pytest.param(Stall(key=itself, remembers=2), ["a", "b", "c", "a"], "gggg", id="the oldest is forgotten"),
        pytest.param(
            Stall(key=normalised), ["What is RAG?", " what is rag ", "what is a RAG"], "gsg", id="the same query"
        ),
        pytest.param(Stall(key=contents), [["x", "y"], ["y", "x"], ["y", "x", "z"]], "gsg", id="the same evidence"),
        pytest.param(Stall(key=lambda state: itself(state)[:3]), ["abc1", "abc2", "abd"], "gsg", id="what the key leaves"),
        pytest.param(Stall(key=itself), [ARRAY, ARRAY + (ARRAY == 999), ARRAY], "ggs", id="a long array"),
        pytest.param(Plateau(key=itself), [0.5, 0.4, 0.3], "ggs", id="two passes without a better score"),
        pytest.param(Plateau(key=itself, passes=1), [0.5, 0.6, 0.6], "ggs", id="one pass without a better score"),
        pytest.param(Plateau(key=itself, passes=1), [0.5, None, 0.4], "ggs", id="no score is no evidence"),
        pytest.param(Plateau(key=itself, passes=1), [float("nan"), 0.5, 0.4], "ggs", id="NaN is no evidence"),
        pytest.param(Plateau(key=itself, epsilon=0.1, passes=1), [0.5, 0.6, 0.9], "gsg", id="must exceed epsilon"),
        pytest.param(Plateau(key=itself), [0.5, 0.4, 0.6, 0.5, 0.6], "ggggs", id="an improvement starts the count anew"),
        pytest.param(Plateau(key=itself), [0.5, 0.4, 0.45, 0.46], "ggss", id="compared with the best, not the last"),
    ],
)  # fmt: skip
def test_rules(rule: Any, values: list[Any], expected: str) -> None:
    assert "".join(verdict.decision[0] for verdict in verdicts(rule, values)) == expected


def test_the_first_of_several_rules_that_finds_no_progress_counts() -> None:
    rules = [Stall(key=lambda s: s["plan"], name="same plan"), Plateau(key=lambda s: s["score"], passes=1, name="flat")]
    states = [{"plan": plan, "score": score} for plan, score in (("a", 1), ("a", 1), ("b", 1), ("b", 2), ("c", 3))]
    assert [verdict.why for verdict in verdicts(rules, states)] == ["", "same plan", "flat", "", ""]
