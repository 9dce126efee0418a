"""What the question asks for, and where to look."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal

from pydantic import BaseModel

from loopwright.retrieval.web import untrusted_line
from loopwright.retrieval.web.cleaning import collapse
from loopwright.workflows.assistant.constants import PLAN_QUERIES, UPDATE_PROFILE
from loopwright.workflows.assistant.question.personal import forgets_all, forgotten
from loopwright.workflows.assistant.question.plan import plan
from loopwright.workflows.assistant.question.reading import Reader
from loopwright.workflows.assistant.question.understanding import understand
from loopwright.workflows.assistant.schemas import Condition, Filters, Operation, QueryMode, Question, Table
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.state import AssistantState, asked_at, question_of

Reading = Callable[[str], Sequence[Condition]]
"""Reads the conditions of a few words against the conference: its days, rooms, tracks and persons."""


class NeedReply(BaseModel):
    """One of several things that a question asks for."""

    topic: str = ""
    """What it is about."""
    where: list[str] = []
    """What it asks of time, place, kind and persons, in the question's words."""


class PlanReply(BaseModel):
    """A chat model's reading of a question: all that a `Question` holds.

    Times, places, kinds and persons come in the question's words, and are read against the schedule as the rules read
    them: what is not there is no filter.
    """

    standalone: str
    """The question as it stands without the conversation before it."""
    operation: Operation | None = None
    """What is to be done with what fits; null leaves it to the rules."""
    counted: Literal["", "day", "room", "track", "speakers"] = ""
    """What is counted or has the most, if not sessions."""
    query_mode: QueryMode | None = None
    """Whether the question or the person's profile decides; null leaves it to the rules."""
    tables: list[Table] = []
    """Where to look, the most important first."""
    topic: str = ""
    """What it is about, in words that the programme may use; empty if it is about no topic."""
    where: list[str] = []
    """What is asked of time, place, kind and persons, in the question's words, for example "on Saturday"."""
    without: list[str] = []
    """What is not wanted: topics, or times, places, kinds and persons in the question's words."""
    needs: list[NeedReply] = []
    """Where several things are asked for, each on its own."""

    def over(self, rules: Question, present: Collection[Table], read: Reading = lambda _: ()) -> Question:
        """What was understood, where the model's reading goes before that of the rules.

        Where the rules see no topic, every word of the question asks for a time, a place or a kind of record, which
        they know for certain; small models would search for those words, and in other tables. What the rules exclude
        stays excluded.
        """
        said: dict[str, Any] = {"query_mode": self.query_mode or rules.query_mode}
        filters = self._filters(self.where, rules.filters, read)
        needs = (need for need in self.needs if need.topic or need.where)
        apart = ((collapse(need.topic), self._filters(need.where, filters, read)) for need in needs)
        parts = [Question(text=rules.text, topic=topic, tables=rules.tables, filters=own) for topic, own in apart]
        if len(parts) > 1 and not rules.parts:
            said["parts"] = tuple(parts)
        # What asks for a search is no greeting, and what is compared must be told apart.
        asked = rules.model_copy(update={"operation": self.operation or "find"})
        sided = self.operation not in ("clash", "compare") or said.get("parts") or rules.parts
        if rules.operation in ("find", "outside") and sided and (asked.searches or asked.operation == "outside"):
            said["operation"] = self.operation or rules.operation
        if said.get("operation", rules.operation) in ("count", "most"):
            said["by"] = rules.by or self.counted
        if rules.topic and not rules.parts:
            tables = tuple(dict.fromkeys(table for table in self.tables if table in present))
            # To look everywhere is to say nothing.
            chosen = tables if 0 < len(tables) < len(present) else rules.tables
            said |= {"tables": chosen, "topic": collapse(self.topic) or rules.topic}
        return rules.model_copy(update={**said, "filters": filters if rules.topic or self.where else rules.filters})

    def _filters(self, where: Sequence[str], known: Filters, read: Reading) -> Filters:
        """Filters with more conditions, each in the place of what was known of its slot; what is excluded is added."""
        wanted = [each for phrase in where for each in read(phrase)]
        barred = [(collapse(phrase), read(phrase)) for phrase in self.without]
        exclude = tuple(dict.fromkeys([*known.exclude, *(each for _, found in barred for each in found)]))
        without = dict.fromkeys([*known.without, *(phrase for phrase, found in barred if phrase and not found)])
        slots = {each.slot for each in wanted}
        include = (*(each for each in known.include if each.slot not in slots), *wanted)
        kept = tuple(each for each in dict.fromkeys(include) if each not in exclude)
        return Filters(include=kept, exclude=exclude, without=tuple(without))


async def plan_queries(state: AssistantState, services: Services) -> dict[str, Any]:
    """Read the question and plan the searches.

    Reads ``messages``, ``user_context``, ``profile`` and ``history``; gives ``question``, ``intent``, ``query_mode``,
    ``planned_queries``, and ``original_planned_queries``, a snapshot that is set once.
    """
    question = _read(state, services)
    present = [table for table in Table if services.search.catalogue.of_table(table)]
    # Smalltalk asks for no search, and what is asked of the conference itself is answered from its own data.
    asks = question.operation in ("find", "recommend", "outside") or (question.searches and question.topic)
    if services.chat(PLAN_QUERIES) is not None and asks:
        history = state.get("history") or []
        reply = await services.reply(
            PLAN_QUERIES,
            PlanReply,
            question=question_of(state),
            history="\n".join(f"- {turn.role}: {untrusted_line(turn.text[:500])}" for turn in history) or "none",
            tables=", ".join(present),
        )
        # What the model makes of the conversation is read by the rules again: for names, times and places. Without a
        # conversation the question stands alone as it is.
        if history and reply.standalone.strip():
            question = _read(state, services, reply.standalone)
        if question.searches or question.operation == "outside":
            reader = Reader(services.search, asked_at(state))
            question = reply.over(question, present, reader.conditions)
    return _planned(question, state, services)


def planned_by_rules(state: AssistantState, services: Services) -> dict[str, Any]:
    """The same without a model."""
    return _planned(_read(state, services), state, services)


def _read(state: AssistantState, services: Services, standalone: str | None = None) -> Question:
    text = standalone or question_of(state)
    history = () if standalone else state.get("history") or ()
    question = understand(text, services.search, now=asked_at(state), history=history, profile=state.get("profile"))
    if forgets_all(question.text):
        profile = state.get("profile") if state.get("error_node") != UPDATE_PROFILE else None
        return question.model_copy(update={"notes": (forgotten(profile, state.get("user_context") or {}),)})
    return question


def _planned(question: Question, state: AssistantState, services: Services) -> dict[str, Any]:
    queries = plan(question, services.config.assistant, state.get("profile"))
    return {
        "question": question,
        "intent": question.operation,
        "query_mode": question.query_mode,
        "planned_queries": queries,
        "original_planned_queries": queries,
    }
