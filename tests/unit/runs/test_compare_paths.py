"""Two ways through a graph, and two texts, side by side."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.runs.comparing.aligning import aligned_path, compared_text

PATHS = st.lists(st.sampled_from(["plan", "search", "check", "write"]), max_size=30)
TEXTS = st.text(alphabet="ab \n.é", max_size=60)


def shown(a: list[str], b: list[str]) -> list[str]:
    marks = {"both": " ", "a": "-", "b": "+"}
    return [f"{marks[step.where]}{step.node} {step.a_visit}/{step.b_visit}" for step in aligned_path(a, b)]


def test_a_loop_that_one_run_went_round_and_the_other_did_not():
    with_passes = ["plan", "search", "check", "reflect", "search", "check", "write"]
    assert shown(with_passes, ["plan", "search", "check", "write"]) == [
        " plan 1/1",
        " search 1/1",
        " check 1/1",
        "-reflect 1/None",
        "-search 2/None",
        "-check 2/None",
        " write 1/1",
    ]


@settings(deadline=None)
@given(PATHS, PATHS)
def test_nothing_of_a_path_is_lost(a, b):
    steps = aligned_path(a, b)
    assert [step.node for step in steps if step.where != "b"] == a
    assert [step.node for step in steps if step.where != "a"] == b
    for name, path in (("a_visit", a), ("b_visit", b)):
        visits = [(step.node, getattr(step, name)) for step in steps if getattr(step, name) is not None]
        assert visits == [(node, path[: at + 1].count(node)) for at, node in enumerate(path)]


@settings(deadline=None)
@given(PATHS)
def test_a_path_is_the_same_as_itself(path):
    assert all(step.where == "both" for step in aligned_path(path, path))


def test_answers_differ_by_words():
    parts = compared_text("The talk is at ten in Janson.", "The talk is at eleven in Janson.")
    assert [(part.where, part.text) for part in parts] == [
        ("both", "The talk is at "),
        ("a", "ten "),
        ("b", "eleven "),
        ("both", "in Janson."),
    ]


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_nothing_of_a_text_is_lost(a, b):
    parts = compared_text(a, b)
    assert "".join(part.text for part in parts if part.where != "b") == a
    assert "".join(part.text for part in parts if part.where != "a") == b
    assert all(part.text for part in parts)
