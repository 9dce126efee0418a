"""What a later turn means: it points at what was cited, asks on, or replaces what it corrects."""

from collections.abc import Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import Literal, TypeAlias, get_args

from loopwright.retrieval.text import STOP_WORDS, terms
from loopwright.workflows.assistant.question.facts import unlisted
from loopwright.workflows.assistant.question.moments import BY_NOW, COUNTS, MIDNIGHT, position_at
from loopwright.workflows.assistant.question.nearest import asked_with
from loopwright.workflows.assistant.question.negation import TIMES, cue_at
from loopwright.workflows.assistant.question.reading import SUBJECT, Reader
from loopwright.workflows.assistant.question.tokens import Sentence
from loopwright.workflows.assistant.schemas import Condition, Filters, Operation, Question, Record, Table, Turn
from loopwright.workflows.assistant.searching.lexicon import function_words, spoken, words
from loopwright.workflows.assistant.sources.catalogue import holds, span_of

Beside: TypeAlias = Literal["after", "before", "during"]
"""How something lies in time to a session."""
_ONES = frozenset({"one", "ones"})
_SHORT = 7
_SEEN, _THAT_DAY, _THAT_ONE = "what you have seen", "that day", "that one"
ON_RECORDS = ("count", "first", "last", "longest", "shortest")
_STEMS = {"long": (True, True), "short": (True, False), "lat": (False, True), "earli": (False, False)}
_COMPARED = {stem + end: said for stem, said in _STEMS.items() for end in ("er", "est")}
"""Word -> whether lengths are compared, rather than when something begins; and whether the most is meant."""


def asked_in(text: str, history: Sequence[Turn], reader: Reader) -> Question:
    """Read a question with the turns before it."""
    before: Question | None = None
    cited = listed = list[Record]()
    records = reader.search.catalogue.records
    for turn in history:
        if turn.role == "user":
            question = _next(turn.text, before, cited, listed, reader)
            # What points at what was shown, asks for nothing else than before: "and on Sunday?" is of the same subject.
            filters = question.filters
            same = before is not None and (before.topic, before.filters.include) == (question.topic, filters.include)
            pointed = any(each.said == _THAT_ONE for each in filters.include)
            pointed |= not same and any(each.slot == "record" for each in filters.exclude)
            before = question if before is None or (question.searches and not pointed) else before
        elif turn.referenced_ids:
            told = [records[each] for each in turn.referenced_ids if each in records]
            if len(told) != 1 or told[0] not in listed:  # what is told one after the other belongs together
                listed = [*cited, *told] if len(cited) == len(told) == 1 else told
            cited = told
    return _next(text, before, cited, listed, reader)


