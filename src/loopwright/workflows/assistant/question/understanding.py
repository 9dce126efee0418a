"""What a question asks for, by rules: no chat model, and nothing that holds for one conference only."""

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import get_args

from loopwright.retrieval.text import STOP_WORDS, fold, terms
from loopwright.workflows.assistant.constants import MAX_LIMIT, SURE
from loopwright.workflows.assistant.question.conversation import ON_RECORDS, Beside, around, asked_in, is_around
from loopwright.workflows.assistant.question.facts import facts_of
from loopwright.workflows.assistant.question.moments import position_at
from loopwright.workflows.assistant.question.names import grouped
from loopwright.workflows.assistant.question.negation import TIMES, cue_at
from loopwright.workflows.assistant.question.personal import forgets_all, told_of
from loopwright.workflows.assistant.question.reading import Reader, gap_between
from loopwright.workflows.assistant.question.tokens import Sentence
from loopwright.workflows.assistant.schemas import (
    Condition,
    Filters,
    PlannedQuery,
    Profile,
    Question,
    Record,
    Slot,
    Table,
    Turn,
)
from loopwright.workflows.assistant.searching.lexicon import words
from loopwright.workflows.assistant.searching.search import Search

_JOINED = ("vs versus", "or oder ou o", "and & und et y en", "with", "before after than as")
_JOINS = [frozenset(each.split()) for each in _JOINED]
"""What stands between two things, the clearest first."""
_SIDES = ("type", "track", "person")
"""What a side of a comparison may ask for itself."""
_ANOTHER = ("one", "where", "something", "another")
_AT_ONCE = (("same", "time", "as"), ("time", "of"), ("overlap", "with"), ("clash", "with"), ("parallel", "to"))
"""What is said of what is on at once with a session."""
_FEW = 3
"""So many sessions have words in their titles that do not tell one of them."""
_OWN = re.compile(
    r"\b(?:for (?:me|us)|suits? (?:me|us)|my (?:\w+ )?(?:interests?|profile)|(?:interests?|fits?|matches) me|recommend"
    r"|suggest)\b",
    re.I,
)


def understand(
    text: str,
    search: Search,
    *,
    now: datetime | None = None,
    history: Sequence[Turn] = (),
    profile: Profile | None = None,
) -> Question:
    """Read what a question asks for, against the names, times and words of a conference.

    Never fails: what is not understood is the topic, and its words are weighed by how much they say. A room, day, track
    or person that does not exist is noted and stays a filter, so that nothing is found rather than something else.
    The moment of asking is the conference's own where it has no zone; earlier turns come oldest first.
    """
    if forgets_all(text):
        return Question(text=text, operation="personal", tables=())
    reader = Reader(search, now)
    question = asked_in(text, history, reader)
    if question.operation == "personal":
        return question.model_copy(update={"notes": (told_of(profile),)})
    if question.operation == "about" or (question.operation == "count" and question.by and not question.topic):
        if facts := facts_of(question, search.catalogue):
            return question.model_copy(update={"operation": "about", "notes": facts})
        question = question.model_copy(update={"operation": "find" if question.operation == "about" else "count"})
    pointed = any(map(is_around, question.filters.include))
    asked = question.operation
    if asked in ("find", "recommend", "next", "now", "clash", "compare", *ON_RECORDS) and not pointed:
        sides = [*_compared(question, reader)] if asked in ("clash", "compare") else []
        question = (len(sides) < 2 and _beside_session(question, reader)) or question
        alone = asked == "clash" and len(sides) == 1 and (sides[0].topic or sides[0].filters.values("record"))
        if alone and not re.search(r"\b(?:both|two)\b|^do (the )?\w+ (clash|conflict|overlap)", question.text.lower()):
            whole = question.model_copy(update={"operation": "find", "topic": "", "filters": Filters()})
            question = _beside(question, sides[0], whole, "during", reader) or question  # of it and another
    question = _personal(_nth(question, reader), profile)
    return question.model_copy(update={"parts": _parts(question, reader)})


