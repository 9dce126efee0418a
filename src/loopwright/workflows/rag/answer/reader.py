"""The reader without a model: up to three cited quotes, best first, and how sure it is that they answer."""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from loopwright.retrieval.lexicon import Lexicon
from loopwright.retrieval.records import Evidence
from loopwright.retrieval.text import STOP_WORDS, UNSPACED, fold, stem, terms
from loopwright.workflows.files.source import file_and_key
from loopwright.workflows.rag.answer.citations import NOT, is_row, marked, number_of
from loopwright.workflows.rag.answer.sentences import NOTES
from loopwright.workflows.rag.answer.units import Unit, has_cells, plain_text, shown, units_of
from loopwright.workflows.rag.question.forms import Asked, kinds_in, lexicon_of, other_figures, said_by_length, sought
from loopwright.workflows.rag.question.words import IN_PARENTHESES, complexity_of, informative_terms, subjects, terms_of
from loopwright.workflows.rag.schemas import Answer, Citation, Complexity, Sentence

QUOTES = 3
"""At most so many passages are quoted."""
LENGTH = 600
"""At most so many characters of a passage, in whole units."""
LEAD = 450
"""At most so many characters of the first quote are shown in the answer; the rest stands in its citation."""
ANSWERED = 0.58
"""From this confidence on the quotes are called an answer; below, what fits best."""
FITS = 0.05
"""Below this confidence the documents are said not to answer."""

# Logistic regressions over questions about two firms' documents, each asked again without the documents that answer it:
# intercept, then the weights of `_signs` in order, the last for the logit of what is quoted first, where there is one.
_WITHOUT_RERANKER = (-3.07, 4.19, 2.31)
_WITH_RERANKER = (-1.46, 2.97, 0.87, 0.11)

# Of one file so many characters are quoted together: passages that fit nearly as well as the best of it, that is at
# least by this share (rows of a table, which say the same of different things, by another), then the next to it.
_ROOM = 900
_RIVAL = 0.6
_RIVAL_ROW = 0.7
_NEXT = 1500
_OLD = 0.85
_DATE = re.compile(r"(?<![^\W_])(?:19|20)\d\d(?:[-_.]?(?:0[1-9]|1[0-2])(?:[-_.]?[0-3]\d)?)?(?!\d)")
# What came over HTTP lies in a folder that is called by the hash of its name.
_HASH = re.compile(r"/[0-9a-f]{16}(?=/[^/]+$)")
# "Deadline: 31 March", "The zoo closes at 5 pm.": a heading that says something of what it names.
_TELLS = re.compile(rf"[.!。]{NOTES}$|:\s+\S")
# Fitted on which run of a passage holds the answer: how much a run says counts beside what it shares of what is asked.
_MORE = 0.24
_CODE = 200
# Sentences nearer than this, in shares of what is asked, are one short answer together, if it is no longer than that.
_NEAR = 0.05
_DECIDES = 200
_AFFIRMS = 0.8
_SAY_LITTLE = STOP_WORDS.union(map(stem, STOP_WORDS))
# What looks like these may be said of anything: no answer is sure without what else is asked.
_OF_ANYTHING = frozenset({"<time>", "<span>", "<length>", "<warmth>"})
_EXACT = frozenset({"<phone>", "<mail>"})  # no other words say it: who only names it gives none
# What stands for kinds of things that their looks tell surely, among the words of a question; a name may be any word.
_PLAIN = frozenset({"<date>", "<sum>", *_OF_ANYTHING, *_EXACT})
_ADDS = 0.05
_YES_NO = frozenset("yes no ja nein oui non true false".split())
_CODE_WEIGHT = 0.25
_POINTS = re.compile(r"[\W\d]*\[[^\[\]\n]+\]\([^()\s]+\.\w+(?:#[\w-]*)?\)")
_MOST_RARITY = 6.0
_MOST_LOGIT = 30.0
_NAMED = 1.08
_RARE = 0.9
_RANK = 5
_FOUND = 0.25
# Fitted on which passage holds the answer, tried on each world with the other two: beside a reranker words say less.
_FOUND_JUDGED = 2.5
_JUDGED = 0.26
_LEAST_LOGIT = -11.0


