"""Marks in answers: only what was offered counts, in whatever form a model writes it."""

from __future__ import annotations

import pytest

from loopwright.workflows.assistant.answer.references import referenced

OFFERED = ["sessions:17", "sessions:23", "exhibitors:Mill Lane", "exhibitors:C (sharp)", "speakers:17"]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("[sessions:17, sessions:23]", ("sessions:17", "sessions:23")),
        ("[sessions:17; exhibitors:Mill Lane]", ("sessions:17", "exhibitors:Mill Lane")),
        ("[Sessions: 17]", ("sessions:17",)),
        ("【sessions:17】", ("sessions:17",)),
        ("[ sessions:17 ]", ("sessions:17",)),
        ("[exhibitors:mill lane]", ("exhibitors:Mill Lane",)),
        ("[23]", ("sessions:23",)),
        ("[Mill Lane]", ("exhibitors:Mill Lane",)),
        ("[exhibitors:C (sharp)]", ("exhibitors:C (sharp)",)),
    ],
)
def test_forms_that_models_write(text: str, ids: tuple[str, ...]) -> None:
    assert referenced(f"Go there {text}.", OFFERED) == ids


@pytest.mark.parametrize(
    "text",
    [
        "[sessions:99]",
        "sessions:17 without brackets",
        "[17]",  # a session and a speaker have this key
        r"\[sessions:17\]",
        "[23](https://example.org)",
        "[see below]",
        "(2023)",
    ],
)
def test_what_is_no_citation(text: str) -> None:
    assert referenced(text, OFFERED) == ()


def test_long_text_of_brackets_ends() -> None:
    assert referenced("[sessions:" * 20_000, OFFERED) == ()
    assert referenced("[" * 50_000, OFFERED) == ()