def _beside_session(question: Question, reader: Reader) -> Question | None:
    """What is asked for before, after or during a session that is named, by any of its words: "after the keynote"."""
    sentence = reader.sentence(question.text)
    for place in range(1, len(sentence)):
        at_once = any(sentence.match(place - len(each) + 1, each) for each in _AT_ONCE)
        said: list[Beside] = [each for each in get_args(Beside) if sentence.is_any(place, words("time", each))]
        beside = "during" if at_once else said[0] if said else None
        if (sentence.tokens[place].taken and not at_once) or beside is None or cue_at(sentence, place - 1) > 1:
            continue
        ends = (other for other in range(place + 1, len(sentence)) if re.search("[,.?!]", sentence.tokens[other].gap))
        end = next(ends, len(sentence))
        telling: tuple[Slot, ...] = ("type", "record", "person") if beside == "during" else ("type", "record")
        named = any(place < span.first < end for span in sentence.spans if span.condition.slot in telling)
        named |= bool(words("things", "sessions") & {token.word for token in sentence.tokens[place + 1 : end]})
        plain = at_once or sentence.is_any(place, words("turns", "after before"))
        if not named and not plain:
            continue
        # Alone, an article does not tell its language: "nach dem Krimi".
        article = sentence.language != "en" and sentence.says(place + 1, "opening")
        anchors = reader.read(sentence.written(place + 1 + article, end))
        if not named and not 0 < len(reader.names.titled(anchors.topic)) < _FEW:
            continue
        asked = reader.read(f"{sentence.written(0, place)} {sentence.written(end, len(sentence))}")
        if not any(reader.is_subject(reader.last, other) for other in reader.last.rest()):
            asked = asked.model_copy(update={"topic": "", "doubted": False})
        # A room or a day alone names no session.
        if anchors.topic or any(anchors.filters.values(slot) for slot in telling):
            return _beside(question, anchors, asked, beside, reader)
        return None
    return None


def _nth(question: Question, reader: Reader) -> Question:
    """The one at a place in time, of those that are asked for: "the second keynote", "Okafor's third talk"."""
    plain = Sentence.of(question.text)
    if question.operation != "find" or all(position_at(plain, place) is None for place in range(len(plain))):
        return question
    sentence = reader.sentence(question.text)
    for place in range(0 if question.filters.values("record") else len(sentence) - 1):
        rank = position_at(sentence, place)
        kind = sentence.is_any(place + 1, words("things", "sessions")) or sentence.tokens[place + 1].taken == "type"
        if rank is not None and kind:
            asked = reader.read(f"{sentence.written(0, place)} {sentence.written(place + 1, len(sentence))}")
            found = _meant(asked, reader) if asked.topic or asked.filters.include else []
            found.sort(key=lambda each: each.start or datetime.max)
            if rank < len(found):
                itself = Condition(slot="record", values=(found[rank].id,), said=f"the {sentence.word(place)} one")
                filters = Filters(include=(itself,))
                return asked.model_copy(update={"text": question.text, "topic": "", "filters": filters})
    return question


def _meant(asked: Question, reader: Reader) -> list[Record]:
    """The sessions that a question means, the surest first."""
    query = PlannedQuery(table=Table.SESSIONS, query_text=asked.topic, filters=asked.filters, limit=MAX_LIMIT)
    return [hit.record for hit in reader.search.run(query).hits if hit.record.start and hit.score >= SURE]


def _beside(question: Question, anchors: Question, asked: Question, beside: Beside, reader: Reader) -> Question | None:
    """What is asked for beside the session that is meant; None if none is found."""
    found = _meant(anchors, reader)[: 1 if anchors.topic else MAX_LIMIT]
    if not found:
        return None
    now = reader.now
    to_come = [each for each in found if now and now.is_before(each)]
    anchor = min(to_come or found, key=lambda each: each.start or datetime.max)
    include = [each for each in asked.filters.include if each.slot not in ("day", "start", "end", "on", "record")]
    # "After the opening in the main hall" asks for what follows there.
    include += [each for each in anchors.filters.include if each.slot == "room" and beside != "during"]
    itself = Condition(slot="record", values=(anchor.id,))
    exclude = (*asked.filters.exclude, *([itself] if beside == "during" else []))
    filters = asked.filters.model_copy(update={"include": (*include, *around(anchor, beside)), "exclude": exclude})
    several = [f"It may be {beside} any of several; I took it to be “{anchor.title}”"] if len(found) > 1 else []
    update = {"text": question.text, "filters": filters, "notes": (*asked.notes, *several)}
    return asked.model_copy(update={**update, "operation": "find" if asked.operation == "clash" else asked.operation})


