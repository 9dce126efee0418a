"""The answer without a chat model: what was computed, a list that explains each hit, and plainly what was not found."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

from loopwright.workflows.assistant import schemas
from loopwright.workflows.assistant.answer import operating
from loopwright.workflows.assistant.answer.lines import Telling, differences, line_of, sentence, titled
from loopwright.workflows.assistant.answer.references import offered, referenced
from loopwright.workflows.assistant.answer.wording import NOUNS, about, begins, described, excluded, joined, plain
from loopwright.workflows.assistant.config import SearchSection
from loopwright.workflows.assistant.constants import DEFAULT_LIMIT, SURE
from loopwright.workflows.assistant.sources.catalogue import Catalogue, unmet
from loopwright.workflows.assistant.sources.info import ConferenceInfo
from loopwright.workflows.assistant.state import asked_at, asked_of

BESIDE = 0.38
"""Beside the best record, others must have this share of its evidence."""
NEAR = 0.2
"""The evidence from which a record may be what was asked for; below, what comes nearest is probably something else."""
RELATED = 0.12
"""What has less evidence is not related to the question at all."""
SHORT = 8
"""The words of a question that says no more than it asks."""
NEAREST = 4
"""Where nothing fits, at most so many records that come near are told at length; others are only named."""
EXAMPLES = (
    "Ask me what is on at a time, in a room or about a topic, who speaks about something, or which exhibitors there "
    "are: for example “what is on about security on the first day?” or “who can I talk to about storage?”"
)
"""What can be asked."""
Hits: TypeAlias = Sequence[schemas.Found]
Outcomes: TypeAlias = Sequence[schemas.SearchOutcome]
_FEW = 3
_AS_SURE = 0.8
_IN_TIME: tuple[schemas.Operation, ...] = ("now", "next", "count")
_LEADS: dict[schemas.Operation, str] = {
    "first": "The first", "last": "The last", "longest": "The longest", "shortest": "The shortest", "now": "On now",
    "next": "Next", "previous": "The last that is over",
}  # fmt: skip
"""What is to be done -> how the list of what was found begins."""


def list_answer(state: Mapping[str, Any], catalogue: Catalogue, config: SearchSection) -> schemas.Draft:
    """Answer with what was computed, or with the best hits, each with its mark, its time and place, and why it fits.

    It is ``answered`` only where a cited record fits all that was asked; where the nearest only come near, that is
    said, and the status is ``partial`` or ``nothing_found``.

    Reads ``question``, ``query_results``, ``near_misses``, ``outcomes`` and ``thinking_updates``.
    """
    question, info = asked_of(state), catalogue.info
    if not question.searches:
        return _without_search(question, info)
    outcomes: Outcomes = state.get("outcomes") or ()
    query_results: Mapping[str, Hits] = state.get("query_results") or {}
    if question.operation in ("most", "clash"):
        best = partial(operating.leading, question, outcomes)
        query_results = {table: best(found) for table, found in query_results.items()}
    hits = offered(query_results, config.limit)
    near = [*chain.from_iterable((state.get("near_misses") or {}).values())]
    status, told = chosen(question, hits, outcomes, config.score_threshold, near)
    computed = _computed(question, told, outcomes, asked_at(state))
    notes = [plain(note) for note in question.notes]
    left_out = excluded(question.filters)
    if not told:
        where = f" of {plain(info.title)}" if info and info.title else ""
        nothing = f"I found no {_things(question)}{_asked(question)} in the programme{where}"
        widely = ", also when I searched more widely" if state.get("thinking_updates") else ""
        computed = computed if outcomes and question.operation in ("count", "most") else ""
        barred = f"I left out what is {left_out}" if left_out else ""
        advice = f"Try other words{', or without the limits' if question.filters.include else ''}."
        otherwise = EXAMPLES if question.filters.empty else "Try another time, place or person."
        said = [*notes, computed or f"{nothing}{widely}", barred, advice if question.topic else otherwise]
        done: schemas.Status = "answered" if computed and not (notes or question.doubted) else "nothing_found"
        return schemas.Draft(text=" ".join(sentence(each) for each in said if each), status=done)
    if (question.doubted or question.unread) and status == "answered":
        status = "partial"
    if question.wanted and status == "answered":
        told = told[: question.wanted]
    alike = [differences(found.record, _all_asked(question)) for found in told]
    telling = Telling(
        topic=question.topic,
        filters=_all_asked(question),
        known=catalogue.records,
        cited=frozenset(found.record.id for found in told),
        detail=len(told) <= _FEW,
        shared=tuple(part for part in alike[0] if all(part in others for others in alike)),
    )
    missing = [table for table in question.tables if table not in {found.record.table for found in told}]
    head = [*notes, _lead(question, told, status, telling, computed)]
    # What was not taken as asked is said before it; what is listed fits the rest.
    whole: schemas.Status = "partial" if notes and status == "answered" else status
    if missing and status == "answered" and len(question.tables) > 1 and question.tables[0] in missing:
        head.insert(0, f"I found no {joined((NOUNS[table][1] for table in missing), 'or')} for this.")
    if left_out:
        head.insert(-1, f"I left out what is {left_out}.")
    further = told[NEAREST:] if status != "answered" and not question.unread else []
    told = told[: len(told) - len(further)]
    titles = (f"{titled(each.record, 60)}{f' ({when})' if (when := begins(each.record)) else ''}" for each in further)
    perhaps = f"Perhaps also: {'; '.join(titles)}." if further else ""
    after = [perhaps, _more(question, told, outcomes) if status == "answered" else ""]
    hits = [*hits, *told, *further, *(each for outcome in outcomes for each in outcome.hits)]
    begin = " ".join(map(sentence, filter(None, head)))
    text = "\n\n".join([begin, *_groups(question, told, telling), *filter(None, after)])
    return schemas.Draft(text=text, referenced_ids=referenced(text, [found.record.id for found in hits]), status=whole)


def chosen(
    question: schemas.Question,
    hits: Hits,
    outcomes: Outcomes,
    threshold: float,
    near: Hits = (),
) -> tuple[schemas.Status, list[schemas.Found]]:
    """How well the best hits fit what was asked, and which of them are told.

    What came near over all plans is told where nothing fits, and beside what fits where it has enough of the best one's
    evidence.
    """
    fitting = [found for found in hits if _fits(found.record, question)]
    parts = len(question.parts) > 1
    best = max((found.score for found in (hits if parts else fitting)), default=0.0)
    named = question.filters.values("person") or (question.filters.values("record") and not question.topic)
    sure = min(SURE, threshold + 0.15)
    # In a few words, one that nobody uses here is the point.
    strange = [{*outcome.strangers} for outcome in outcomes]
    unproven = len(question.text.split()) <= SHORT and any(each.intersection(*strange) for each in strange)
    if fitting and (not question.topic or (best >= sure and not unproven)):
        beside = [found for found in near if _fits(found.record, question)] if question.topic else []
        good = [found for found in fitting if parts or found.score >= BESIDE * best]
        return "answered", [*good, *_beside(question, good, beside, best)]
    if fitting and named and question.operation not in ("count", "most"):
        # A person's sessions are told whatever else is said of the person, but not as if they were about that.
        return "partial", fitting
    # What an earlier search saw in a record is not lost by a later one that went by something else.
    seen = [*near, *(found for outcome in outcomes for found in outcome.near_misses), *hits]
    close = {found.record.id: found for found in sorted(seen, key=lambda found: found.score)}
    related = [found for found in close.values() if found.score >= RELATED]
    if not related or question.operation in ("count", "most"):
        return "nothing_found", []
    nearest = sorted(related, key=lambda found: -found.score)[:DEFAULT_LIMIT]
    close_enough = nearest[0].score >= (max(NEAR, sure) if unproven else NEAR)
    return ("partial" if close_enough else "nothing_found"), nearest


def _fits(record: schemas.Record, question: schemas.Question) -> bool:
    """Whether a record meets all that was asked; of several needs, those of one."""
    needs = question.parts if question.operation == "find" else ()
    return any(not unmet(record, each) for each in [part.filters for part in needs] or [_all_asked(question)])


def _beside(question: schemas.Question, good: Hits, near: Hits, best: float) -> list[schemas.Found]:
    """What came near and belongs beside what fits; of the few stands all that are related: to pass by costs little."""
    if question.parts or question.operation != "find":
        return []
    stands = question.tables == (schemas.Table.EXHIBITORS,)
    known = {found.record.id for found in good}
    least = RELATED if stands else BESIDE * best
    further = [each for each in near if each.score >= least and each.record.id not in known]
    return further[: max(0, DEFAULT_LIMIT - len(good))]


def _without_search(question: schemas.Question, info: ConferenceInfo | None) -> schemas.Draft:
    conference = plain(info.title) if info else "the conference"
    if question.operation == "outside":
        text = (
            f"That is outside of what the programme of {conference} tells: I know its sessions, speakers and "
            "exhibitors, their times and rooms. The conference's own pages or its information desk will know."
        )
        return schemas.Draft(text=text, status="out_of_scope")
    if question.notes:
        return schemas.Draft(text=" ".join(sentence(plain(note)) for note in question.notes))
    said = {
        "help": f"I answer questions about {conference} from its own programme. {EXAMPLES}",
        "thanks": f"You are welcome. Ask me anything else about {conference}.",
    }
    return schemas.Draft(text=said.get(question.operation, f"Hello. {EXAMPLES}"))


def _lead(question: schemas.Question, told: Hits, status: schemas.Status, telling: Telling, computed: str) -> str:
    if status != "answered" and question.operation not in ("count", "most"):
        if question.unread:
            unread = joined(f"“{plain(word)}”" for word in question.unread)
            return f"I do not know what to make of {unread}; this is all{_asked(question)}:"
        near = f"{'This comes' if len(told) == 1 else 'These come'} nearest"
        differs = f", {joined(telling.shared)} than asked" if telling.shared else ""
        begin = "I found no" if telling.shared or status == "nothing_found" else "I am not sure that I found"
        things = _things(question) if begin == "I found no" else "anything"
        return f"{begin} {things}{_asked(question)}. {near}{differs}:"
    if computed:
        return computed
    asked = _asked(question)
    if question.operation in _LEADS:
        return f"{_LEADS[question.operation]}{re.sub(' (?:until |from )?now(?: on)?$', '', asked)}:"
    if question.query_mode == "profile" or (question.operation == "recommend" and not question.topic):
        return f"What may suit you{asked}:"
    persons = question.filters.values("person")
    if len(persons) == 1 and not (question.topic or question.filters.exclude) and len(question.filters.include) == 1:
        count = len(operating.sessions_in(told))
        return f"{plain(persons[0])} has {count} session{'s' * (count != 1)}:" if count else f"{plain(persons[0])}:"
    return f"What I found{asked}:"


def _computed(question: schemas.Question, told: Hits, outcomes: Outcomes, now: datetime | None) -> str:
    if question.operation == "count":
        return operating.counted(question, outcomes, _asked(question))
    if question.operation == "most":
        return operating.most(question, outcomes, _asked(question))
    if question.operation == "clash":
        sides = [operating.sessions_in(outcome.hits) for outcome in outcomes]
        parted = question.parts and len(sides) == len(question.parts)
        return operating.clashing(sides if parted else [[each] for each in operating.sessions_in(told)])
    if question.operation == "compare":
        return operating.compared(operating.sessions_in(told))
    if question.operation == "until" and told:
        # Of several that are meant as surely, the one that comes first.
        meant = [each.record for each in told if each.score >= _AS_SURE * told[0].score]
        timed = {each.start.timestamp(): each for each in meant if each.start}
        return operating.until(timed[(max if question.by else min)(timed)] if timed else meant[0], now)
    return ""


def _asked(question: schemas.Question) -> str:
    if question.parts:
        return ""
    said = " ".join(filter(None, (about(question.topic), described(question.filters))))
    return f" {said}" if said else ""


def _all_asked(question: schemas.Question) -> schemas.Filters:
    """The filters of the question; where it has parts, each part's own were searched with."""
    return question.filters if not question.parts else question.filters.model_copy(update={"include": ()})


