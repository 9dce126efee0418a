"""Answers without a chat model: what they cite, what they say was not found; whatever the records and models write."""

import pytest
from assistant_answers import ANA, MILL, OVENS, SOURDOUGH, SUNDAY, asked, hit, listed, moment, other, session
from chances import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loopwright.workflows.assistant.answer.evaluating import EvaluationReply, evaluate_answer, evaluation_of
from loopwright.workflows.assistant.answer.listing import NEAREST
from loopwright.workflows.assistant.answer.references import mark, offered, referenced, without_strangers
from loopwright.workflows.assistant.schemas import (
    Draft,
    Evaluation,
    Found,
    PlannedQuery,
    Question,
    Record,
    SearchOutcome,
    Table,
)

SESSIONS, SPEAKERS, EXHIBITORS = Table.SESSIONS, Table.SPEAKERS, Table.EXHIBITORS


def outcome(total: int, hits: list[Found] = [], counts: dict[str, dict[str, int]] | None = None) -> SearchOutcome:  # noqa: B006
    return SearchOutcome(query=PlannedQuery(table=SESSIONS), hits=tuple(hits), total=total, counts=counts or {})


def test_a_hit_is_listed_with_time_room_person_mark_and_reason() -> None:
    draft = listed(asked(topic="sourdough"), {"sessions": [hit(SOURDOUGH, 0.9)]})
    assert (draft.status, draft.referenced_ids) == ("answered", ("sessions:17",))
    line = next(line for line in draft.text.splitlines() if "[sessions:17]" in line)
    for part in (
        "**Bread without yeast**", "Sat 4 May, 10:00-10:45 (45 min), Hall 2", "with Ana Reis", "Sourdough at home",
    ):  # fmt: skip
        assert part in line


def test_the_best_hits_are_cited_first_and_never_more_than_the_limit() -> None:
    hits = [hit(session(str(n), f"Talk {n}"), 0.9 - n / 100) for n in range(30)]
    draft = listed(asked(topic="bread"), {"sessions": hits}, limit=7)
    assert draft.referenced_ids == tuple(f"sessions:{n}" for n in range(7))
    results = {
        table.value: [hit(other(table, f"{table.value} {n}"), 0.5 + n / 100) for n in (3, 2, 1)] for table in Table
    }
    assert [len(offered(results, limit)) for limit in (0, 1, 2, 3)] == [0, 1, 2, 3]


def test_hits_by_conditions_alone_are_in_order_of_time_and_the_rest_is_counted() -> None:
    late = session("1", "Late", time="16:00-17:00")
    hits = [hit(OVENS, 1.0), hit(late, 1.0), hit(SOURDOUGH, 1.0)]
    draft = listed(asked(day="2024-05-04"), {"sessions": hits}, outcomes=[outcome(13, hits)])
    assert draft.referenced_ids == ("sessions:17", "sessions:23", "sessions:1")
    assert "And 10 more" in draft.text


def test_what_breaks_a_condition_or_is_not_there_is_said_and_answers_only_in_part() -> None:
    draft = listed(asked(topic="sourdough", day="2024-05-05"), {"sessions": [hit(SOURDOUGH, 0.9)]})
    assert draft.status == "partial" and "on another day than asked" in draft.text
    both = {"sessions": [hit(SOURDOUGH, 0.9), hit(SUNDAY, 0.6)]}
    good = listed(asked(topic="sourdough", day="2024-05-05"), both)
    assert (good.status, good.referenced_ids) == ("answered", ("sessions:31",))
    note = "There is no room Hall 9"
    draft = listed(asked(topic="sourdough", notes=[note]), {"sessions": [hit(SOURDOUGH, 0.9)]})
    assert draft.status == "partial" and draft.text.count(note) == 1


@pytest.mark.parametrize(
    ("score", "status"), [(0.9, "answered"), (0.4, "partial"), (0.25, "partial"), (0.15, "nothing_found")]
)
def test_the_status_goes_by_the_evidence(score: float, status: str) -> None:
    assert listed(asked(topic="bread"), {"sessions": [hit(OVENS, score)]}).status == status


def test_a_persons_sessions_are_listed_with_time_and_room() -> None:
    results = {"speakers": [hit(ANA, 1.0)], "sessions": [hit(SOURDOUGH, 1.0), hit(OVENS, 1.0)]}
    draft = listed(asked(SPEAKERS, SESSIONS, person="Ana Reis"), results)
    assert draft.status == "answered" and draft.text.startswith("Ana Reis has 2 sessions:")
    assert set(draft.referenced_ids) == {"speakers:7", "sessions:17", "sessions:23"}
    by = asked(person="Ana Reis")
    else_by = by.filters.model_copy(update={"exclude": asked(room="Cellar").filters.include})
    rest = listed(by.model_copy(update={"filters": else_by}), {"sessions": [hit(SOURDOUGH, 1.0)]})
    assert rest.text.startswith("I left out what is in Cellar. What I found with Ana Reis:")
    alone = listed(asked(SPEAKERS, topic="ovens"), {"speakers": [hit(ANA, 0.9)]}, SOURDOUGH, OVENS, ANA)
    assert "“Ovens of the north” (Sat 4 May, 10:30-11:00 (30 min), Cellar)" in alone.text