def _next(text: str, before: Question | None, cited: list[Record], listed: list[Record], reader: Reader) -> Question:
    shown = {day for each in cited for day in each.values("day")}
    reader.days = (before.filters.values("day") if before else ()) or (tuple(shown) if len(shown) == 1 else ())
    question = reader.read(text)
    if before is None or question.smalltalk:
        return question
    sentence = reader.last
    # "Which has more places?" and "more about that" ask for no others.
    match = sentence.match
    idle = {n for n in range(len(sentence)) if match(n, ("more", "about")) or match(n - 1, ("has", "more"))}
    idle |= {n for n in range(len(sentence)) if match(n, ("it", "all")) or match(n - 1, ("who", "else"))}
    mends = words("turns", "mends")  # "and Scratch?" corrects nothing
    idle |= {n for n, each in enumerate(sentence.tokens) if each.word in mends and each.taken != "correction"}
    # "The day after that", "das Web" and "gibt es" point at nothing.
    stepped = words("turns", "it after before")
    idle |= {n for n, each in enumerate(sentence.tokens) if each.taken == "day" and each.word in stepped}
    idle |= {n for n in range(len(sentence)) if _is_article(sentence, n)}
    idle |= {1} if sentence.word(1) == "there" and sentence.is_any(2, words("things", "any some")) else set()
    said = {each.word for n, each in enumerate(sentence.tokens) if n not in idle}
    points = said & (words("turns", "it", "en") - words("turns", "them", "en") - _ONES | {"its"})
    # "The third one" - "and the second?", "no, the Sunday one", "can I do both?"
    both = (len(listed) == 2 and said & {"both", "two"}) or (said & _ONES and sentence.spans)
    if len(cited) == 1 and (both or (not points and _ordinals(sentence, len(listed)))):
        cited = listed or cited
    rest = _content(sentence, reader)
    # "What do I have to bring?", of the one that was shown.
    bare = question.operation == "find" and not question.filters.include
    new = said & {*words("things", "sessions"), "about", "else", "other"}
    own = question.operation == "outside" or (bare and said & words("time", "person", "en") and not new)
    if own and len(cited) == 1 and sentence.says(0, "wonders") and _tells(cited[0], sentence):
        return _about(question, cited)
    if cited and question.operation in ("outside", "until") and said <= words("turns", "it what opens then") | {"long"}:
        return _about(question.model_copy(update={"operation": "find"}), cited[:1])  # "where is it?", "how long?"
    if cited and sentence.word(0)[:3] == "who" and said <= words("turns", "asks") | words("grammar", "speaking"):
        return _about(question.model_copy(update={"operation": "find"}), cited)
    if question.operation == "outside" or (question.operation == "about" and question.by):
        return question
    # "And which is the longest of them?" is asked of all that was asked for, not of those that were shown.
    elsewhere = any(span.condition.slot not in TIMES for span in sentence.spans)
    on_records = question.operation in ON_RECORDS and not rest and not elsewhere
    on_those = on_records and not said & {*words("things", "sessions"), "thing", *COUNTS} - {"no"}
    on_those &= not (points and len(cited) == 1 and question.operation == "last")  # "when does it end?"
    on_those |= question.operation == "next" and bool(before.topic and said & _ONES)
    # "When can I go home?" is asked of a day as a whole, or of all.
    told = rest or elsewhere or said & (words("things", "first last") | _COMPARED.keys() | words("turns", "it"))
    if (question.operation in ("first", "last") and not told) or _stands_alone(question, sentence, said):
        whole = sentence.asks("day") or any(each.taken == "conference" for each in sentence.tokens)
        days = [Condition(slot="day", values=reader.days)] if reader.days and not whole else []
        filters = question.filters.model_copy(update={"include": (*question.filters.include, *days)})
        return question.model_copy(update={"filters": filters})
    several = said & words("turns", "them") and not said & words("turns", "more")
    pointed = _kept(question, sentence, said, cited, before, reader)
    if cited and not pointed and not on_those:
        pointed = _pointed(question, sentence, said, rest, cited, before)
        pointed = pointed or (None if rest else _shifted(question, sentence, cited, before))
    if pointed:
        # "Can I camp there?" is not answered by when and where that is.
        unread = question.unread if pointed.operation == "find" and not pointed.topic else ()
        return pointed.model_copy(update={"unread": unread, "doubted": False})
    goes_on = on_those or (on_records and several) or _continues(sentence, said, rest, question)
    # A subject is asked for within the time that was told before: "I come on Sunday" - "what about Go?".
    bare = before.operation == question.operation == "find" and not before.topic and not question.filters.include
    slots = {each.slot for each in before.filters.include}
    if not goes_on and not (bare and slots and slots <= TIMES):
        return question
    if sentence.language == "en":
        topic = " ".join(sentence.tokens[place].raw for place in rest if not sentence.tokens[place].taken)
        question = question.model_copy(update={"topic": topic})
    before = _gone_on(sentence, before, rest)
    resumed = _resumed(question, before, cited, said, rest)
    asked, known = ((each.operation, each.topic, each.filters, each.tables) for each in (resumed, before))
    # What changes nothing was not understood: "and the day after?"
    unread = [sentence.tokens[place].raw for place in unlisted(sentence)] if asked == known else []
    return resumed.model_copy(update={"unread": question.unread or tuple(unread)})


