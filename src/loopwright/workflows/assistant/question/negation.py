"""What is not wanted: a cue denies the first thing behind it, condition or subject, and what is joined with that."""

from collections.abc import Callable

from loopwright.workflows.assistant.question.nearest import refused
from loopwright.workflows.assistant.question.tokens import Sentence, Span
from loopwright.workflows.assistant.schemas import Slot
from loopwright.workflows.assistant.searching.lexicon import cues, numbers, verbal, words

JOINING = words("grammar", "joining")
"""Words that join what is alike."""
OPENING = words("grammar", "opening")
"""Words that stand before what is named."""
TIMES: frozenset[Slot] = frozenset({"day", "start", "end", "on"})
"""What is asked of times, whose denial `read_presence` reads."""
_THINGS = words("things", "sessions thing", "en") | words("grammar", "relative")
_MOST_BETWEEN = 6
_READ = TIMES | {"correction", "told"}
"""What a cue may have been read as already: "no wait", "I can't be there before 1 pm"."""
_SUBJECT = 1.5
"""What a word must weigh to be what a clause refuses."""
_SAID = 4
"""So many words tell what was not understood."""
_ASKED = 3
"""So many words at least say what is to be done."""


def denied(sentence: Sentence, weight: Callable[[int], float]) -> tuple[list[Span], list[str]]:
    """What a question excludes: the conditions that must not hold, and the subjects that are not wanted."""
    spans = [span for span in sentence.spans if span.barred]
    topics = _refused(sentence, weight)
    place = 0
    while place < len(sentence):
        length = cue_at(sentence, place)
        if length and sentence.tokens[place].taken not in _READ:
            weak = sentence.word(place) in words("negation", "weak outer")
            at_once = not is_verbal(sentence, place, length)
            start = object_at(sentence, place + length)
            ends = next(last for first, last in sentence.clauses() if first <= place < last)
            if not at_once:  # "I don't give a damn about X"
                near = range(start, min(ends, start + _MOST_BETWEEN))
                start = next((other + 1 for other in near if sentence.word(other) == "about"), start)
            at_once &= start == place + length
            found, subjects, end = _behind(sentence, start, weight, weak=weak, at_once=at_once)
            spans += found
            if found or subjects:
                # What follows says when, even if it was read as no time: "not at the crack of dawn"; not "not at all".
                behind = place + length
                when = sentence.is_any(behind, (words("time", "before after during", "en") - OPENING) | {"at"})
                when &= sentence.is_any(behind + 1, words("grammar", "determiners") - {"all"})
                planned = [each for each in subjects if each.lower() in words("grammar", "at_once")]
                sentence.notes += ["I make no plan: what I list may overlap"] if planned else []
                topics += [each for each in subjects if not (when or each in planned)]
                end = max(ends if when and subjects else end, place + length)
                sentence.take(place, end, "negation")
                place = end
                continue
        place += 1
    return spans, topics


def _refused(sentence: Sentence, weight: Callable[[int], float]) -> list[str]:
    """The subjects of clauses that say as a whole that these are not wanted."""
    found: list[str] = []
    for first, last in sentence.clauses():
        if last - first == len(sentence) or not sentence.free(first, last):
            continue
        if subjects := [place for place in refused(sentence, first, last) if weight(place) >= _SUBJECT]:
            found.append(" ".join(sentence.tokens[place].raw for place in subjects))
            sentence.take(first, last, "excluded")
    return found


def unread(sentence: Sentence) -> list[str]:
    """What of a question is no subject and was not understood: cues that excluded nothing, numbers, and "twice"."""
    found: list[str] = []
    weak = words("negation", "weak")
    for first, last in sentence.clauses():
        for place in range(first, last):
            token = sentence.tokens[place]
            cue = place and cue_at(sentence, place) and token.word not in weak and "any" not in token.word
            timed = token.word.isdigit() and any(sentence.says(near, "timed") for near in (place - 1, place + 1))
            counted = token.word != "times" or sentence.word(place - 1) in numbers()
            often = counted and sentence.is_any(place, words("time", "often"))
            if not token.taken and (cue or timed or often):
                found.append(sentence.raw(place, min(last, place + _SAID)))
                break
    return found


def asked_until(sentence: Sentence, first: int, last: int) -> int:
    """Where that part of a sentence ends which says what is to be done: before what it excludes."""
    end = next((place for place in range(first + _ASKED, last) if cue_at(sentence, place)), last)
    return end - (end < last and sentence.is_any(end - 1, words("negation", "but") | JOINING))