def _personal(question: Question, profile: Profile | None) -> Question:
    """Whose wishes decide: where somebody only asks for what suits them, their profile."""
    if not _OWN.search(question.text) and question.operation != "recommend":
        return question
    own = STOP_WORDS | words("grammar", "own") | words("things", "sessions")
    topic = " ".join(word for word in question.topic.split() if word.lower().strip("?.!,") not in own)
    known = profile is not None and (profile.interests or profile.seeking or profile.offering)
    if not known or topic:
        return question.model_copy(update={"topic": topic})
    return question.model_copy(update={"query_mode": "profile", "topic": ""})


def _parts(question: Question, reader: Reader) -> tuple[Question, ...]:
    """The parts of a question that asks for several things: what is compared, or one after the other."""
    sentence = reader.sentence(question.text)
    if question.operation in ("clash", "compare"):
        parts = _compared(question, reader)
        # "Which talks overlap?" is asked of all, or all of a kind, and "compare the two keynotes" of what these are.
        if not parts and (
            question.operation == "clash" or (question.topic and re.search(r"\b(both|two)\b", sentence.text))
        ):
            rest = [n for n in sentence.rest() if not sentence.is_any(n, words("things", "sessions"))]
            kinds = [n for n in rest if sentence.says(n + 1, "at_once") and sentence.word(n - 1) == "the"]
            unread = reader.unread(sentence) or kinds
            asked = question.topic or " ".join(sentence.tokens[place].raw for place in unread)
            kept = (word for word in asked.split() if fold(word).strip("?!.,") not in words("grammar", "at_once"))
            parts = (question.model_copy(update={"operation": "find", "parts": (), "topic": " ".join(kept)}),)
        return parts
    if not question.searches or question.operation != "find":
        return ()
    following = {place: length for place in range(1, len(sentence)) if (length := _follows(sentence, place))}
    others = [n for n in range(1, len(sentence)) if sentence.word(n - 1) == "and" and sentence.is_any(n, _ANOTHER)]
    apart = [] if following or others else _apart(sentence, reader)
    places = [*following, *others] or apart
    bounds = sorted({0, *places, len(sentence)})
    texts = [sentence.written(first + following.get(first, 0), last) for first, last in pairwise(bounds)]
    parts = [part for part in map(reader.read, texts) if part.searches and (part.topic or part.filters.include)]
    subjects = [part.topic or part.filters.values("person") for part in parts]
    if len(parts) < 2 or any(part.doubted for part in parts) or not (apart or all(subjects)):
        return ()
    if not all(subjects):
        parts = [part.model_copy(update={"topic": question.topic}) for part in parts]
    asked = [bool(part.filters.include or part.filters.exclude) for part in parts]
    if sum(asked) == 1 and not following:
        shared = parts[asked.index(True)].filters
        return tuple(part.model_copy(update={"filters": shared}) for part in parts)
    before = [span.condition for span in sentence.spans] if apart else []  # "at ten and at two on Friday"
    for n, part in enumerate(parts):
        own = {each.slot for each in part.filters.include}
        more = [each for each in before if each.slot in ("day", "room") and each.slot not in own]
        more = (_in_sequence(parts[n - 1], part, reader) if following and n else []) or more
        before = [*part.filters.include, *more]
        parts[n] = part.model_copy(update={"filters": part.filters.model_copy(update={"include": tuple(before)})})
    return tuple(parts)


def _follows(sentence: Sentence, place: int) -> int:
    """How many words from a place on say that something comes next in time: "then", "after that"; 0 for none."""
    if sentence.is_any(place, words("turns", "after")) and sentence.is_any(place + 1, words("turns", "it")):
        return 2
    return int(sentence.is_any(place, words("turns", "then", "en")))