def _stands_alone(question: Question, sentence: Sentence, said: set[str]) -> bool:
    """Whether a turn asks of a time for itself: "what is on at ten?", "wer spielt am Sonntag?", "plan my evening"."""
    joined = said & words("turns", "it them person more corrects") or sentence.word(0) in words("turns", "opens")
    verbs = words("turns", "goes_on") & {each.word for each in sentence.tokens[1:4]}
    plain = question.doubted and question.topic  # "anything for kids today?"
    asks = sentence.asks(*TIMES) and (plain or (verbs and sentence.is_any(0, words("turns", "asks"))))
    talks = words("things", "sessions")
    about = any(sentence.says(n, "about") and sentence.is_any(n - 1, talks) for n in range(len(sentence)))
    return bool(not joined and (asks or about))


def _content(sentence: Sentence, reader: Reader) -> list[int]:
    """What of a turn can be a subject, and neither joins it to what was before nor corrects that: "oh srry, Sunday"."""
    joining = words("turns", "opens corrects it person more after before what") - words("turns", "mends")
    idle = joining | words("grammar", "speaking asking") | words("time", "during") | _COMPARED.keys()
    mends = bool(sentence.spans) and any(each.word in words("turns", "corrects") for each in sentence.tokens)
    heavy = (n for n in sentence.rest() if sentence.word(n) not in idle and reader.weight(sentence, n) >= SUBJECT)
    found = [place for place in heavy if not reader.is_stray(sentence, place, mends=mends)]
    ordinals = _ordinals(sentence, 0).keys() - {n for n in found if n + 1 in found and not _ends_at(sentence, n + 1)}
    return [place for place in found if place not in ordinals]  # "the second", but not of "Second Life"


def _ends_at(sentence: Sentence, place: int) -> bool:
    """Whether nothing is named from a word on: "the second", "the second one"."""
    return sentence.begins(place) or sentence.is_any(place, _ONES) or bool(sentence.tokens[place].gap.strip())


def _is_article(sentence: Sentence, place: int) -> bool:
    """Whether a word of another language that could point at something stands before what it belongs to: "das Web"."""
    language, behind = sentence.language, sentence.tokens[place + 1 : place + 2]
    article = language != "en" and sentence.is_any(place, words("grammar", "opening", language))
    noun = any(each.gap == " " and (each.taken or each.word not in function_words(language)) for each in behind)
    return (article and noun) or sentence.match(place - 1, ("gibt", "es"))


def _shifted(question: Question, sentence: Sentence, cited: Sequence[Record], before: Question) -> Question | None:
    """What is asked for earlier or later than what was shown, and nothing else: "anything later?", "und danach?"."""
    own = sentence.language
    sooner, later = (words("turns", key, own) | words("turns", key, "en") for key in ("sooner", "later then"))
    told = [n for n in range(len(sentence)) if sentence.is_any(n, sooner | later)]
    more = words("turns", "opens more it what") | words("things", "any some thing sessions") | STOP_WORDS
    more |= spoken(own) if own != "en" else set()
    shown = [each for each in cited if each.start]
    if not (told and shown) or sentence.spans or any(sentence.word(n) not in more for n in sentence.rest()):
        return None
    late = sentence.is_any(told[0], later)
    anchor = (max if late else min)(shown, key=lambda each: (each.start or datetime.max, each.id))
    kept = (each for each in before.filters.include if each.slot not in (*TIMES, "record"))
    include = (*around(anchor, "after" if late else "before"), *kept)
    filters = before.filters.model_copy(update={"include": include})
    return before.model_copy(update={"text": question.text, "operation": "find", "filters": filters})


