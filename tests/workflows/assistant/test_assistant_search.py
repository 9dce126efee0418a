"""Searching the sample conference, ranked and without what was excluded; when it is searched again, and what widens."""

import threading

import pytest
from conferences import search, shared_sample

from loopwright.retrieval.text import terms
from loopwright.workflows.assistant.config import AssistantSection
from loopwright.workflows.assistant.reflecting import (
    ReflectionReply,
    fewer_conditions,
    reflect,
    reflection_of,
    wish_after,
)
from loopwright.workflows.assistant.schemas import (
    Condition,
    Filters,
    Found,
    Pick,
    PlannedQuery,
    Question,
    Record,
    Reflection,
    SearchOutcome,
    Table,
)
from loopwright.workflows.assistant.searching.search import Search
from loopwright.workflows.assistant.sources.catalogue import clock_of, passes


def run(text: str, table: Table = Table.SESSIONS, **changes: object) -> SearchOutcome:
    return search().run(PlannedQuery.model_validate({"table": table, "query_text": text} | changes))


def text_of(record: Record) -> set[str]:
    return set(terms(" ".join([record.title, *record.texts.values(), *record.values("track")])))


@pytest.mark.parametrize("talk", ["hello, could you please tell me whether there is anything about {}", "{}", "{}?"])
def test_a_title_finds_its_session_whatever_is_said_around_it(talk: str) -> None:
    for record in list(search().catalogue.of_table(Table.SESSIONS))[::9]:
        assert run(talk.format(record.title)).hits[0].record == record


def test_without_a_text_all_that_pass_come_in_order_of_time() -> None:
    found = [each.record for each in run("", limit=200).hits]
    assert found == list(search().catalogue.of_table(Table.SESSIONS))


def test_what_stands_nowhere_is_no_hit() -> None:
    outcome = run("qwertzuiop")
    assert (outcome.hits, outcome.strangers) == ((), ("qwertzuiop",))


def test_no_record_is_about_a_topic_that_is_not_wanted() -> None:
    plain = run("food", score_threshold=0.0, limit=200)
    word = next(
        word for word in ("bread", "garden", "kitchen") if any(word in text_of(x.record) for x in plain.hits[:20])
    )
    barred = run("food", score_threshold=0.0, limit=200, filters=Filters(without=(word,)))
    shown = [*barred.hits, *barred.near_misses]
    assert shown and not any(set(terms(word)) <= text_of(each.record) for each in shown)


def test_conditions_and_exclusions_hold_for_hits_and_near_misses() -> None:
    day = Condition(slot="day", values=("2027-04-18",))
    early = Condition(slot="start", most=720)
    asked = Filters(include=(day,), exclude=(early,))
    outcome = run("energy and water", filters=asked, score_threshold=0.2)
    for each in (*outcome.hits, *outcome.near_misses):
        assert passes(each.record, asked)
        assert each.record.start and clock_of(each.record.start) >= 720


@pytest.mark.parametrize("pick", ["first", "last", "longest", "shortest"])
def test_an_end_is_what_a_direct_look_at_the_records_says(pick: Pick) -> None:
    records = [each for each in search().catalogue.of_table(Table.SESSIONS) if each.start and each.end]
    measured = {each.id: each.end - each.start if "est" in pick else each.start for each in records}
    end = max if pick in ("last", "longest") else min
    expected = {each for each in measured if measured[each] == end(measured.values())}
    assert {each.record.id for each in run("", limit=200, pick=pick).hits} == expected


CONFIG = AssistantSection()
SUNDAY = Condition(slot="day", values=("2027-04-18",), said="Sunday")
EARLY = Condition(slot="start", most=420, said="before 07:00")
PERSON = Condition(slot="person", values=("Ada",))


def asks(topic: str, filters: Filters = Filters(), **changes: object) -> Question:  # noqa: B008
    return Question(text=topic, topic=topic, filters=filters).model_copy(update=changes)


def first_of(question: Question) -> PlannedQuery:
    return PlannedQuery(table=Table.SESSIONS, query_text=question.topic, filters=question.filters)


def passes_of(question: Question) -> list[tuple[Reflection, PlannedQuery]]:
    """Reflect until nothing is left."""
    plan, attempts, made = [first_of(question)], list[list[PlannedQuery]](), list[tuple[Reflection, PlannedQuery]]()
    while plan and len(made) < 10:
        outcomes = [search().run(query) for query in plan]
        attempts.append(plan)
        reflection = reflect(question, outcomes, attempts, search(), CONFIG)
        plan = list(reflection.queries)
        made += [(reflection, query) for query in plan]
    return made


QUESTIONS = (
    asks("bread and brewing in the kitchen"),
    asks("zyxomma qwertzuiop"),
    asks("radios", Filters(include=(SUNDAY, EARLY), without=("batteries",))),
    asks("", Filters(include=(SUNDAY, EARLY), exclude=(Condition(slot="room", values=("C.3.20 (Attic)",)),))),
)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: each.topic or "conditions")
def test_every_pass_is_new_and_keeps_what_was_excluded(question: Question) -> None:
    made = passes_of(question)
    forms = [query.model_dump_json() for _, query in made] + [first_of(question).model_dump_json()]
    assert len(forms) == len(set(forms))
    for reflection, query in made:
        assert query.filters.exclude == question.filters.exclude
        assert query.filters.without == question.filters.without
        assert reflection.strategy in ("relax", "rewrite", "pivot") and reflection.message and reflection.reasoning