def computed(operation: str, *hits: Found, by: str = "", **state: object) -> str:
    question = asked().model_copy(update={"operation": operation, "by": by})
    return listed(question, {"sessions": list(hits)}, **state).text


def test_counts_ends_and_clashes_are_computed() -> None:
    two = (hit(SOURDOUGH, 1.0), hit(OVENS, 1.0))
    assert computed("count", *two, outcomes=[outcome(2)]).startswith("There are 2 sessions.")
    days = {"day": {"2024-05-05": 3, "2024-05-04": 1}}
    most = computed("most", *two, by="day", outcomes=[outcome(4, counts=days)])
    assert most.startswith("Sunday 5 May has the most: 3 sessions; Saturday 4 May 1.")
    longest = computed("longest", hit(SOURDOUGH, 1.0), outcomes=[outcome(2)])
    assert longest.startswith("The longest:") and "more" not in longest
    endless = [hit(each.record.model_copy(update={"end": None}), 1.0) for each in two]
    assert all(computed("clash", two[0], each).startswith("They overlap:") for each in (two[1], endless[0]))
    assert computed("clash", hit(SOURDOUGH, 1.0), hit(SUNDAY, 1.0)).startswith("They do not clash")
    whole = asked().model_copy(update={"operation": "clash", "parts": (asked(), asked())})
    both = listed(whole, {"sessions": two}, limit=1, outcomes=[outcome(1, [each]) for each in two])
    assert set(both.referenced_ids) == {"sessions:17", "sessions:23"}
    assert "is longer, with 45 minutes" in computed("compare", *two)
    assert "does not say how long they take" in (told := computed("compare", *endless)) and "0 minutes" not in told
    until = computed("until", hit(SOURDOUGH, 1.0), user_context={"now": moment(4, "08:45")})
    assert "begins in 1 hour and 15 minutes" in until


@pytest.mark.parametrize(
    ("operation", "reply", "status"),
    [
        ("thanks", "welcome", "answered"), ("greeting", "Hello", "answered"), ("help", "Ask me", "answered"),
        ("outside", "outside of what the programme", "out_of_scope"),
    ],
)  # fmt: skip
def test_what_asks_for_no_search_is_answered_in_kind(operation: str, reply: str, status: str) -> None:
    draft = listed(asked().model_copy(update={"operation": operation}), {})
    assert reply in draft.text and (draft.status, draft.referenced_ids) == (status, ())


def test_texts_of_records_cannot_pose_as_marks_or_markdown() -> None:
    evil = session("66", "Nice [sessions:17] *talk* <b>\n- **Fake** [sessions:23]", abstract="[sessions:31]")
    draft = listed(asked(topic="talk"), {"sessions": [hit(evil, 0.9), hit(SOURDOUGH, 0.1)]})
    assert draft.referenced_ids == ("sessions:66",)
    first = next(line for line in draft.text.splitlines() if line.startswith("- "))
    assert referenced(first, ["sessions:17", "sessions:23", "sessions:66"]) == ("sessions:66",)
    odd = other(EXHIBITORS, "C (sharp) & friends", text="A stand.")
    cited = listed(asked(EXHIBITORS, topic="stand"), {"exhibitors": [hit(odd, 0.9)]}).referenced_ids
    assert cited == ("exhibitors:C (sharp) & friends",)


RESULTS = {"sessions": [hit(SOURDOUGH, 0.9, "sourdough"), hit(OVENS, 0.5)], "exhibitors": [hit(MILL, 0.5)]}
TOPIC = asked(topic="sourdough")


def judged(text: str, *ids: str, question: Question = TOPIC) -> Evaluation:
    return evaluate_answer(question, Draft(text=text, referenced_ids=ids), RESULTS)


def test_a_good_answer_has_full_marks_and_none_has_none() -> None:
    found = judged("**Bread without yeast** [sessions:17]: Sat 4 May, 10:00-10:45, Hall 2. Sourdough.", "sessions:17")
    assert (found.quality_score, found.faithfulness_score, found.confidence_score) == (1.0, None, 0.9)
    assert found.issues == ()
    draft = listed(TOPIC, {"sessions": []})
    found = evaluate_answer(TOPIC, draft, {"sessions": []})
    assert (found.quality_score, found.confidence_score) == (0.0, 0.0)


def test_what_is_missing_from_the_conference_must_be_said() -> None:
    noted = asked(topic="sourdough", notes=["There is no room Hall 9."])
    silent = judged("**Bread without yeast** [sessions:17]", "sessions:17", question=noted)
    told = judged("There is no room Hall 9. **Bread without yeast** [sessions:17]", "sessions:17", question=noted)
    assert silent.quality_score == pytest.approx(2 / 3)
    assert told.quality_score == 1.0


OWN = Evaluation(quality_score=0.2, confidence_score=0.7)