def _kept(
    question: Question, sentence: Sentence, said: set[str], cited: Sequence[Record], before: Question, reader: Reader
) -> Question | None:
    """The question before, without what of the shown is refused: "not the first one", "drop the npm one"."""
    for place in range(len(sentence)):
        length = 0 if sentence.word(place) in ("no", "nothing") else cue_at(sentence, place)
        end = next((other for other in range(place + 1, len(sentence)) if _ends_at(sentence, other)), len(sentence))
        behind = range(place + length, end)
        ordinals = [number for other in behind if (number := position_at(sentence, other)) is not None]
        points = bool(ordinals) or (said & _ONES and sentence.is_any(end, _ONES)) or bool(said & {"other"})
        points = points or (len(behind) == 1 and sentence.is_any(behind[0], words("turns", "it", "en")))
        if not length or not points or question.filters.include:
            continue
        named = {term for other in behind for term in terms(sentence.word(other)) if reader.weight(sentence, other)}
        refused = [each for n, each in enumerate(cited) if n in ordinals or named.intersection(terms(each.title))]
        if not (refused or named or ordinals):
            refused = [*(cited if said & words("turns", "them", "en") - {"one"} else cited[:1])]
        rest = [each for each in cited if each not in refused]
        if refused and rest and "other" in said:
            return _about(question, rest)
        if refused:
            exclude = (*before.filters.exclude, _none_of(refused, "what you do not want"))
            filters = before.filters.model_copy(update={"exclude": exclude})
            return before.model_copy(update={"text": question.text, "filters": filters})
    return None


def _continues(sentence: Sentence, said: set[str], rest: list[int], question: Question) -> bool:
    opens = sentence.word(0) in words("turns", "opens") or said & words("turns", "corrects more")
    points = said & words("turns", "it person", "en")
    short = len(sentence) <= _SHORT and question.operation == "find" and not (rest and question.filters.include)
    named = ("type", "track", "person", "record", *(("room",) if said & words("things", "sessions") else ()))
    whole = any(each.slot in named for each in question.filters.include)
    whole = whole and not said & words("turns", "them")
    bare = not rest and question.operation in ("find", "recommend") and not whole
    return bool(opens or bare or (not whole and not rest and (short or points)))


def _gone_on(sentence: Sentence, before: Question, rest: list[int]) -> Question:
    """The question before; who asks "is there anything at ten?", and not only "and at ten?", wants another answer."""
    first = int(sentence.is_any(0, words("turns", "opens")))
    asks = sentence.says(first, "wonders") or sentence.is_any(first, words("things", "speakers some any"))
    asks = asks and not sentence.is_any(first + 1, ("about", "it", "that"))
    asks = asks or (before.operation in ("clash", "compare") and rest)
    # "And where?" is asked of the session that was named.
    filters = before.filters.but("record") if sentence.spans else before.filters
    anew = {"operation": "find", "by": "", "filters": filters}
    return before.model_copy(update=anew) if asks else before