def test_a_slip_is_mended_first_and_said() -> None:
    spread = search().vocabulary.spread
    word = max((each for each in spread if len(each) > 8), key=spread.get)  # type: ignore[arg-type]
    slip = word[:4] + word[5:]
    reflection, query = passes_of(asks(slip))[0]
    assert (reflection.strategy, query.query_text) == ("rewrite", word) and word in reflection.message


def test_where_nothing_is_then_a_condition_gives_way_and_is_named() -> None:
    reflection, query = passes_of(QUESTIONS[3])[0]
    assert query.filters.include == (SUNDAY,) and "before 07:00" in reflection.message
    late = [each.record.start for each in run("", limit=3, near=1260).hits]
    assert [each and each.hour for each in late] == [21, 17, 0] and query.near == 420
    assert fewer_conditions(Filters(include=(PERSON,))) == []
    assert all(PERSON in wider.include for wider, _ in fewer_conditions(Filters(include=(SUNDAY, EARLY, PERSON))))


def wished(question: Question, *scores: float) -> str | None:
    records = [
        Record(id=f"sessions:{n}", table=Table.SESSIONS, key=f"{n}", title=f"Title {n}") for n in range(len(scores))
    ]
    hits = tuple(Found(record=record, score=score) for record, score in zip(records, scores, strict=True))
    outcome = SearchOutcome(query=first_of(question), hits=hits, total=len(hits))
    return wish_after(question, [outcome], {"sessions": list(hits)}, CONFIG)


def test_a_search_is_wished_again_where_it_was_poor_and_only_there() -> None:
    assert wished(asks("bees")) == "no sessions found"
    assert wished(asks("bees"), 0.4, 0.4, 0.4) == "the sessions found fit only loosely"
    assert wished(asks("bees"), 0.6) == "only 1 session found"
    assert wished(asks("bees"), 0.9) is None and wished(asks("bees"), 0.6, 0.6, 0.6) is None
    assert wished(asks("bees", Filters(include=(PERSON,))), 0.6) is None
    assert wished(asks("", Filters(include=(SUNDAY,)))) is None
    assert wished(asks("", Filters(include=(SUNDAY, EARLY)))) == "nothing at that time and place"
    assert wished(asks("thanks", operation="thanks")) is None


OWN = Reflection(reasoning="By rules.", strategy="rewrite", message="I look.", queries=(first_of(asks("honey")),))


def replied(
    *queries: dict[str, object],
    question: Question = asks("bees"),  # noqa: B008
    tried: str = "",
    message: str = "I look\nagain.",
) -> Reflection:
    given = {"reasoning": "Why.", "message": message, "queries": list(queries)}
    attempts = [[first_of(asks(tried))]] if tried else []
    return reflection_of(ReflectionReply.model_validate(given), question, attempts, OWN, CONFIG)


def test_a_models_plan_keeps_persons_and_exclusions_and_has_no_other_conditions() -> None:
    filters = Filters(include=(SUNDAY, PERSON), without=("wasps",))
    queries = (
        {"table": "sessions", "query_text": "x"},
        {"table": "sessions", "query_text": "x", "keep_filters": False},
    )
    kept, wider = replied(*queries, question=asks("bees", filters)).queries
    assert kept.filters == filters
    assert (wider.filters.include, wider.filters.without) == ((PERSON,), ("wasps",))


def test_a_models_repeats_and_wild_searches_are_refused() -> None:
    made = replied(
        {"table": "sessions", "query_text": "Bees"}, {"table": "exhibitors", "query_text": " "}, tried="bees"
    )
    assert made.queries == OWN.queries and "2 were refused" in made.reasoning
    (query,) = replied({"table": "sessions", "query_text": "anything", "score_threshold": 0.0}).queries
    assert query.score_threshold == 0.2


@pytest.mark.parametrize(
    ("query", "strategy"),
    [
        ({"table": "sessions", "query_text": "Bees", "score_threshold": 0.25}, "relax"),
        ({"table": "sessions", "query_text": "apiculture"}, "rewrite"),
        ({"table": "exhibitors", "query_text": "bees"}, "pivot"),
        ({"table": "exhibitors", "query_text": "apiculture"}, "pivot"),
    ],
)
def test_a_models_plan_is_told_from_its_searches(query: dict[str, object], strategy: str) -> None:
    made = replied(query, tried="bees", message="  ")
    assert made.strategy == strategy
    assert made.message == f'There is too little so far, so I look for "{query["query_text"]}".'


def test_what_is_made_from_a_conference_is_made_once_for_all_who_ask_at_the_same_time():
    searched, found, all_here = Search(shared_sample()), [], threading.Barrier(8)

    def ask():
        all_here.wait()
        found.append(searched.vocabulary)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len({*map(id, found)}) == 1