def _in_sequence(before: Question, part: Question, reader: Reader) -> list[Condition]:
    """What a part that comes after another takes from the best of that: its day, and its room or building if asked."""
    query = PlannedQuery(table=Table.SESSIONS, query_text=before.topic, filters=before.filters, limit=1)
    hits = reader.search.run(query).hits
    if not hits:
        return []
    anchor, said = hits[0].record, reader.sentence(part.text)
    day, after = around(anchor, "after")
    own = {each.slot for each in part.filters.include}
    found = [day] if not anchor.end or own & {"day", "start", "on", "end"} else [day, after]
    for place in (place for place in range(len(said)) if said.word(place) == "same"):
        if said.is_any(place + 1, words("things", "room")):
            found.append(Condition(slot="room", values=anchor.values("room"), said="the same room"))
        if said.is_any(place + 1, words("things", "building")):
            rooms = reader.names.building_of(anchor.values("room"))
            found.append(Condition(slot="room", values=rooms, said="the same building"))
    return [each for each in found if each.slot not in own and (each.values or each.slot != "room")]


def _apart(sentence: Sentence, reader: Reader) -> list[int]:
    """Where one need ends and another begins: on either side something else is asked of the same slot, and a topic."""
    joining = frozenset[str]().union(*_JOINS)
    told = sum(sentence.begins(place) for place in range(len(sentence))) > 2
    for place in range(1, 0 if told else len(sentence)):  # what is told at length is no list of needs
        joins = sentence.is_any(place - 1, joining) or "," in sentence.tokens[place].gap or sentence.begins(place)
        sides = [
            {span.condition.slot: span.condition for span in sentence.spans if first <= span.first < last}
            for first, last in ((0, place), (place, len(sentence)))
        ]
        both = [(one, sides[1][slot]) for slot, one in sides[0].items() if slot in sides[1]]
        # "On Friday afternoon and Saturday morning", "before 9 or after 14".
        timed = len(both) > 1 or any(gap_between(*each) > 0 for each in both if each[0].slot in TIMES - {"day"})
        timed &= sentence.says(place - 1, "and")
        within = any(span.first < place < span.last for span in sentence.spans)
        if not joins or within or not (timed or any(one.values != other.values for one, other in both)):
            continue
        parts = [reader.read(sentence.written(0, place)), reader.read(sentence.written(place, len(sentence)))]
        named = [part.topic or part.filters.values("person") for part in parts]
        if (all(named) or timed) and all(part.operation == "find" and not part.filters.exclude for part in parts):
            return [place - sentence.says(place - 1, "and")]
    return []


def _compared(question: Question, reader: Reader) -> tuple[Question, ...]:
    """Each side of what is compared: a session whose title is quoted, a track, a person, the best for a subject."""
    sentence = reader.sentence(question.text)
    others = tuple(each for each in question.filters.include if each.slot not in ("record", *_SIDES))
    shared = {"operation": "find", "parts": ()}
    known = reader.search.catalogue.records  # sessions of one title are one side
    by_title = grouped((known[each].title.casefold(), each) for each in question.filters.values("record"))
    records = (Condition(slot="record", values=ids) for ids in by_title.values())
    parts = [question.model_copy(update={**shared, "topic": "", "filters": Filters(include=(one,))}) for one in records]
    run: list[int] = []
    began, titled = 0, False
    named = any(token.word in words("things", "sessions") for token in sentence.tokens)
    # "X with Y or Z" are two things, not three.
    joining = next((each for each in _JOINS if any(token.word in each for token in sentence.tokens)), _JOINS[-1])
    for place in range(len(sentence) + 1):
        quoted = place < len(sentence) and sentence.tokens[place].taken == "title"
        ends = place == len(sentence) or sentence.word(place) in joining or sentence.tokens[place].taken == "record"
        if ends and not quoted:
            spans = (span.condition for span in sentence.spans if began <= span.first < place)
            own = tuple(each for each in spans if each.slot in _SIDES)
            if run or (own and not titled):  # what stands beside a title belongs to that
                topic = " ".join(sentence.tokens[place].raw for place in run)
                track = reader.names.track_of(terms(topic))
                # "Do Rust and Ada clash?" is asked of all of them, unless a talk is said.
                if not named and track and not own and track[1] == reader.names.tracks[track[0]]:
                    own, topic = (Condition(slot="track", values=track[:1]),), ""
                side = {"tables": (Table.SESSIONS,), "topic": topic, "filters": Filters(include=(*others, *own))}
                parts.append(question.model_copy(update={**shared, **side}))
            run, began = [], place
            titled = place < len(sentence) and sentence.tokens[place].taken == "record"
        elif quoted or (not sentence.tokens[place].taken and reader.is_subject(sentence, place)):
            run.append(place)
    return tuple(parts)