def _pointed(
    question: Question, sentence: Sentence, said: set[str], rest: list[int], cited: Sequence[Record], before: Question
) -> Question | None:
    """A question about what was cited: one of them, its neighbours in the room, or others of its persons."""
    sessions = [record for record in cited if record.table is Table.SESSIONS] or list(cited)
    places = _ordinals(sentence, len(sessions)).values()
    named = [sessions[each] for each in dict.fromkeys(places) if each < len(sessions)]
    it, more = said & words("turns", "it"), said & words("turns", "more")
    person = said & words("turns", "person", sentence.language)
    slots = [span.condition for span in sentence.spans]
    topic = " ".join(sentence.tokens[place].raw for place in rest if not sentence.tokens[place].taken)
    if not slots and not rest and (surpassing := _surpassing(sentence, said, named if len(named) > 1 else sessions)):
        return _about(question, [surpassing])
    titled = [each for each in sessions if each.id in question.filters.values("record")]
    anchor = (titled or named or sessions)[0]
    after, earlier = said & words("turns", "after"), said & words("turns", "before")
    located = it or person or places or said & {"there", "in"}
    if (after or earlier) and located and not rest and all(each.slot == "day" for each in slots):
        # "What's on now?" - "and after that?" asks for what is on anywhere.
        anywhere = before.operation == "now" and len(sessions) > 1 and not said & {"there", "room"}
        anchor = min(sessions, key=lambda each: each.end or datetime.max.replace(tzinfo=UTC)) if anywhere else anchor
        if anchor.start is None:
            return _about(question, [anchor])
        rooms = () if anywhere else anchor.values("room")
        room = [Condition(slot="room", values=rooms, said="the same room")] if rooms else []
        when = around(anchor, "after" if after else "before")
        filters = Filters(include=(*when, *room), exclude=(_none_of([anchor]),))
        return _of_sessions(question, filters, operation="first" if after else "last")
    at_once = ("time" in said and said & {"same", "that"}) or ((it or not slots) and said & words("time", "during"))
    missed = {"miss", "if"} <= said and said & {"there", *words("turns", "it", "en")}  # "what would I miss if ...?"
    at_once = at_once or missed
    # Of "the same time as the autism one" the last words name what was shown, or something else.
    end = next((place for place in range(len(sentence)) if sentence.word(place) in ("as", "with")), len(sentence))
    meaning = {term for place in rest if place > end for term in terms(sentence.word(place))}
    meant = max(sessions, key=lambda each: len(meaning.intersection(terms(each.title))))
    anchor = meant if meaning and at_once else anchor
    shown = meaning.intersection(terms(meant.title)) if meaning else titled or not question.filters.values("record")
    if at_once and shown and anchor.start:
        asked = [each for each in question.filters.include if each.slot not in (*TIMES, "record")]
        exclude = (*question.filters.exclude, _none_of([anchor][: not asked]))
        filters = Filters(include=(*around(anchor, "during"), *asked), exclude=exclude)
        asked_for = "" if missed else " ".join(sentence.tokens[place].raw for place in rest if place < end)
        return _of_sessions(question, filters, topic=asked_for)
    if question.searches and (slot := _same(sentence)) and anchor.values(slot):
        same = Condition(slot=slot, values=anchor.values(slot), said=f"the same {slot}")
        exclude = (*question.filters.exclude, *([_none_of([anchor])] if more else []))
        filters = Filters(include=(*question.filters.but(slot).include, same), exclude=exclude)
        operation = "find" if more and question.operation == "next" else question.operation
        return question.model_copy(update={"filters": filters, "topic": topic, "operation": operation})
    behind = (span for span in sentence.spans if sentence.is_any(span.first - 1, words("turns", "it", "en")))
    kinds = {kind for span in behind for kind in span.condition.values}
    if those := [each for each in cited if not kinds.isdisjoint(each.values("type"))]:  # "that panel"
        return _about(question, those if said & words("turns", "them") - {"one"} else those[:1])
    if places and not slots and not rest:
        return _about(question, named) if named else None
    if it and (found := _of_it(question, sentence, said, rest, sessions, before)):
        return found
    own = () if sessions[0].table is Table.SESSIONS else (sessions[0].title,)
    people = before.filters.values("person") or sessions[0].values("speaker") or own
    one = len(people) == 1 == len(sessions) or bool(before.filters.values("person"))
    told = one and said & {"he", "she", "him", "her"} and not said & words("turns", "corrects")
    if person and not people:  # of what nobody gives, the title names who plays
        return _about(question, titled or named or sessions)
    if person and (told or not rest):  # "when does she teach us to sing?"
        by = [Condition(slot="person", values=people, said=f"with {people[0]}")] if people else []
        exclude = (*question.filters.exclude, *([_none_of(cited)] if more else []))
        filters = Filters(include=(*by, *slots), exclude=exclude)
        return _of_sessions(question, filters, operation=question.operation, topic=topic)
    return None


def _same(sentence: Sentence) -> Literal["room", "track"] | None:
    """What of the shown is pointed at: "that room", "the same track", "there"."""
    for place in range(1, len(sentence)):
        pointed = sentence.is_any(place - 1, ("that", "this", "those", "these", "same"))
        if pointed and sentence.is_any(place, words("things", "room track")):
            return "room" if sentence.is_any(place, words("things", "room")) else "track"
        asks = {sentence.word(other) for other in range(place)} & words("turns", "what more", "en")
        exists = sentence.says(place - 1, "be") or sentence.says(place + 1, "be") or sentence.word(place - 1) == "out"
        timed = any(each.taken in TIMES for each in sentence.tokens[place + 1 : place + 4])
        # "Who speaks there?" is asked of what was shown.
        ends = sentence.begins(place + 1) and asks != {"who"}
        told = timed or ends or sentence.word(place + 1) in ("about", "on", "for")
        if asks and sentence.word(place) == "there" and told and not exists:
            return "room"
    return None