def _things(question: schemas.Question) -> str:
    things = joined((NOUNS[table][1] for table in question.tables or (schemas.Table.SESSIONS,)), "or")
    return f"other {things}" if any(each.slot == "record" for each in question.filters.exclude) else things


def _groups(question: schemas.Question, told: Hits, telling: Telling) -> list[str]:
    """The hits by the part of the question that they answer, else by table; what was asked for first stands first."""
    if question.parts and question.operation == "find":
        return _by_part(question.parts, told, telling)
    tables = dict.fromkeys((*question.tables, *(found.record.table for found in told)))
    by_table = {table: own for table in tables if (own := [found for found in told if found.record.table is table])}
    lines: list[str] = []
    for table, hits in by_table.items():
        if question.operation in _IN_TIME or not (question.topic or question.parts):
            hits.sort(key=lambda each: each.record.start.timestamp() if each.record.start else 0.0)
        if len(by_table) > 1:
            lines.append(f"**{NOUNS[table][1].title()}**")
        lines.append("\n".join(line_of(found, telling) for found in hits))
    return lines


def _by_part(parts: Sequence[schemas.Question], told: Hits, telling: Telling) -> list[str]:
    left, lines = list(told), list[str]()
    for part in parts:
        asked = {word.casefold() for word in part.topic.split()}
        fitting = [found for found in left if not unmet(found.record, part.filters)]
        own = [found for found in fitting if not asked or asked & {term.casefold() for term in found.terms}]
        left = [found for found in left if found not in own]
        said = _asked(part).strip()
        lines.append(f"**{said[:1].upper()}{said[1:]}**" + ("" if own else ": nothing that fits."))
        lines += ["\n".join(line_of(found, telling) for found in own)] if own else []
    return [*lines, *(["\n".join(line_of(found, telling) for found in left)] if left else [])]


def _more(question: schemas.Question, told: Hits, outcomes: Outcomes) -> str:
    """What the list leaves out, as far as the search counted it."""
    if question.topic or question.operation in ("most", "recommend", "clash", "compare", *_LEADS.keys() - {"now"}):
        return ""
    rest = sum(outcome.total for outcome in outcomes) - len(told)
    return f"And {rest} more: name a day, a time, a room or a topic to see others." if rest > 0 else ""
