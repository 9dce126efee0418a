"""When another search is wished for, the mechanical retry, and a chat model's plan."""

from __future__ import annotations

from datetime import date, datetime, time
from zoneinfo import ZoneInfo

import pytest

from loopwright.workflows.assistant.conference.info import ConferenceInfo
from loopwright.workflows.assistant.config import AssistantSection
from loopwright.workflows.assistant.reflecting import ReflectionReply, reflection_of, relaxed, wish_after
from loopwright.workflows.assistant.reflecting.loosening import can_be_loosened, loosened
from loopwright.workflows.assistant.reflecting.plans import MAX_QUERIES, Plan
from loopwright.workflows.assistant.schemas import (
    Filters,
    Found,
    PlannedQuery,
    Record,
    Reflection,
    SearchOutcome,
    Table,
    Understanding,
)

CONFIG = AssistantSection()
ANY = Filters()
ZONE = ZoneInfo("Europe/Brussels")
INFO = ConferenceInfo(
    title="Test", start=date(2025, 2, 1), end=date(2025, 2, 2), time_zone="Europe/Brussels", day_change=time(9)
)
SUNDAY_NOON = datetime(2025, 2, 2, 12, tzinfo=ZONE)


def found(key: str, score: float, table: Table = Table.SESSIONS) -> Found:
    return Found(record=Record(id=f"{table.value}:{key}", table=table, key=key, title=f"Title {key}"), score=score)


def asks(topic: str = "bees", tables: tuple[Table, ...] = (Table.SESSIONS,), **changes: object) -> Understanding:
    return Understanding(
        standalone="?", intent="sessions on a topic", query_mode="specific", tables=tables, topic=topic
    ).model_copy(update=changes)


def wished(understanding: Understanding, *scores: float, filters: Filters = ANY, table: Table = Table.SESSIONS):
    hits = tuple(found(str(n), score, table) for n, score in enumerate(scores))
    query = PlannedQuery(table=table, query_text=understanding.topic, filters=filters)
    outcome = SearchOutcome(query=query, hits=hits, total=len(hits))
    return wish_after(understanding, [outcome], {table.value: list(hits)}, CONFIG)


def test_each_kind_of_wish_names_its_tables_and_its_reason():
    none = wished(asks())
    assert none is not None and (none.kind, none.tables) == ("no_results", (Table.SESSIONS,))
    assert none.reason == "no sessions found"
    few = wished(asks(), 0.6, 0.55)
    assert few is not None and (few.kind, few.tables) == ("too_few", (Table.SESSIONS,))
    assert few.reason == "only 2 sessions found"
    weak = wished(asks(), 0.40, 0.39, 0.38, 0.37)
    assert weak is not None and (weak.kind, weak.tables) == ("weak", (Table.SESSIONS,))


@pytest.mark.parametrize(
    ("understanding", "scores"),
    [
        (asks(), (0.8, 0.7, 0.6)),
        (asks(), (0.95,)),
        (asks(filters=Filters(speakers=("Ada",))), (0.6,)),
        (asks(smalltalk=True), ()),
        (asks(topic=""), (1.0,)),
    ],
    ids=["enough and near", "one that was meant", "few of one person", "smalltalk", "all there is at that time"],
)
def test_no_wish_where_nothing_better_can_be_expected(understanding: Understanding, scores: tuple[float, ...]):
    assert wished(understanding, *scores) is None


def test_a_question_without_topic_is_helped_only_by_looser_filters():
    at_noon, on_sunday = Filters(at=SUNDAY_NOON), Filters(days=("2025-02-02",))
    wish = wished(asks(topic="", filters=at_noon), filters=at_noon)
    assert wish is not None and wish.kind == "no_results"
    assert wished(asks(topic="", filters=on_sunday), filters=on_sunday) is None


def test_a_table_without_results_is_wished_for_alone():
    understanding = asks(tables=(Table.SESSIONS, Table.EXHIBITORS))
    hits = [found(str(n), 0.8) for n in range(4)]
    outcomes = [
        SearchOutcome(query=PlannedQuery(table=Table.SESSIONS, query_text="bees"), hits=tuple(hits)),
        SearchOutcome(query=PlannedQuery(table=Table.EXHIBITORS, query_text="bees")),
    ]
    wish = wish_after(understanding, outcomes, {"sessions": hits, "exhibitors": []}, CONFIG)
    assert wish is not None and wish.tables == (Table.EXHIBITORS,)


def test_results_of_earlier_plans_count():
    outcome = SearchOutcome(query=PlannedQuery(table=Table.SESSIONS, query_text="apiculture"))
    earlier = {"sessions": [found(str(n), 0.8) for n in range(3)]}
    assert wish_after(asks(), [outcome], earlier, CONFIG) is None


def test_a_plan_without_queries_ends_the_wishing():
    assert wish_after(asks(), [], {}, CONFIG) is None


def test_the_mechanical_retry_widens_only_what_brought_too_little():
    poor = PlannedQuery(table=Table.EXHIBITORS, query_text="bees", search_mode="faceted")
    rich = PlannedQuery(table=Table.SESSIONS, query_text="bees")
    outcomes = [
        SearchOutcome(query=rich, hits=tuple(found(str(n), 0.9) for n in range(5))),
        SearchOutcome(query=poor),
    ]
    (first,) = relaxed([rich, poor], outcomes, CONFIG)
    assert (first.table, first.query_text, first.search_mode) == (Table.EXHIBITORS, "bees", "faceted")
    assert first.score_threshold < poor.score_threshold and first.limit > poor.limit
    (second,) = relaxed([first], [SearchOutcome(query=first)], CONFIG)
    assert second.search_mode == "master" and second.score_threshold < first.score_threshold