def test_a_models_judgement_is_counted() -> None:
    reply = EvaluationReply(met=["on bread"], missing=["on Sunday", " "], supported=["a", "b", "c"], unsupported=["d"])
    found = evaluation_of(reply, OWN)
    assert (found.quality_score, found.confidence_score, found.faithfulness_score) == (0.5, 0.7, 0.75)
    assert found.issues == ("does not meet: on Sunday", "unsupported: d")


WORDS = st.text(alphabet="ab [](){}*_`<>|\\\n:,;.!#-ไท中é【】0", max_size=30)
KEYS = st.text(alphabet="ab(),;:é1 ", min_size=1, max_size=8).map(str.strip).filter(bool)


@st.composite
def hits(draw: st.DrawFn) -> Found:
    table, key = draw(st.sampled_from(Table)), draw(KEYS)
    record = Record(
        id=f"{table.value}:{key}",
        table=table,
        key=key,
        title=draw(WORDS),
        texts={"description": draw(WORDS)},
        fields={"room": (draw(WORDS),), "speaker": (draw(WORDS), draw(WORDS))},
        related=(f"sessions:{draw(KEYS)}",),
    )
    return Found(record=record, score=draw(st.floats(0, 1)), terms=(draw(WORDS),))


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(hits(), max_size=12, unique_by=lambda found: found.record.id), WORDS, st.integers(1, 8))
def test_an_answer_cites_only_hits_within_the_limit_and_never_claims_without_one(
    found: list[Found], topic: str, limit: int
) -> None:
    results: dict[str, list[Found]] = {}
    for each in sorted(found, key=lambda one: -one.score):
        results.setdefault(each.record.table.value, []).append(each)
    question = asked(Table.SESSIONS, topic=topic)
    draft = listed(question, results, limit=limit)
    offered = [each.record.id for each in found]
    assert set(draft.referenced_ids) <= set(offered)
    assert len(draft.referenced_ids) == len(set(draft.referenced_ids)) <= min(limit, len(found))
    assert referenced(draft.text, offered) == draft.referenced_ids
    assert without_strangers(draft.text, offered) == draft.text
    assert draft.referenced_ids or draft.status == "nothing_found"
    told = [line for line in draft.text.splitlines() if line.startswith("- **")]
    assert draft.status != "nothing_found" or len(told) <= NEAREST
    assert evaluate_answer(question, draft, results).faithfulness_score is None


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(st.sampled_from(["[", "]", "sessions:", "1", "2", "9", ",", " ", "a", ".", "\\", "【", "】", "(", ")"])),
    st.lists(st.sampled_from(["sessions:1", "sessions:2", "speakers:1", "exhibitors:a"]), unique=True),
)
@example(["[", "sessions:", "[", "sessions:", "]", "]"], [])
@example(["[", "sessions:", "[", "sessions:", "9", "]", "1", "]"], ["sessions:1"])
@example(["[", "[", "sessions:", "9", "]", "1", "]"], ["sessions:1"])
def test_taking_out_strangers_keeps_the_citations_and_leaves_none(pieces: list[str], offered: list[str]) -> None:
    text = "".join(pieces)
    cleaned = without_strangers(text, offered)
    assert referenced(cleaned, offered) == referenced(text, offered)
    assert without_strangers(cleaned, offered) == cleaned
    assert set(referenced(text, offered)) <= set(offered)


@given(KEYS, KEYS)
def test_a_mark_in_text_is_read_back_whatever_its_key(key: str, other: str) -> None:
    offered = [f"sessions:{key}", f"sessions:{other}"]
    assert referenced(f"See {mark(offered[0])}.", offered) == (offered[0],)


OFFERED = ["sessions:17", "sessions:23", "exhibitors:Mill Lane", "exhibitors:C (sharp)", "speakers:17"]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("[sessions:17, sessions:23]", ("sessions:17", "sessions:23")),
        ("[sessions:17; exhibitors:Mill Lane]", ("sessions:17", "exhibitors:Mill Lane")),
        ("[Sessions: 17]", ("sessions:17",)), ("【sessions:17】", ("sessions:17",)),
        ("[ sessions:17 ]", ("sessions:17",)), ("[exhibitors:mill lane]", ("exhibitors:Mill Lane",)),
        ("[23]", ("sessions:23",)), ("[Mill Lane]", ("exhibitors:Mill Lane",)),
        ("[exhibitors:C (sharp)]", ("exhibitors:C (sharp)",)),
        ("[17]", ()),  # a session and a speaker have this key
        *((none, ()) for none in ("[sessions:99]", "sessions:17 without brackets", r"\[sessions:17\]",
                                  "[23](https://example.org)", "[see below]", "(2023)")),
        ("[sessions:" * 20_000, ()), ("[" * 50_000, ()),
    ],
    ids=lambda each: str(each)[:40],
)  # fmt: skip
def test_forms_that_models_write_and_what_is_no_citation(text: str, ids: tuple[str, ...]) -> None:
    assert referenced(f"Go there {text}.", OFFERED) == ids
