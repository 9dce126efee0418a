"""The rules that notice a loop going round without getting anywhere."""

from __future__ import annotations

from typing import Any

import pytest

from loopwright.engine import Loop, Plateau, Stall, contents, normalised
from loopwright.engine.loop import Spend, decide
from loopwright.errors import LoopDeclarationError


def decisions(rules: Any, values: list[Any], limit: int = 20) -> str:
    """The first letter of each decision on a row of states."""
    loop = Loop(name="l", target="t", sources=("s",), limit=limit, stall=rules)
    ledger: dict[str, Spend] = {}
    found = ""
    for value in values:
        verdict = decide(loop, {}, value, ledger)
        ledger["l"] = verdict.spend
        found += verdict.decision[0]
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
    assert decisions(rule, values) == expected


def test_the_first_of_several_rules_that_finds_no_progress_counts() -> None:
    rules = [Stall(key=lambda s: s["plan"], name="same plan"), Plateau(key=lambda s: s["score"], passes=1, name="flat")]
    loop = Loop(name="l", target="t", sources=("s",), limit=9, stall=rules)
    ledger: dict[str, Spend] = {}
    whys = []
    for plan, score in (("a", 1), ("a", 1), ("b", 1), ("b", 2), ("c", 3)):
        verdict = decide(loop, {}, {"plan": plan, "score": score}, ledger)
        ledger["l"] = verdict.spend
        whys.append(verdict.why)
    assert whys == ["", "same plan", "flat", "", ""]


def test_two_rules_of_one_name_are_refused() -> None:
    with pytest.raises(LoopDeclarationError, match="two stall rules have one name"):
        Loop(name="l", target="t", sources=("s",), limit=1, stall=[Stall(key=len), Stall(key=len)])