def cue_at(sentence: Sentence, place: int) -> int:
    """How many words a cue has that stands at a place; 0 for none."""
    # "Or if not, about X", "what do I miss if I skip Sunday?"
    if sentence.says(place - 1 - sentence.is_any(place - 1, words("time", "person")), "if"):
        return 0
    for phrase in cues(sentence.language):
        if sentence.match(place, phrase):
            after = place + len(phrase)
            more = sentence.says(after, "determiners") and sentence.is_any(after + 1, ("another", "more"))
            idle = len(phrase) == 1 and sentence.is_any(after, words("negation", "idle")) and not more
            # "No, I am in the other building" and "no I meant Sunday" deny what was said before.
            told = any("," in each.gap or each.word == "i" for each in sentence.tokens[after : after + 1])
            idle |= phrase == ("nothing",) and sentence.is_any(after, ("going", "happening"))
            # "We have no money for a studio" says what there is not, and "talks that have no room" what is asked for.
            has = sentence.says(place - 1, "have") and not sentence.is_any(place - 2, _THINGS)
            idle |= phrase == ("no",) and (sentence.word(place - 1).endswith("'ve") or has)
            # "No domingo" is on Sunday in Portuguese, where Spanish has an article.
            idle |= phrase == ("no",) and sentence.language != "en" and sentence.is_any(after, ("sabado", "domingo"))
            return 0 if idle or (told and place == 0) or _of_oneself(sentence, place, after) else len(phrase)
    if sentence.word(place).endswith("n't"):  # "that hasn't got anything to do with it"
        anything = (other for other in range(place + 1, place + 4) if sentence.word(other) in ("any", "anything"))
        if (other := next(anything, 0)) and not any(map(sentence.begins, range(place + 1, other + 1))):
            return other + 1 - place
    everything = words("things", "any") & {sentence.word(other) for other in range(place - 3, place)}
    return int(bool(sentence.word(place) in words("negation", "but") and everything))


def object_at(sentence: Sentence, place: int) -> int:
    """Where it is said what is not wanted: behind articles, pronouns and their verb, as in "whatever deals with X"."""
    heads = words("things", "sessions thing some any") | words("turns", "them", "en")
    passed, at = heads | words("grammar", "determiners relative whoever"), place
    signs = [place < n and (sentence.begins(n) or each.gap.strip() != "") for n, each in enumerate(sentence.tokens)]
    while sentence.free(at, at + 1) and sentence.is_any(at, passed) and not signs[at]:
        at += 1
    if at < len(sentence) and signs[at]:  # "not those. Show me X": nothing more is said of them
        return place
    relates = at > place + 1 and sentence.says(at - 1, "relative") and sentence.is_any(at - 2, heads)
    relates |= at > place and sentence.says(at - 1, "whoever")
    return at + (relates and sentence.free(at, at + 1) and not sentence.named(at) and sentence.word(at) not in OPENING)


def _of_oneself(sentence: Sentence, place: int, after: int) -> bool:
    """Whether somebody says what they are not, as in "I'm not a programmer": that asks for nothing."""
    last = after + (sentence.word(after) in ("a", "an"))
    ends = sentence.begins(last + 1) or (last + 1 < len(sentence) and bool(sentence.tokens[last + 1].gap.strip()))
    return sentence.says(place - 1, "self") and ends


def is_verbal(sentence: Sentence, place: int, length: int) -> bool:
    """Whether a verb stands behind a cue."""
    said = tuple(token.word for token in sentence.tokens[place : place + length])
    return said in verbal() or (said[0].endswith("n't") and said[-1] in ("any", "anything"))


def _behind(  # noqa: C901 - one case after the other
    sentence: Sentence, place: int, weight: Callable[[int], float], *, weak: bool, at_once: bool
) -> tuple[list[Span], list[str], int]:
    """The things behind a cue, and the word after them."""
    starts = {span.first: span for span in sentence.spans if span.condition.slot not in TIMES}
    spans: list[Span] = []
    topics: list[str] = []
    run: list[int] = []
    between, listed = 0, False

    def end_run() -> None:
        if run:
            topics.append(" ".join(sentence.tokens[each].raw for each in run))
            sentence.take(run[0], run[-1] + 1, "excluded")
            run.clear()

    first = place
    while place < len(sentence) and not (sentence.begins(place) and place > first):
        word = sentence.word(place)
        if (place > first and word in words("negation", "ends")) or (cue_at(sentence, place) and place > first):
            break
        comma = place > first and "," in sentence.tokens[place].gap
        # Behind a comma a list goes on that ends with "and" or "or".
        if comma and not any(sentence.is_any(near, JOINING) for near in range(place, place + 4)):
            break
        if word in JOINING or comma:
            end_run()
            listed = bool(topics)
            if word in JOINING:
                place += 1
                continue
        if place in starts:
            span = starts[place]
            if topics or run or (spans and spans[-1].condition.slot != span.condition.slot):
                break
            spans.append(span)
            place = span.last
            continue
        if spans and word not in OPENING and word not in words("things", "sessions"):
            break
        said = weight(place)
        least = 0.05 if listed or (at_once and place == first) else 0.7
        if said > least and not (weak or spans) and sentence.tokens[place].taken in ("", "title"):
            run.append(place)
            listed = False
        elif run and (word in OPENING or place - run[-1] > 1):
            break
        elif not run and not topics and not spans:
            between += 1
            if between > _MOST_BETWEEN:
                break
        place += 1
    end_run()
    return spans, topics, place