def _tells(record: Record, sentence: Sentence) -> bool:
    """Whether the texts of a record have the words of a question that say something."""
    plain = STOP_WORDS | words("things", "any thing some", "en")
    asked = {term for n in sentence.rest() if sentence.word(n) not in plain for term in terms(sentence.word(n))}
    told = set(terms(" ".join(record.texts.values())))
    return bool(asked) and (asked <= told or set() < asked - asked_with("outside") <= told)


def _of_it(
    question: Question, sentence: Sentence, said: set[str], rest: list[int], sessions: list[Record], before: Question
) -> Question | None:
    """A question about "it" or "those", of the sessions that were cited, or of what else was."""
    shown = sessions if said & words("turns", "them") else sessions[:1]
    more = said & words("turns", "more")
    sided = said & (words("turns", "it") - _ONES) and (rest or question.filters.include)
    if question.operation == "clash" or (question.operation == "compare" and sided):
        sides = (*_about(question, shown).filters.include, *question.filters.include)
        return question.model_copy(update={"filters": Filters(include=sides)})
    if question.operation == "compare" and said & words("turns", "after before"):  # "is X before the Y one?"
        return None
    # "The Sunday one", "the ones on Go"; but "the ones in the Great Hall" are more than were shown.
    ones = said & ({"one"} if sentence.spans else _ONES) and (rest or sentence.spans)
    if ones and not (said & words("turns", "corrects") or question.filters.exclude):
        own = {term for place in rest for term in terms(sentence.word(place))}
        fitting = [each for each in sessions if all(holds(each, slot) for slot in question.filters.include)]
        told = [len(own.intersection(terms(" ".join((each.title, *each.texts.values()))))) for each in fitting]
        if fitting and (max(told) or not own):
            return _about(question, [each for each, count in zip(fitting, told, strict=True) if count == max(told)])
    if rest:
        return None
    # "Any exhibitors on that?", and of an exhibitor "any talks on that?".
    stand = sessions[0].table is Table.EXHIBITORS and said & words("things", "sessions")
    if stand or Table.SESSIONS not in question.tables:
        return question.model_copy(update={"topic": before.topic or sessions[0].title, "filters": Filters()})
    return None if sentence.spans or more else _about(question, shown)


def _surpassing(sentence: Sentence, said: set[str], shown: Sequence[Record]) -> Record | None:
    """The one of the shown that is meant by a comparison: "which is shorter?", "the later one"."""
    compared = next((_COMPARED[word] for word in _COMPARED if word in said), None)
    timed = [(each.end - each.start, each.start, each) for each in shown if each.start and each.end]
    # "Which talk is the longest?" is asked of all.
    whole = said & words("things", "sessions") and any(word.endswith("est") for word in said & _COMPARED.keys())
    if not compared or len(timed) < 2 or whole or not ("which" in said or sentence.word(0) == "the"):
        return None
    by_length, most = compared
    return (max if most else min)(timed, key=itemgetter(not by_length))[2]


def _of_sessions(question: Question, filters: Filters, *, operation: Operation = "find", topic: str = "") -> Question:
    asked = {"operation": operation, "topic": topic, "filters": filters, "tables": (Table.SESSIONS,)}
    return question.model_copy(update=asked)


def _ordinals(sentence: Sentence, shown: int) -> dict[int, int]:
    """Word -> which of so many it means by its place: "the second", "the first and the last of those"."""
    found = {place: position_at(sentence, place) for place in range(len(sentence))}
    for place in found:
        ends = _ends_at(sentence, place + 1) or sentence.match(place + 1, ("of", "those"))
        if ends and sentence.is_any(place, words("things", "last")):
            found[place] = shown - 1
    return {place: number for place, number in found.items() if number is not None}


def _none_of(cited: Sequence[Record], said: str = _SEEN) -> Condition:
    return Condition(slot="record", values=tuple(record.id for record in cited), said=said)


def _about(question: Question, records: Sequence[Record]) -> Question:
    wanted = Condition(slot="record", values=tuple(record.id for record in records), said=_THAT_ONE)
    tables = tuple(dict.fromkeys(record.table for record in records))
    kept = question.operation == "until" or (len(records) > 1 and question.operation in ("clash", "compare"))
    operation = question.operation if kept else "find"
    found = {"operation": operation, "topic": "", "filters": Filters(include=(wanted,)), "tables": tables}
    return question.model_copy(update=found)


