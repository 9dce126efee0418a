"""The first word to the person: short, from the question alone, and without a promise."""

from __future__ import annotations

import pytest
from assistant_answers import INFO, asked

from loopwright.workflows.assistant.answering import acknowledgment
from loopwright.workflows.assistant.schemas import Profile, Table


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("What is on about sourdough on Sunday?", "the programme"),
        ("Which stands sell flour?", "the exhibitors"),
        ("who is ana reis", "the speakers"),
        ("talks by Ana Reis", "the speakers"),
        ("Whom could I meet?", "the attendees"),
        ("Où est la conférence sur le pain ?", "the programme"),
    ],
)
def test_it_says_where_is_looked(question: str, place: str) -> None:
    told = acknowledgment(question, None, INFO)
    assert told == f"Let me look through {place} of Bread Days."


@pytest.mark.parametrize(
    "said",
    [
        "",
        "   ",
        "Thanks!",
        "thank you so much",
        "Hello",
        "bye",
        "Great, thanks a lot",
        "help",
        "My name is Ana.",
        "forget everything you know about me",
        "Hi, what can you do?",
    ],
)
def test_nothing_is_said_where_nothing_is_searched(said: str) -> None:
    assert acknowledgment(said, None, INFO) == ""


def test_a_question_that_begins_with_a_greeting_is_a_question() -> None:
    assert acknowledgment("Hello, what is on about rye?", None, None) == "Let me look through the programme."


def test_the_person_is_addressed_by_name() -> None:
    told = acknowledgment("rye?", Profile(user_id="u", name="*Ana*"), None)
    assert told == r"\*Ana\*, let me look through the programme."


def test_what_was_understood_is_named() -> None:
    understood = asked(Table.SESSIONS, Table.EXHIBITORS, topic="rye", days=("2024-05-05",), rooms=("Cellar",))
    told = acknowledgment(understood, None, INFO)
    assert told == "Let me look for sessions and exhibitors about rye on Sunday 5 May, in Cellar."
    assert acknowledgment(understood.model_copy(update={"smalltalk": True}), None, INFO) == ""


def test_several_things_are_named_with_their_own_limits() -> None:
    days = [{"days": ("2024-05-04",)}, {"days": ("2024-05-05",)}]
    understood = asked(topic="rye; ovens", any_of=days).model_copy(update={"standalone": "rye talks and ovens talks"})
    told = acknowledgment(understood, None, INFO)
    assert told == "Let me look for sessions about rye on Saturday 4 May and about ovens on Sunday 5 May."


def test_it_stays_short() -> None:
    assert len(acknowledgment(asked(topic="bread " * 500), None, INFO)) < 150
    assert len(acknowledgment("bread " * 5000, None, INFO)) < 150
