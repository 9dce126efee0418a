"""What is not wanted: a cue denies the first thing behind it, condition or subject, and what is joined with that."""

from __future__ import annotations

from collections.abc import Callable

from loopwright.workflows.assistant.question.tokens import Sentence, Span
from loopwright.workflows.assistant.searching.lexicon import cues, verbal, words

_JOINING = frozenset("and or nor und oder et ou y o en of".split())
_OPENING = frozenset(
    "the a an any more some too anything about on in at with of by for to from der die das le la les el de du".split()
)
_MOST_BETWEEN = 6
_ASKED = 3
"""So many words at least say what is to be done."""


def denied(sentence: Sentence, weight: Callable[[int], float]) -> tuple[list[Span], list[str]]:
    """What a question excludes.

    Returns:
        The conditions that must not hold, and the subjects that are not wanted.
    """
    spans: list[Span] = []
    topics: list[str] = []
    place = 0
    while place < len(sentence):
        length = _cue(sentence, place)
        if length:
            phrase = tuple(token.word for token in sentence.tokens[place : place + length])
            after = _condition_near(sentence, place + length) if phrase in verbal() else place + length
            softly = words("negation", "weak") | words("negation", "outer")
            weak = after != place + length or sentence.word(place) in softly
            found, subjects, end = _behind(sentence, after, weight, weak=weak, at_once=phrase not in verbal())
            spans += found
            topics += subjects
            if found or subjects:
                sentence.take(place, place + length, "negation")
                place = max(end, place + length)
                continue
        place += 1
    return spans, topics


def asked_until(sentence: Sentence, first: int, last: int) -> int:
    """Where that part of a sentence ends which says what is to be done: before what it excludes."""
    end = next((place for place in range(first + _ASKED, last) if _cue(sentence, place)), last)
    return end - (end < last and sentence.is_any(end - 1, words("negation", "but") | _JOINING))


def _cue(sentence: Sentence, place: int) -> int:
    """How many words a cue has that stands at a place; 0 for none."""
    for phrase in cues():
        if sentence.match(place, phrase):
            after = place + len(phrase)
            idle = len(phrase) == 1 and sentence.is_any(after, words("negation", "idle"))
            # "No, I am in the other building" denies what was said before.
            refuses = place == 0 and after < len(sentence) and "," in sentence.tokens[after].gap
            return 0 if idle or refuses else len(phrase)
    before = [sentence.word(other) for other in range(place - 3, place)]
    everything = words("things", "any") & set(before)
    return int(bool(sentence.word(place) in words("negation", "but") and everything))


def _behind(  # noqa: C901 - one case after the other
    sentence: Sentence, place: int, weight: Callable[[int], float], *, weak: bool, at_once: bool
) -> tuple[list[Span], list[str], int]:
    """The things behind a cue, and the word after them."""
    starts = {span.first: span for span in sentence.spans if not span.told}
    spans: list[Span] = []
    topics: list[str] = []
    run: list[int] = []
    between = 0

    def end_run() -> None:
        if run:
            topics.append(" ".join(sentence.tokens[each].raw for each in run))
            sentence.take(run[0], run[-1] + 1, "excluded")
            run.clear()

    first = place
    while place < len(sentence) and not (sentence.begins(place) and place > first):
        word = sentence.word(place)
        if (place > first and word in words("negation", "ends")) or (_cue(sentence, place) and place > first):
            break
        comma = place > first and "," in sentence.tokens[place].gap
        if comma and not _goes_on(sentence, place):
            break
        if word in _JOINING or comma:
            end_run()
            if word in _JOINING:
                place += 1
                continue
        if place in starts:
            span = starts[place]
            if (
                topics
                or run
                or (spans and spans[-1].condition.slot != span.condition.slot and not _same_place(spans[-1], span))
            ):
                break
            spans += [each for each in sentence.spans if each.first == place and not each.told]
            place = span.last
            continue
        if spans and word not in _OPENING and word not in words("things", "sessions"):
            break
        said = weight(place)
        if (
            not weak
            and not spans
            and not sentence.tokens[place].taken
            and (said > 0.7 or (at_once and place == first and said > 0.05))
        ):
            run.append(place)
        elif run and (word in _OPENING or place - run[-1] > 1):
            break
        elif not run and not topics and not spans:
            between += 1
            if between > _MOST_BETWEEN:
                break
        place += 1
    end_run()
    return spans, topics, place


def _condition_near(sentence: Sentence, place: int) -> int:
    """Where a time stands in the same clause, as in "does not start after 4": that is denied, and no verb."""
    for other in range(place, min(len(sentence), place + _MOST_BETWEEN)):
        if (sentence.begins(other) and other > place) or "," in sentence.tokens[other].gap:
            break
        if any(
            span.first == other and span.condition.slot in ("start", "end", "on", "day", "minutes")
            for span in sentence.spans
        ):
            return other
    return place


def _same_place(one: Span, other: Span) -> bool:
    times = ("day", "start", "end", "on")
    return one.condition.slot in times and other.condition.slot in times and one.first == other.first


def _goes_on(sentence: Sentence, place: int) -> bool:
    """Whether a list goes on behind a comma: it ends with "and" or "or"."""
    return any(sentence.is_any(near, _JOINING) for near in range(place, min(len(sentence), place + 4)))