def around(anchor: Record, beside: Beside) -> tuple[Condition, Condition]:
    """What is on the same day as a session: after it, before it, or during it."""
    begins, ends = span_of(anchor)
    ends, days, said = max(ends, begins + 1), anchor.values("day"), f"{beside} “{anchor.title}”"
    if beside == "after":  # of several days the last
        when = Condition(slot="start", least=ends - MIDNIGHT * len(days[1:]), said=said)
        days = days[-1:]
    elif beside == "before":
        when, days = Condition(slot="end", most=begins, said=said), days[:1]
    else:
        when = Condition(slot="on", least=begins, most=ends, said=said)
    return Condition(slot="day", values=days, said=_THAT_DAY), when


def is_around(condition: Condition) -> bool:
    """Whether a condition is of those that `around` makes."""
    return condition.said.startswith(tuple(f"{beside} “" for beside in get_args(Beside)))


def _resumed(
    question: Question, before: Question, cited: Sequence[Record], said: set[str], rest: list[int]
) -> Question:
    """The question before, with what the later turn says in the place of what it corrects."""
    new = question.filters
    include = new.include
    if said & words("turns", "corrects"):  # "I said Ada but meant Grace"
        include = tuple(_fresh(each, before) for each in include)
    replaced = {each.slot for each in include}
    moved = question.operation == "find" and "day" in replaced and before.operation in ("now", "next", "previous")
    if moved or replaced & TIMES - {"day"}:
        replaced |= TIMES - {"day"}
    if {"track", "type"} & replaced:
        replaced |= {"track", "type"}
    stays = () if "record" in replaced else before.filters.include  # who names one record asks for no other
    kept = tuple(each for each in stays if each.slot not in replaced and each.said != _THAT_ONE)
    if "day" in replaced:  # the present moment is one of today alone, and what is around a session one of that day
        around_one = any(each.said == _THAT_DAY for each in before.filters.include)
        kept = tuple(each for each in kept if each.said not in BY_NOW and not (around_one and each.slot in TIMES))
    # What is denied now was wanted before: it goes, rather than stay as a second filter.
    denied = [(other.slot, {*other.values}) for other in new.exclude]
    kept = tuple(each for each in kept if not any(each.slot == slot and own >= {*each.values} for slot, own in denied))
    old = tuple(each for each in before.filters.exclude if each.slot not in replaced)
    # What was not wanted, and is named now, is wanted too: "OK, postgres too".
    old = tuple(each for each in old if not any(each.slot == now.slot and each.values == now.values for now in include))
    # Of something else nothing was seen: "what else?" - "and in Hall C?"
    old = tuple(each for each in old if each.said != _SEEN or not (include or rest))
    welcome = {each for each in before.filters.without if set(terms(each)) & set(terms(question.topic))}
    if welcome:
        rest = []
    more = bool(said & words("turns", "more")) and not include and not rest
    named = "record" in replaced or ("track" in replaced and before.topic)
    topic = question.topic if rest else "" if named else before.topic
    exclude = (*old, *(each for each in new.exclude if each not in old), *([_none_of(cited)] if more and cited else []))
    goes_on = question.operation == "find" and before.searches
    operation = "find" if moved else before.operation if goes_on else question.operation
    elsewhere = question.tables != (Table.SESSIONS,)
    tables = question.tables if elsewhere or not before.tables else before.tables
    without = dict.fromkeys(each for each in (*before.filters.without, *new.without) if each not in welcome)
    filters = Filters(include=(*kept, *include), exclude=exclude, without=tuple(without))
    resumed = {"operation": operation, "topic": topic, "tables": tables, "filters": filters}
    return question.model_copy(update={**resumed, "by": question.by or before.by, "unread": (), "doubted": False})


def _fresh(condition: Condition, before: Question) -> Condition:
    """Of several values those that were not asked before."""
    fresh = tuple(value for value in condition.values if value not in before.filters.values(condition.slot))
    return condition.model_copy(update={"values": fresh}) if fresh else condition
