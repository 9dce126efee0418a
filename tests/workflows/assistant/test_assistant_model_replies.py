"""What becomes of a chat model's replies: the rules stand wherever a small model says nothing, or what is not so."""

from __future__ import annotations

from loopwright.workflows.assistant.nodes.planning import PlanReply
from loopwright.workflows.assistant.question.reading import Reader
from loopwright.workflows.assistant.question.understanding import understand
from loopwright.workflows.assistant.schemas import Condition, Filters, Question, Table
from loopwright.workflows.assistant.searching.search import Search
from loopwright.workflows.assistant.sources.sample import sample_store

RULES = Question(
    text="Whom should I meet about bees?",
    tables=(Table.ATTENDEES, Table.SPEAKERS),
    topic="bees",
)


def test_where_every_word_sets_a_filter_the_rules_say_where_to_look_and_for_what() -> None:
    timed = RULES.model_copy(
        update={"topic": "", "filters": Filters(include=(Condition(slot="day", values=("2027-04-17",)),))}
    )
    reply = PlanReply(standalone="x", tables=[Table.EXHIBITORS], topic="Sunday morning")
    made = reply.over(timed, list(Table))
    assert (made.tables, made.topic) == (RULES.tables, "")


def test_what_is_excluded_stays_excluded_whatever_a_model_says() -> None:
    """A model may add to what is not wanted, and takes nothing away."""
    barred = RULES.model_copy(update={"filters": Filters(without=("wasps",))})
    made = PlanReply(standalone="x", topic="bees", without=[" hornets "]).over(barred, list(Table))
    assert made.filters.without == ("wasps", "hornets")


def test_one_reply_fills_all_of_a_question_and_what_the_programme_lacks_is_no_filter() -> None:
    """Words of a condition are read as the rules read them; a room that is not there bars nothing and asks nothing."""
    with sample_store() as store:
        search = Search(store)
        rules = understand("well, you know, that bread thing, for my mum", search)
        reply = PlanReply.model_validate(
            {
                "standalone": "x",
                "operation": "count",
                "counted": "speakers",
                "tables": ["sessions"],
                "topic": "bread",
                "where": ["on Saturday", "after 11:00", "in the Moon Room"],
                "without": ["cheese", "in the Library", "by Kwame Asante"],
                "needs": [{"topic": "bread", "where": ["on Sunday"]}, {"topic": "glass", "where": ["workshops"]}],
            }
        )
        made = reply.over(rules, list(Table), Reader(search, None).conditions)
    asked = {each.slot: each for each in made.filters.include}
    assert (made.operation, made.by, made.topic) == ("count", "speakers", "bread")
    assert asked["day"].values == ("2027-04-17",) and asked["start"].least == 11 * 60 and "room" not in asked
    assert {each.slot for each in made.filters.exclude} == {"room", "person"} and made.filters.without == ("cheese",)
    first, second = made.parts
    assert [each.values for each in first.filters.include if each.slot == "day"] == [("2027-04-18",)]
    assert (second.topic, second.filters.values("type")) == ("glass", ("workshop",))
    assert second.filters.exclude == made.filters.exclude, "what is not wanted holds for every part"