@dataclass(frozen=True, slots=True)
class _Quote:
    """What is quoted of a passage."""

    evidence: Evidence
    """The passage."""
    units: Sequence[Unit]
    """The units of the passage that are quoted, one after the other."""
    found: Sequence[set[str]]
    """The terms of each unit, with those of what is shown above it: the header of a table tells what a cell means."""
    above: set[str]
    """The terms of the headings above the passage."""
    holds: frozenset[str]
    """The words of the question that the quote, or the headings above it, has in some form."""

    @property
    def span(self) -> tuple[int, int]:
        """Where the quote begins and ends in its text, in characters."""
        return self.units[0].start, self.units[-1].end

    @property
    def text(self) -> str:
        """The words as they stand there."""
        return self.evidence.text[slice(*self.span)]


def extract_answer(
    question: str,
    evidence: Sequence[Evidence],
    *,
    lexicon: Lexicon | None = None,
    logits: Sequence[float] | None = None,
    trust: float = 1.0,
) -> Answer:
    """Quote the passages that answer a question best.

    Nothing is written that no passage says: what a passage tells its reader to do is at most quoted. The lexicon is of
    all documents, or of the evidence alone; the trust is what the confidence is multiplied by.

    Returns:
        The answer, with its confidence; one that abstains quotes the nearest passages all the same, and says so, as one
        that is not sure says, and has no short answer.
    """
    lexicon = lexicon or lexicon_of(evidence)
    # A passage that the reranker cannot score is as bad as can be; infinite numbers have no differences.
    logits = logits and np.nan_to_num(np.clip(logits, -_MOST_LOGIT, _MOST_LOGIT), nan=-_MOST_LOGIT).tolist()
    words = sought(question, lexicon)
    titles = _named_titles(question, words, evidence)
    order, gains = _ranked(words, evidence, titles, lexicon, logits)
    groups = _composed(words, evidence, order, gains)
    quotes = [group[0] for group in groups]
    confidence = 0.0
    if words and quotes:
        judged = {each.id: logit for each, logit in zip(evidence, logits or (), strict=False)}
        best = max((judged[quote.evidence.id] for quote in groups[0]), default=0.0) if judged else None
        confidence = trust * _confidence(_signs(question, words, quotes[0], lexicon), best)
    # A number that only another file holds is that of something else, but for what is compared. Such quotes may fit.
    compares = complexity_of(question) is Complexity.COMPARISON
    named = set[str]().union(*titles)
    said_of = _said_of_names(question, words, lexicon).intersection(informative_terms(question))
    # Of two things that it names it asks what one is to the other, and may say that in other words; and where the names
    # are nearly all that it says, as in "comment importer depuis Evernote", nothing is said of them.
    is_one = max(map(len, titles), default=0) == len(named)
    said_of -= named if is_one and share_of(words, named & words.keys()) < _AFFIRMS else set()
    apart = _is_beside(question, words, quotes if compares else quotes[:1], said_of, named)
    # What all rows have, as words in the names of columns, tells none from another.
    rows = [_quote(words, of) for of in evidence if quotes and is_row(of) and _file(of) == _file(quotes[0].evidence)]
    alike = [row for row in rows if row.holds >= quotes[0].holds]
    if confidence >= ANSWERED and (apart or (1 < len(rows) == len(alike) and not _asks_all(words, groups[0], rows))):
        confidence *= ANSWERED
    abstained = not quotes or confidence < FITS
    listed: list[Citation] = []
    sure = confidence >= ANSWERED
    # What only comes nearest is short, or a table would be shown whole.
    groups = [group[:QUOTES] if not sure and is_row(group[0].evidence) else group for group in groups]
    leads = [LEAD, *([LEAD if sure else LEAD // 2] * QUOTES)]
    said = [_sentences(words, group, listed, lead, sure) for group, lead in zip(groups, leads, strict=False)]
    # Beside what is sure only what says more of what is asked, or is compared; the others are there to be looked at.
    every = compares or not sure
    told = [each for part, adds in zip(said, _added(words, quotes), strict=True) if adds or every for each in part]
    text = "\n\n".join(map(marked, told))
    # So is what stands around: it is no part of the text.
    for quote in (quote for group in groups for quote in group):
        number_of(listed, quote.evidence, *quote.span)
    if abstained:
        nearest = f" The nearest passages:\n\n{text}" if text else ""
        text = f"The documents do not answer this question.{nearest}"
    elif not sure:
        text = f"The documents may not answer this question. What comes nearest:\n\n{text}"
    return Answer(
        text=text,
        short=_short(words, [quote for group in groups for quote in group], said_of) if sure and len(alike) < 2 else "",
        sentences=() if abstained else tuple(each for part in said for each in part),
        citations=tuple(listed),
        abstained=abstained,
        confidence=round(confidence, 4),
    )


def _is_beside(
    question: str, words: Mapping[str, Asked], quotes: Sequence[_Quote], said_of: set[str], named: set[str]
) -> bool:
    """Whether quotes lack a figure that is asked, the sum or date and its word, what is named, or all said of that."""
    lacks = words.keys() - set[str]().union(*(of.holds for of in quotes))
    meant = {*informative_terms(" ".join(IN_PARENTHESES.findall(question)))} & words.keys()
    # Of what is insured there is so much as a sum says.
    counts = [] if any("<sum>" in each for of in quotes for each in of.found) else ["<counted>"]
    beside = bool(lacks & {*named, *_EXACT, *counts}) or (bool(meant) and meant <= lacks)
    lacks -= _PLAIN
    # What is said of a name is more than how far or how old: any number may look like that.
    said_of = {term for term in said_of if _OF_ANYTHING.isdisjoint(words[term].forms)}
    asks = (any(map(str.isdigit, term)) or not _PLAIN.isdisjoint(words[term].forms) for term in lacks)
    told = [[of.evidence.title, of.evidence.heading, *(unit.above for unit in of.units), of.text] for of in quotes]
    figures = other_figures(question, "\n".join(chain(*told)))
    return beside or any(asks) or (bool(said_of) and said_of <= lacks) or bool(figures)


def _named_titles(question: str, words: Mapping[str, Asked], evidence: Sequence[Evidence]) -> list[set[str]]:
    """The words of each title that the question has whole, in small letters too: what it is about, but in a chat."""
    asked = {*informative_terms(IN_PARENTHESES.sub("", question))}
    # "Backing up" has common words alone.
    rare = {term for term, of in words.items() if of.rarity >= _RARE}
    titles = ({*informative_terms(each.title)} for each in evidence)
    return [title if title <= asked and title & rare else set() for title in titles]


def _asks_all(words: Mapping[str, Asked], group: Sequence[_Quote], rows: Sequence[_Quote]) -> bool:
    """Whether all rows of a small table are quoted, and have all of the question, and not as what is so or not."""
    cells = {fold(line.rpartition(": ")[2]) for row in rows for line in row.text.splitlines()}
    return len(rows) == len(group) and words.keys() - STOP_WORDS <= group[0].holds and cells.isdisjoint(_YES_NO)


def _ranked(
    words: Mapping[str, Asked],
    evidence: Sequence[Evidence],
    titles: Sequence[set[str]],
    lexicon: Lexicon,
    logits: Sequence[float] | None,
) -> tuple[list[int], list[float]]:
    """The places of the passages, best first, and what speaks for each.

    The weight of the question's words counts, more in a document whose title the question names, and little the order
    in which they were found, which knows of links and vectors. With a reranker its logit counts most, as it is: where
    all are low, the highest says nothing.
    """
    weights = _weights(words, evidence, lexicon)
    most = max(weights, default=0.0) or 1.0
    found = _FOUND if logits is None else _FOUND_JUDGED
    weights = [weight / most * (_NAMED if title else 1) for weight, title in zip(weights, titles, strict=True)]
    gains = [weight + found * _RANK / (_RANK + place) for place, weight in enumerate(weights)]
    for place, logit in enumerate(logits or ()):
        gains[place] += _JUDGED * max(0.0, logit - _LEAST_LOGIT)
    older = _older(words, evidence, gains)
    gains = [gain * (_OLD if place in older else 1.0) for place, gain in enumerate(gains)]
    return sorted(range(len(evidence)), key=lambda place: -gains[place]), gains


def _older(words: Mapping[str, Asked], evidence: Sequence[Evidence], gains: Sequence[float]) -> set[int]:
    """The passages of files of whose name there is a later one, or one of the asked year, that fits nearly as well."""
    years = {term for term in words if len(term) == 4 and _DATE.match(term)}
    files = [_HASH.sub("", _file(each)) for each in evidence]
    dated = [(_DATE.sub("", file), re.sub(r"\D", "", (_DATE.findall(file) or [""])[-1])) for file in files]
    every = [(name, date if not years or date[:4] in years else "") for name, date in dated]

    def is_older(place: int) -> bool:
        fit = (n for n, gain in enumerate(gains) if gain >= _OLD * gains[place])
        return any(every[n][0] == every[place][0] and every[n][1] > every[place][1] for n in fit)

    return {*filter(is_older, range(len(every)))}


def _composed(
    words: Mapping[str, Asked], evidence: Sequence[Evidence], order: Sequence[int], gains: Sequence[float]
) -> list[list[_Quote]]:
    """Up to three quotes, each of one file: the best passage that is left, and what fits beside it."""
    groups: list[list[_Quote]] = []
    used: set[int] = set()
    for place in order:
        if place in used or len(groups) == QUOTES:
            continue
        first = _quote(words, evidence[place])
        if not first.holds or any(first.text == group[0].text for group in groups):
            continue
        used.add(place)
        groups.append([first])
        room = _ROOM - len(first.text)
        for other in _beside(place, evidence, gains):
            quote = _quote(words, evidence[other])
            if other not in used and len(quote.text) <= room:
                used.add(other)
                groups[-1].append(quote)
                room -= len(quote.text)
        groups[-1].sort(key=lambda of: not _PLAIN & words.keys() <= of.holds)  # what has what is asked for comes first
    return groups


def _added(words: Mapping[str, Asked], quotes: Sequence[_Quote]) -> list[bool]:
    """Whether each quote holds words of the question that those before it do not, or all that the first holds."""
    held: frozenset[str] = frozenset()
    adds: list[bool] = []
    for quote in quotes:
        adds.append(quote.holds >= quotes[0].holds or share_of(words, quote.holds - held) >= _ADDS)
        held |= quote.holds
    return adds


def _beside(place: int, evidence: Sequence[Evidence], gains: Sequence[float]) -> list[int]:
    """The other passages of a file that fit nearly as well as one, best first; then those that stand next to it."""
    first = evidence[place]
    same = [n for n, each in enumerate(evidence) if n != place and _file(each) == _file(first)]
    least = gains[place] * (_RIVAL_ROW if is_row(first) else _RIVAL)
    rivals = sorted((n for n in same if gains[n] >= least), key=lambda n: -gains[n])
    apart = {n: abs(evidence[n].start - first.start) for n in same if not is_row(first)}
    return list(dict.fromkeys([*rivals, *sorted((n for n in apart if apart[n] <= _NEXT), key=lambda n: apart[n])]))


def _file(evidence: Evidence) -> str:
    """What a passage is quoted together with: its document, or the table of a row."""
    return file_and_key(evidence.document_id)[0] if is_row(evidence) else evidence.document_id or evidence.id


def _sentences(
    words: Mapping[str, Asked], group: Sequence[_Quote], listed: list[Citation], lead: int, sure: bool
) -> list[Sentence]:
    """What is quoted of one file, each with its citation, best first; what is not sure in the order in which it stands.

    Shown is what answers of the best quote, and half as much of those that hold more of the question, or are rows
    beside a row, which are one sentence. What stands under another heading than the best is shown under its own, and so
    is the best, where its heading tells what it does not: a word of the question, or a number, which may be a date.
    """
    first, told = group[0], list[tuple[_Quote, str]]()
    several = len({quote.evidence.heading for quote in group}) > 1
    for quote, adds in zip(group, _added(words, group), strict=True):
        passage, row = quote.evidence, is_row(quote.evidence)
        # What lacks a number of the question that the best has says it of something else.
        if not row and (not adds or any(map(str.isdigit, "".join(first.holds - quote.holds)))):
            continue
        run = _best_run(words, quote, lead if quote is first else lead // 2)
        text = shown(passage.text, quote.units[run])
        heading = next((each for each in passage.heading.split(" > ")[::-1] if not (row or has_cells(each))), "")
        new = {*terms_of(heading)}.difference(*quote.found[run])
        tells = any(term in words or any(map(str.isdigit, term)) for term in new)
        apart = passage.heading != first.evidence.heading or (several and not sure)
        known = {fold(line) for line in (passage.title, *text.splitlines())}
        if heading and fold(heading) not in known and (apart or (tells and quote is first)):
            text = f"{heading}{'' if heading[-1] in '?!:.' else ':'}\n\n{text}"
        told.append((quote, text))
    if not sure or is_row(first.evidence):
        told.sort(key=lambda each: (each[0].evidence.document_id, each[0].evidence.start))
    cited = tuple(number_of(listed, quote.evidence, *quote.span) for quote, _ in told)
    if is_row(first.evidence):
        return [Sentence(text="\n\n".join(text for _, text in told), citations=cited)]
    return [Sentence(text=text, citations=(number,)) for number, (_, text) in zip(cited, told, strict=True)]


def _weights(words: Mapping[str, Asked], passages: Sequence[Evidence], lexicon: Lexicon) -> list[float]:
    """The words' weight in each passage, as BM25 counts mentions and length; of a word's forms the likeliest counts.

    What stands in the headings counts as one more mention, however often it stands there: all passages of a document
    have its title, so that it tells documents apart and not what is said in them.
    """
    texts = [[*terms_of(each.text), *kinds_in(each.text, words)] for each in passages]
    above = [{*terms_of(f"{each.title} {each.heading}")} for each in passages]
    code = [Counter(term for part in _beside_text(each) for term in terms(part)) for each in passages]
    counted = [
        {term: count - (1 - _CODE_WEIGHT) * of[term] for term, count in (Counter(text) + Counter(headings)).items()}
        for text, headings, of in zip(texts, above, code, strict=True)
    ]
    lengths = np.array([len(text) for text in texts], np.float32)
    total = np.zeros(len(passages), np.float32)
    for term, asked in words.items():
        # The kind that "cost" may stand for weighs as what is asked for already.
        forms = {form: sure for form, sure in asked.forms.items() if form[0] != "<" or term[0] == "<"}
        counts = np.array([[count.get(form, 0) for count in counted] for form in forms], np.float32)
        sure = np.array([*forms.values()], np.float32)[:, None]
        total += asked.weight * (sure * lexicon.saturation(counts, lengths)).max(axis=0)
    return total.tolist()


def _beside_text(passage: Evidence) -> list[str]:
    """What says less than sentences do: code, and what only points to another page, as the entries of a contents."""
    told = [(unit.kind, passage.text[unit.start : unit.end]) for unit in units_of(passage.text, passage.heading)]
    return [text for kind, text in told if kind == "code" or _POINTS.match(text)]


def _quote(words: Mapping[str, Asked], passage: Evidence) -> _Quote:
    """The run of units with the most weight of the question that is short enough, as long as it can be."""
    text = passage.text
    headings = {fold(each) for each in (passage.title, *passage.heading.split(" > "))}
    # A row is one statement, whatever the number of its fields.
    is_one = is_row(passage) and len(text) <= LENGTH
    every = (not is_one and units_of(text, passage.heading)) or (Unit(0, len(text)),)
    # A heading is shown with the quote anyway; as its first line it would hide what is quoted.
    said = {unit: plain_text(text[unit.start : unit.end]) for unit in every}
    units = [unit for unit in every if _TELLS.search(said[unit]) or fold(said[unit]) not in headings] or every
    # What answers a question, or stands under headings, says it of what that asks or they name.
    before, trail = list[str](), dict[int, str]()
    for unit in units:
        before.append(" ".join(trail.values()))
        here = text[unit.start : unit.end]
        # A line that stands alone ends what a heading without a mark is over, even where it may be none.
        alone = here[-1:].isalnum() and (text[: unit.start][-2:] or "\n\n") == text[unit.end :][:2] == "\n\n"
        level = _level(here) if unit.leads else 7 if alone else 8
        trail = {at: line for at, line in trail.items() if at < level} | ({level: here} if unit.leads else {})
    found = [
        {*terms_of(f"{unit.above} {lead} {text[unit.start : unit.end]}"), *kinds_in(text[unit.start : unit.end], words)}
        for unit, lead in zip(units, before, strict=True)
    ]
    above = {*terms_of(f"{passage.title} {passage.heading}")}
    run = _best_run(words, _Quote(passage, units, found, above, frozenset()), LENGTH)
    return _Quote(passage, units[run], found[run], above, held_of(words, above.union(*found[run])))


def _level(heading: str) -> int:
    """Below any heading with a mark stands one without, and below that what asks, or leads to the next."""
    mark = re.match(r"#{1,6}(?=\s)", heading)
    return len(mark[0]) if mark else 8 if heading[-1] in "?:？：" else 7


def _best_run(words: Mapping[str, Asked], quote: _Quote, length: int) -> slice:
    """Where the run of whole units lies that says most of what is asked and besides, with one that alone says most."""
    best, highest, units = slice(0, 1), -1.0, quote.units
    most = max(shares := [share_of(words, held_of(words, quote.above | each)) for each in quote.found])
    # What answers a heading that asks nearly the same begins right below it, and so does what begins with yes or no.
    begins = fold(plain_text(quote.evidence.text[units[0].start : units[0].end])).strip(" .!,") in _YES_NO
    for first in range(1 if begins or share_of(words, held_of(words, quote.above)) >= _AFFIRMS else len(units)):
        held = set[str]()
        size = 0
        for last in range(first, len(units)):
            # Code says less in as many characters, and the text that explains it is to have room beside it.
            size += min(units[last].end - units[last].start, _CODE if units[last].kind == "code" else length)
            if last > first and size > length:
                break
            held |= quote.found[last]
            if (units[last].leads and last + 1 < len(units)) or max(shares[first : last + 1]) < most - _NEAR:
                continue
            score = share_of(words, held_of(words, held)) + _MORE * math.log(1 + min(size, length))
            if score > highest:
                best, highest = slice(first, last + 1), score
    return best


def held_of(words: Mapping[str, Asked], found: Collection[str]) -> frozenset[str]:
    """The words of a question that some terms hold in some form."""
    return frozenset(term for term, sure in _closeness(words, found).items() if sure)


def share_of(words: Mapping[str, Asked], held: Collection[str]) -> float:
    """How much of a question's weight some of its words are."""
    return sum(words[term].weight for term in held) / (sum(asked.weight for asked in words.values()) or 1.0)


def _short(words: Mapping[str, Asked], quotes: Sequence[_Quote], said_of: set[str]) -> str:
    """What decides of the first quote; nothing where one with as much of what is asked to be so says the opposite.

    What says no of more than is asked leaves that open, as "Dogs are not allowed in the kitchen" for all other rooms.
    """
    short, *others = (_decisive(words, quote, said_of) for quote in quotes if quote.holds >= quotes[0].holds)
    forms = {form for asked in words.values() for form in asked.forms}
    yes = {other for other in others if other and not NOT.search(fold(other))}
    no = {other for other in {*others} - yes if forms.issuperset(informative_terms(NOT.sub(" ", fold(other))))} - {""}
    return "" if (yes if NOT.search(fold(short)) else no) and not any(term.startswith("<") for term in words) else short


def _decisive(words: Mapping[str, Asked], quote: _Quote, said_of: set[str]) -> str:
    """The unit of what is quoted with the most of the question's weight, most of all of what the headings do not say.

    One that says no more than the question and the headings is none, unless there is no other; nor is one without what
    is asked for, as a sum, where another has it and a word of the question. Where others say nearly as much, it
    is all of these, where they stand together and are short, or nothing. Where a question asks whether something is so,
    its neighbour in the paragraph goes with it that says no of a word of the question that it lacks.
    """
    # Of a few passages even the common words are rare, and decide nothing.
    words = {term: asked for term, asked in words.items() if term not in STOP_WORDS} or words
    texts = [quote.evidence.text[unit.start : unit.end] for unit in quote.units]
    own = [{*terms_of(text), *kinds_in(text, words)} for text in texts]
    shares = [share_of(words, held_of(words, found)) for found in own]
    levels = [_level(text) if unit.leads else 9 for unit, text in zip(quote.units, texts, strict=True)]
    above = quote.above.union(*(found for found, level in zip(own, levels, strict=True) if level < 7))
    said, total = _closeness(words, above), sum(asked.weight for asked in words.values())
    asked_for, kinds = _PLAIN & words.keys(), {term for term in words if term[0] == "<"}
    own_words = [held_of(words, [term for term in found if term[0] != "<"]) for found in quote.found]
    over = held_of(words, above)
    headed = words.keys() - kinds <= over

    def weight(place: int) -> tuple[bool, bool, bool, float, bool]:
        sure, held = _closeness(words, own[place]), held_of(words, quote.found[place])
        more = sum(asked.weight * max(0.0, sure[term] - said[term]) for term, asked in words.items())
        tells = bool(_TELLS.search(texts[place]))
        # "Les chiens sont admis." says yes by what the question says.
        affirms = tells and not kinds and shares[place] >= _AFFIRMS
        # Stop words add nothing to a line of the question's words, as "Invoice no. 7", but to a sentence, or if alone.
        idle = _SAY_LITTLE if shares[place] and not tells else frozenset()
        new = affirms or not quote.found[place] - idle <= words.keys() | quote.above
        fits = asked_for <= held and (headed or bool(own_words[place]) or not any(own_words))
        return levels[place] > 8, fits, new, more / total + share_of(words, held | held_of(words, quote.above)), tells

    weights = [*map(weight, range(len(texts)))]
    *kind, most, _ = max(weights)
    # What has no mark and more of the question, and says more than it, may be a statement as well as a heading.
    least = shares[weights.index(max(weights))]
    for level, text, found, share in zip(levels, texts, own, shares, strict=True):
        told = found - STOP_WORDS - words.keys() - quote.above
        if level == 7 and told and not text[0].isdigit() and share > least:
            return ""
    whole = headed and asked_for and len(quote.text) <= _DECIDES  # what qualifies the kind of thing has none itself
    near = [n for n, each in enumerate(weights) if whole or ([*each[:3]] == kind and each[3] >= most - _NEAR)]
    open_yet = not kinds and not any(NOT.search(fold(texts[place])) for place in near)
    for n in range(max(0, near[0] - 1), min(len(texts), near[-1] + 2)) if open_yet else ():
        new = own_words[n].difference(_SAY_LITTLE, *(own_words[place] for place in near)) and levels[n] > 8
        both = sorted([*near, n])
        apart = "\n\n" in quote.evidence.text[quote.units[both[0]].start : quote.units[both[-1]].end]
        near = both if new and not apart and NOT.search(fold(texts[n])) else near
    # What only looks like what is asked for, or has no word of what is said of a name, may be that of anything.
    held = held_of(words, set[str]().union(*(quote.found[n] for n in near)))
    if not kinds - {"<name>"} <= held:
        return ""
    shared = frozenset[str]().union(*(own_words[n] for n in near))
    if not headed and (shared if kinds <= held else shared - over).isdisjoint(said_of or shared):
        return ""
    short = quote.evidence.text[quote.units[near[0]].start : quote.units[near[-1]].end]
    if len(near) > 1 and (near[-1] - near[0] >= len(near) or len(short) > _DECIDES):
        return ""
    return re.sub(r"^(?:[*•]\s+|[-+]\s+(?!\d))", "", plain_text(short))


def _confidence(signs: Sequence[float], logit: float | None) -> float:
    """How likely it is that the quotes answer, from 0 to 1."""
    intercept, *weights = _WITHOUT_RERANKER if logit is None else _WITH_RERANKER
    known = signs if logit is None else [*signs, logit]
    return 1 / (1 + math.exp(-intercept - sum(weight * sign for weight, sign in zip(weights, known, strict=True))))


def _signs(question: str, words: Mapping[str, Asked], first: _Quote, lexicon: Lexicon) -> list[float]:
    """What speaks for an answer, each from 0 to 1; a likely form of a word counts in part.

    How much of the question, of what it says of that which it names, and of it but for a duration, whichever is least,
    one sentence of the first quote, or the whole of a row, holds under its headings: of "how old is Ada King" a
    sentence with the name alone says nothing. How many and how rare words the quote holds in all.
    """
    weights = {term: asked.weight for term, asked in words.items()}
    said = {term: weights[term] for term in _said_of_names(question, words, lexicon)}
    asked = set() if _OF_ANYTHING.isdisjoint(words) else words.keys() - _SAY_LITTLE
    plain = {term: weights[term] for term in asked if _OF_ANYTHING.isdisjoint(words[term].forms)}
    rest = {term: weight for term, weight in plain.items() if term not in held_of(words, first.above)}
    if 2 * sum(rest.values()) <= sum(plain.values()):
        rest = weights  # the headings have most of what is asked
    parts = [set[str]().union(*first.found)] if is_row(first.evidence) else first.found
    sentences = [_closeness(words, found | first.above) for found in parts]
    rarities = {term: asked.rarity for term, asked in words.items()}
    return [
        max(min(_sum(of, held) / (sum(of.values()) or 1.0) for of in (weights, said, rest)) for held in sentences),
        min(1.0, _sum(rarities, _closeness(words, first.above.union(*first.found))) / _MOST_RARITY),
    ]


def _said_of_names(question: str, words: Mapping[str, Asked], lexicon: Lexicon) -> set[str]:
    """The words of a question that are not of what it names; all where it has no others."""
    # Neither pieces of two or three characters are names, nor single words in German, whose nouns all have a capital.
    names = [] if UNSPACED.search(question) else subjects(question)
    alone = not said_by_length(question, lexicon)
    return words.keys() - {term for name in names if alone or " " in name for term in terms(name)} or {*words}


def _closeness(words: Mapping[str, Asked], found: Collection[str]) -> dict[str, float]:
    """Term -> how surely some form of it stands in a text."""
    return {
        term: max((sure for form, sure in asked.forms.items() if form in found), default=0.0)
        for term, asked in words.items()
    }


def _sum(counts: Mapping[str, float], held: Mapping[str, float]) -> float:
    return sum(count * held[term] for term, count in counts.items())