def test_the_mechanical_retry_widens_all_where_each_was_only_weak_and_stays_within_the_limits():
    query = PlannedQuery(table=Table.SESSIONS, query_text="bees", limit=150)
    outcome = SearchOutcome(query=query, hits=tuple(found(str(n), 0.36) for n in range(5)))
    (wide,) = relaxed([query], [outcome], CONFIG)
    assert wide.limit == 200


def test_looser_filters_come_from_the_nearest_to_the_farthest_and_keep_the_person():
    asked = Filters(at=SUNDAY_NOON, rooms=("Janson",), speakers=("Ada",))
    looser = [filters for filters, _ in loosened(asked, INFO)]
    assert all(filters.speakers == ("Ada",) for filters in looser)
    first = looser[0]
    assert first.at is None and first.rooms == ("Janson",)
    assert first.after is not None and first.before is not None and first.after < SUNDAY_NOON < first.before
    assert looser[1] == Filters(days=("2025-02-02",), rooms=("Janson",), speakers=("Ada",))
    assert looser[-1] == Filters(days=("2025-02-02",), speakers=("Ada",))
    assert len(set(looser)) == len(looser) and asked not in looser


def test_a_time_after_midnight_belongs_to_the_day_before():
    asked = Filters(after=datetime(2025, 2, 2, 1, 30, tzinfo=ZONE))
    (only, told), *_ = loosened(asked, INFO)
    assert only.days == ("2025-02-01",) and told == "at another time of the day"


def test_what_must_stay_cannot_be_loosened():
    for filters in (Filters(), Filters(days=("2025-02-01",)), Filters(speakers=("Ada",)), Filters(languages=("de",))):
        assert not can_be_loosened(filters)
    assert can_be_loosened(Filters(days=("2025-02-01",), rooms=("Janson",)))


def test_a_plan_refuses_what_equals_an_earlier_query_in_every_parameter():
    query = PlannedQuery(table=Table.SESSIONS, query_text="Bees  and honey")
    plan = Plan([[query]])
    assert not plan.add(query.model_copy(update={"query_text": "bees and  HONEY"}))
    assert plan.why_refused == "searched before"
    changes = [{"limit": 11}, {"score_threshold": 0.3}, {"table": Table.SPEAKERS}, {"query_text": "x"}]
    assert all(plan.add(query.model_copy(update=change)) for change in changes)
    assert len(plan.queries) == MAX_QUERIES and plan.full
    assert not plan.add(query.model_copy(update={"search_mode": "faceted"}))


OWN = Reflection(
    reasoning="By rules.",
    strategy="rewrite",
    message="I look for honey.",
    queries=(PlannedQuery(table=Table.SESSIONS, query_text="honey"),),
)


def reply(*queries: dict[str, object], **changes: object) -> ReflectionReply:
    given = {"reasoning": "Why.", "strategy": "rewrite", "message": "I look\nagain.", "queries": list(queries)}
    return ReflectionReply.model_validate({**given, **changes})


def test_a_models_plan_keeps_the_questions_filters_and_has_no_others():
    understanding = asks(filters=Filters(rooms=("Janson",), languages=("en",)))
    made = reflection_of(
        reply(
            {"table": "sessions", "query_text": "apiculture"},
            {"table": "sessions", "query_text": "apiculture", "keep_filters": False},
        ),
        understanding,
        [],
        OWN,
        CONFIG,
    )
    assert [query.filters for query in made.queries] == [understanding.filters, Filters(languages=("en",))]
    assert made.message == "I look again." and made.strategy == "rewrite"


def test_a_models_repeats_and_empty_searches_are_refused_and_named():
    tried = PlannedQuery(table=Table.SESSIONS, query_text="bees")
    made = reflection_of(
        reply(
            {"table": "sessions", "query_text": "Bees"},
            {"table": "exhibitors", "query_text": " "},
            {"table": "sessions", "query_text": "apiculture"},
        ),
        asks(),
        [[tried]],
        OWN,
        CONFIG,
    )
    assert [query.query_text for query in made.queries] == ["apiculture"]
    assert "searched before" in made.reasoning and "neither words nor filters" in made.reasoning


def test_where_nothing_of_a_models_plan_is_left_the_rules_stand():
    tried = PlannedQuery(table=Table.SESSIONS, query_text="bees")
    made = reflection_of(reply({"table": "sessions", "query_text": "bees"}), asks(), [[tried]], OWN, CONFIG)
    assert (made.queries, made.message, made.strategy) == (OWN.queries, OWN.message, OWN.strategy)
    assert made.reasoning.startswith("By rules.") and "searched before" in made.reasoning


def test_a_model_cannot_make_results_of_whatever_there_is():
    wild = {"table": "sessions", "query_text": "anything", "score_threshold": 0.0}
    (query,) = reflection_of(reply(wild, strategy="relax"), asks(), [], OWN, CONFIG).queries
    assert query.score_threshold == 0.2
