"""Conversations as people lead them: what a question takes over, what it refuses, what it says of the person."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from loopwright.workflows.assistant.conference.catalogue import Catalogue, current
from loopwright.workflows.assistant.conference.sample import sample_store
from loopwright.workflows.assistant.config import AssistantSection
from loopwright.workflows.assistant.schemas import Profile, Table, Turn, Understanding
from loopwright.workflows.assistant.understanding import plan, understand
from loopwright.workflows.assistant.understanding.personal import PERSONAL

LONG_AFTER = datetime(2031, 5, 6, 10, tzinfo=UTC)


@pytest.fixture(scope="module")
def sample() -> Catalogue:
    return current(sample_store())


def asked(sample: Catalogue, *questions: str, cited: Sequence[str] = (), now: datetime | None = None) -> Understanding:
    history = [
        turn
        for question in questions[:-1]
        for turn in (
            Turn(role="user", text=question),
            Turn(role="assistant", text="Found.", referenced_ids=tuple(cited)),
        )
    ]
    return understand(questions[-1], sample, history=history, now=now)


def first_track(sample: Catalogue) -> str:
    return next(iter(sample.values("track")))


def with_speakers(sample: Catalogue) -> list[str]:
    return [record.id for record in sample.of_table(Table.SESSIONS) if record.values("speaker")][:3]


FIRST = "anything on kelp between 10 and 12 on sunday"


@pytest.mark.parametrize(
    "question", ["workshops on saturday", "keynotes", "bread", "is there something for beginners?"]
)
def test_a_question_of_its_own_takes_nothing_over(sample: Catalogue, question: str) -> None:
    assert asked(sample, FIRST, question) == asked(sample, question)


def test_a_track_of_its_own_starts_anew_and_one_that_is_linked_replaces_the_topic(sample: Catalogue) -> None:
    track = first_track(sample)
    assert asked(sample, FIRST, f"{track} track") == asked(sample, f"{track} track")
    linked = asked(sample, FIRST, f"and the {track} track?")
    assert (linked.topic, linked.filters.tracks) == ("", (track,))
    assert linked.filters.after == asked(sample, FIRST).filters.after


@pytest.mark.parametrize("question", ["and on saturday?", "saturday?", "the same on saturday", "what about saturday?"])
def test_a_new_day_replaces_the_old_one(sample: Catalogue, question: str) -> None:
    then, now = asked(sample, FIRST), asked(sample, FIRST, question)
    assert now.topic == then.topic == "kelp"
    assert now.filters.days != then.filters.days
    assert len(now.filters.days) == 1


def test_the_same_at_another_time(sample: Catalogue) -> None:
    understood = asked(sample, "kelp on saturday at 2pm", "ok and the same on sunday at 3pm")
    assert understood.topic == "kelp"
    assert understood.filters == asked(sample, "kelp on sunday at 3pm").filters


def test_who_gives_it_is_answered_with_persons_alone(sample: Catalogue) -> None:
    cited = with_speakers(sample)
    for question, id in (("who gives it?", cited[0]), ("who gives the second one?", cited[1])):
        understood = asked(sample, "kelp", question, cited=cited)
        assert understood.tables == (Table.SPEAKERS,)
        assert understood.filters.speakers == sample.records[id].values("speaker")
    again = asked(sample, "kelp", "when does he speak again?", cited=cited)
    assert (again.topic, again.tables) == ("", (Table.SESSIONS,))


def test_the_second_one_is_that_one_alone(sample: Catalogue) -> None:
    understood = asked(sample, "kelp", "what about the second one?", cited=with_speakers(sample))
    (query,) = plan(understood, AssistantSection())
    assert (query.limit, query.table) == (1, Table.SESSIONS)


def test_a_stand_about_it_is_one_about_the_topic(sample: Catalogue) -> None:
    understood = asked(sample, "talks about cheese", "is there a stand about it too", cited=with_speakers(sample))
    assert (understood.topic, understood.tables) == ("cheese", (Table.EXHIBITORS,))


@pytest.mark.parametrize(
    ("question", "topic", "refused"),
    [
        ("talks that are not about cheese", "", "cheese"),
        ("kelp but not cheese", "kelp", "cheese"),
        ("Kelp, not bread, in the morning", "Kelp", "bread"),
        ("anything except kelp", "", "kelp"),
        ("no cheese please", "", "cheese"),
        ("bread except rye on sunday", "bread", "rye"),
    ],
)
def test_what_is_refused_is_not_searched_for(sample: Catalogue, question: str, topic: str, refused: str) -> None:
    understood = asked(sample, question)
    assert understood.topic == topic
    assert any(f'"{refused}"' in note and "leave things out" in note for note in understood.notes)


def test_a_refused_language_leaves_the_others(sample: Catalogue) -> None:
    languages = set(sample.values("language"))
    understood = asked(sample, "bread talks not in english")
    assert set(understood.filters.languages) == languages - {"en"}
    assert understood.topic == "bread"
    assert understood.notes == ()


def test_a_refusal_narrows_the_question_before(sample: Catalogue) -> None:
    understood = asked(sample, "cheese", "not goats please")
    assert understood.topic == "cheese"
    assert any('"goats"' in note for note in understood.notes)


@pytest.mark.parametrize("question", ["why not rust?", "talks on not invented here", "life without plastic"])
def test_not_every_not_refuses(sample: Catalogue, question: str) -> None:
    understood = asked(sample, question)
    assert understood.topic
    assert understood.notes == ()


KNOWN = Profile(user_id="u", name="Ana", interests=("embedded linux", "RISC-V"), languages=("en", "fr"))


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("I'm interested in embedded linux and RISC-V. My name is Ana!", ["Noted.", "Ana", "RISC-V"]),
        ("I don't speak German", ["English and French"]),
        ("Thanks! Forget that", ["Forgotten.", "RISC-V"]),
        ("forget my interest in databases", ["Forgotten.", "embedded linux"]),
        ("what do you know about me", ["Ana", "embedded linux and RISC-V", "French"]),
        ("What's my name?", ["Ana"]),
        ("I work on compilers", ["could not"]),
    ],
)
def test_what_a_person_says_of_itself_is_answered_and_not_searched(
    sample: Catalogue, message: str, told: list[str]
) -> None:
    understood = understand(message, sample, profile=KNOWN)
    assert (understood.intent, understood.smalltalk, plan(understood, AssistantSection())) == (PERSONAL, True, [])
    assert all(part in " ".join(understood.notes) for part in told)


def test_forgetting_everything_is_confirmed(sample: Catalogue) -> None:
    assert "forgotten everything" in understand("forget me", sample, profile=Profile(user_id="u")).notes[0]
    assert "no user id" in understand("delete my profile", sample).notes[0]


@pytest.mark.parametrize(
    "question",
    ["I work on bread, what is on?", "I'm interested in kelp. What should I see?", "how do I delete my data?"],
)
def test_a_statement_with_a_question_is_searched(sample: Catalogue, question: str) -> None:
    understood = understand(question, sample, profile=KNOWN)
    assert not understood.smalltalk
    assert plan(understood, AssistantSection(), KNOWN)


@pytest.mark.parametrize("question", ["what is on now", "talks tomorrow", "tomorrow", "what starts soon?", "today"])
def test_a_moment_outside_the_conference_is_said(sample: Catalogue, question: str) -> None:
    understood = asked(sample, question, now=LONG_AFTER)
    (note,) = understood.notes
    assert note.startswith("Today is Tuesday, 6 May 2031; the conference is on ")
    assert (understood.topic, understood.filters.empty) == ("", True)


@pytest.mark.parametrize("now", [None, LONG_AFTER])
def test_tomorrow_is_never_a_topic(sample: Catalogue, now: datetime | None) -> None:
    understood = asked(sample, "so what is on about bread tomorrow", now=now)
    assert understood.topic == "bread"
    assert understood.notes


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("talks at 25:00", "25:00"),
        ("sessions at 12:75", "12:75"),
        ("talks on 30 February", "30 February"),
        ("2027-02-30", "2027-02-30"),
        ("between 17 and 15", "from 17:00 to 15:00"),
        ("from 5pm to 3pm", "from 17:00 to 15:00"),
    ],
)
def test_times_that_there_are_not_are_noted(sample: Catalogue, question: str, said: str) -> None:
    understood = asked(sample, question)
    assert (understood.topic, understood.filters.empty) == ("", True)
    (note,) = understood.notes
    assert said in note


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Ich interessiere mich für Brot", "Brot"),
        ("Was ist am Samstag los?", ""),
        ("Gibt es Vorträge über Brot am Samstagmorgen?", "Brot"),
        ("¿Qué charlas hay sobre pan de trigo el domingo?", "pan de trigo"),
        ("Je cherche des conférences sur la pêche le matin", "pêche"),
        ("domingo por la tarde", ""),
        ("quoi de neuf dimanche?", ""),
    ],
)
def test_small_words_of_other_languages_are_no_topic_and_no_names(sample: Catalogue, question: str, topic: str) -> None:
    understood = asked(sample, question)
    assert understood.topic == topic
    assert understood.filters.speakers == ()
