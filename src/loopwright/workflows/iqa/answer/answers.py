"""From evidence to an answer by rules: every sentence from the measured numbers, in the form that was asked."""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence

from loopwright.config import shipped
from loopwright.workflows.iqa.answer.advice import advise, choose_remedy
from loopwright.workflows.iqa.answer.choosing import choose
from loopwright.workflows.iqa.answer.comparing_parts import choose_part, compare_parts
from loopwright.workflows.iqa.answer.facts import (
    IMPAIRMENT_LEVEL,
    UNABLE,
    Facts,
    capital,
    compare,
    held_against,
    level_name,
    listed,
    listed_there,
    mostly_soft,
    not_blurred,
    opposes,
    quality_score,
    reasoning,
    said_soft,
    scope_words,
    scopes_of,
    sentences,
    spoken_names,
    strength_of,
    used_evidence,
    values,
    where,
)
from loopwright.workflows.iqa.answer.files import tell
from loopwright.workflows.iqa.distortions import Distortion, Severity, in_words, kind_of
from loopwright.workflows.iqa.measuring.detection import SURE
from loopwright.workflows.iqa.measuring.severity import closeness
from loopwright.workflows.iqa.question.asked import Operation, Question, Term
from loopwright.workflows.iqa.question.reading import QueryReading, read_query
from loopwright.workflows.iqa.question.vocabulary import Span, spans_of
from loopwright.workflows.iqa.schemas import (
    GLOBAL,
    AnswerMode,
    DistortionFinding,
    ExecutorOutput,
    PlannerOutput,
    QueryType,
    ReferenceMode,
    SummarizerOutput,
)

OTHER_ANSWER = (
    "I answer questions about image quality only, in English, German, French, Spanish or Italian: ask what is wrong "
    "with the picture, how good it is, or whether it is sharp, noisy or well exposed."
)
"""The answer to a question about anything else."""

NO_REFERENCE = f"{UNABLE}: there is no reference image to compare with."
"""The answer where a comparison is asked for and there is nothing to compare with."""


def answer(
    query: str, plan: PlannerOutput, evidence: ExecutorOutput, questions: Sequence[Question] = ()
) -> SummarizerOutput:
    """Answer a question from what was measured.

    Args:
        query: The user's question.
        plan: What was to be done.
        evidence: What was measured.
        questions: What it asks, where a chat model filled it; by default as the rules read it.

    Returns:
        The answer; whether a replan is needed is not decided here (see `planning.missing_evidence`).
    """
    reading = read_query(query)
    if plan.query_type is QueryType.OTHER:
        final = " ".join(filter(None, map(_not_measured, reading.questions))) or OTHER_ANSWER
        return SummarizerOutput(final_answer=final, quality_reasoning="It is not about what is measured here.")
    facts = _facts(plan, evidence)
    if plan.answer_mode is AnswerMode.MCQ:
        letter, why = _choice(reading, facts)
        # A number alone would pass for a score.
        shown = f"{capital(reading.options[letter])} ({letter})" if letter and letter.isdigit() else letter
        return _result(shown or UNABLE, facts, why)
    questions = questions or reading.questions
    if plan.answer_mode is AnswerMode.SCORING is not reading.plan.answer_mode:
        # Whoever planned took it for a wish for a score.
        questions = (Question(text=query.strip(), operation=Operation.RATE),)
    said = [sentence for question in questions if (sentence := answer_one(question, facts))]
    said = [one for one in dict.fromkeys(said) if not any(one in other and one != other for other in said)]
    result = _result(sentences(said) if len(said) > 1 else "".join(said) or what_is_wrong(facts), facts)
    # A part that is named alone was measured alone, and its score is the evidence's.
    rates = any(question.operation in (Operation.RATE, Operation.MEASURE) for question in questions)
    if rates and facts.score is not None:
        return result.model_copy(update={"quality_score": round(facts.score.value, 4)})
    return result


def _not_measured(question: Question) -> str:
    """What nothing here measures of what a question asks; empty if it asks for none."""
    return f"{UNABLE}: nothing here measures {' or '.join(question.unmeasured)}." if question.unmeasured else ""


def answer_one(question: Question, facts: Facts) -> str:
    """Answer one question in one or two sentences; empty for what is to be declined beside others."""
    scopes = scopes_of(facts.evidence)
    if question.operation is Operation.DECLINE:
        return _not_measured(question)
    if question.operation is Operation.COMPARE and len(scopes) > 1:
        return compare_parts(question, facts)
    tell_of = _ANSWERS.get(question.operation)
    if tell_of is None:
        return ""
    if question.operation is Operation.READ:
        return tell_of(question, facts)
    own = [scope for scope in scopes if scope in (*question.places, *question.objects)] or scopes
    if len(scopes) < 2:
        beside = f" Nothing here measures {' or '.join(question.unmeasured)}." if question.unmeasured else ""
        return f"{_with_size(tell_of(question, facts), question, facts)}{_about_all(question, facts)}{beside}"
    parts = [(scope, _facts(facts.plan, facts.evidence.on(scope))) for scope in own]
    return " ".join(f"{capital(scope_words(scope))}: {_of_part(question, tell_of, part)}" for scope, part in parts)


def _with_size(said: str, question: Question, facts: Facts) -> str:
    """A "yes" to "is it sharp enough for A4?", which takes enough pixels as well."""
    praised = question.yes_no and all(term.absent for term in question.terms) and question.good is not False
    if "print" not in question.attributes or not praised or said.startswith("No"):
        return said
    size = tell(question, facts.evidence.file or {})
    first, second = (size, said) if size.startswith("No") else (said, size)
    return f"{first} {capital(second.partition(': ')[2])}"


def _of_part(question: Question, tell_of: Callable[[Question, Facts], str], part: Facts) -> str:
    if question.operation is Operation.RATE and not question.terms and question.scale is None and part.score:
        return f"{part.score.level} ({part.score.value:.1f} of 5)."
    return tell_of(question, part)


def _facts(plan: PlannerOutput, evidence: ExecutorOutput) -> Facts:
    """The evidence; a score that an evident finding contradicts is weighed with it, half and half."""
    facts = Facts(plan, evidence, quality_score(evidence))
    if facts.score is None or (found := facts.too_good) is None:
        return facts
    value = (facts.score.tool_score + IMPAIRMENT_LEVEL[found.severity]) / 2
    return dataclasses.replace(facts, score=dataclasses.replace(facts.score, value=value))


def _about_all(question: Question, facts: Facts) -> str:
    """Half a sentence where a thing was asked about and the whole image was measured."""
    asks_of_it = question.operation in (Operation.DECIDE, Operation.DEGREE, Operation.RATE, Operation.COMPARE)
    if not question.objects or not asks_of_it or scopes_of(facts.evidence) != [GLOBAL]:
        return ""
    return f" That is about the image as a whole: nothing here can find the {' and '.join(question.objects)} in it."


def _result(final: str, facts: Facts, *first: str) -> SummarizerOutput:
    return SummarizerOutput(
        final_answer=final, quality_reasoning=reasoning(facts, *first), used_evidence=used_evidence(facts)
    )


def _choice(reading: QueryReading, facts: Facts) -> tuple[str | None, str]:
    if not reading.options:
        return None, "The question lists no options, such as A. and B."
    compares = next((each for each in reading.questions if each.operation is Operation.COMPARE or each.sought), None)
    if len(scopes_of(facts.evidence)) > 1 and compares is not None:
        if (part := choose_part(compares, reading.options, facts)) is not None:
            return part
    return choose(reading.stem, reading.options, facts, lambda: _truth(reading, facts))


def _truth(reading: QueryReading, facts: Facts) -> bool | None:
    """Whether what a question with the options yes and no asks is so; None if that is not known."""
    asked = next((each for each in reading.questions if each.operation is not Operation.DECLINE), None)
    said = "" if asked is None else answer_one(asked.model_copy(update={"yes_no": True}), facts)
    if asked is not None and asked.operation is Operation.DECIDE and said.startswith("Partly"):
        return not asked.terms[0].absent
    return said.startswith("Yes") if said.startswith(("Yes", "No")) else None


def score_in_words(query: str, value: float) -> str:
    """A score of 1 to 5 in the form that a question asks for: on its scale, or as a level."""
    scale = next((question.scale for question in read_query(query).questions if question.scale), None)
    return level_name(value) if scale is None else f"{scale.at(value)} ({level_name(value)})"


# Each of the following answers one form of question.


def _decide(question: Question, facts: Facts) -> str:
    if question.threshold is not None:
        value = facts.value(question.threshold.tool)
        if value is None:
            return f"{UNABLE}: nothing was measured that the question is about."
        word = "Yes" if question.threshold.holds(value) else "No"
        return f"{word}: {held_against(question.threshold, facts)} {where(facts)}."
    if not question.terms:
        return _decide_all(question, facts)
    if partly := _partly(question, facts):
        return f"Partly: {partly}."
    judged = [_judged(term, question, facts) for term in question.terms]
    known = [truth for truth, _ in judged if truth is not None]
    truth = (any(known) if question.joined == "or" else all(known)) if known else None
    # What decides it comes first.
    order = sorted(judged, key=lambda each: each[0] is not truth)
    word = UNABLE if truth is None else "Yes" if truth else "No"
    return f"{word}: {'; '.join(dict.fromkeys(said for _, said in order))}."


_SOMEWHERE = re.compile(r"\b(?:any|some|every)(?!one)\w*|\b(?:where|parts?|areas?|spots?)\b")


def _partly(question: Question, facts: Facts) -> str:
    """What is to be said of an image that is soft in most of it, or in part where a part is asked for, else nothing."""
    about = all(closeness(term.name, Distortion.BLURS) > 0 and term.name != "motion blur" for term in question.terms)
    soft = said_soft(facts.evidence.notes) if about else ""
    if not soft or facts.matching((Distortion.BLURS,)):
        return ""
    # Of a thing that nothing found it cannot be told whether it lies in the soft part.
    unknown = _SOMEWHERE.search(question.text) or _about_all(question, facts)
    return soft if unknown or mostly_soft(facts.evidence.notes) else ""


def _judged(term: Term, question: Question, facts: Facts) -> tuple[bool | None, str]:
    """Whether what a word says is so, and what was measured about it."""
    # "Is the contrast all right?", "is the noise acceptable?" ask for the absence of a fault.
    absent = term.absent or question.good is True
    found = [item for _, item in facts.matching((term.name,))]
    if found:
        worst = max(found, key=lambda item: (item.severity.rank, item.confidence))
        if opposes(term.word, question.text, worst):
            return absent, f"it is {listed_there([worst], facts)}"
        if not _is_there(worst, SURE if term.free else _CLEAR, lenient=question.tolerant or (absent and not term.free)):
            return absent, f"only {listed_there([worst], facts)}"
        return not absent, ("by its number alone, " if worst.confidence < _GUESS else "") + listed_there(found, facts)
    if any(closeness(term.name, name) > 0 for name in facts.unanalysed):
        return not absent, f"{in_words(term.name)} {where(facts)}"
    if untold := facts.untold((term.name,)):
        return None, untold
    return absent, none_found((term.name,), facts).rstrip(".")


def none_found(names: Sequence[str], facts: Facts) -> str:
    """That there is none of some distortions, or why that cannot be told; of an image that is soft in part, where."""
    if untold := facts.untold(names):
        return f"{UNABLE}: {untold}."
    soft = not_blurred(facts) if Distortion.BLURS in map(kind_of, names) else ""
    return soft[:1].lower() + soft[1:] or f"no {spoken_names(names)} found {where(facts)}."


def _is_there(item: DistortionFinding, clear: float, *, lenient: bool) -> bool:
    """Whether a finding is one: what is slight must be so sure, and does not count where a little is allowed."""
    return item.severity >= Severity.MODERATE or (not lenient and item.confidence >= clear)


_CLEAR = 0.75
"""How sure a slight finding must be to be told as there."""
_GUESS = 0.5
"""Below this a finding is a guess."""


def _decide_all(question: Question, facts: Facts) -> str:
    found = _relevant(question, facts)
    score = facts.score
    told = f" Found: {listed(found[:3], facts)}." if found else ""
    told += f" {capital(facts.evidence.otherwise)}." if facts.evidence.otherwise else ""
    # A score beside a reference has seen what is severe.
    enough = re.search(r"\b(?:enough|genug|assez|suffi\w+|abbastanza|suficien\w+)\b", question.text)
    spoilt = (compare(facts) is None or enough) and any(item.severity >= Severity.SEVERE for item in found)
    level = re.search(r"\b(?:bad|poor|terrible|awful|low|schlecht|mauvaise?|mala)\b", question.text)
    if not question.good and level and score is not None:
        bad = score.value < 2.5 or spoilt
        return f"{'Yes' if bad else 'No'}: the quality is {score.level.lower()} ({score.value:.1f} of 5).{told}"
    if question.good is False:
        yes, no = ("No", "Yes") if question.free else ("Yes", "No")
        lost, other = any(span.key == "lost" for span in spans_of("bad", question.text)), facts.evidence.otherwise
        if lost and not other:
            return f"{UNABLE}: no sign of lost data was found, and nothing here tells what else is missing."
        if there := [*([listed_there(found, facts)] if found and not lost else []), *filter(None, [other])]:
            return f"{yes if facts.compared or (found and not lost) else UNABLE}: {'; '.join(there)}."
        if not facts.covers(()) and not question.excluded:
            return what_is_wrong(facts, question)
        return f"{no}: {'nothing else' if question.excluded else 'no distortion'} was found {where(facts)}."
    if question.excluded:
        return f"No: {listed_there(found, facts)}." if found else f"Yes: nothing else was found {where(facts)}."
    if score is None:
        return what_is_wrong(facts, question)
    strict = re.search(r"\b(?:good|great|high|excellent|perfect|flawless|sehr gut|gute?|bonne|buena)\b", question.text)
    well = score.value >= (3.5 if strict and not enough else 2.5) and not spoilt
    given = f"the quality is {score.level.lower()} ({score.value:.1f} of 5)"
    return f"{'Yes' if well else 'No'}: {given} {where(facts)}.{told}"


def _relevant(question: Question, facts: Facts) -> list[DistortionFinding]:
    return [item for item in facts.sure if not _is_excluded(item, question)]


def _is_excluded(item: DistortionFinding, question: Question) -> bool:
    return any(closeness(name, item.type) > 0 or kind_of(name) is kind_of(item.type) for name in question.excluded)


def _rate(question: Question, facts: Facts) -> str:
    by_kind = {kind_of(term.name): term for term in reversed(question.terms)}
    if len(by_kind) > 1:
        # Each for itself: one grade for the sharpness and the noise would be that of neither.
        alone = [question.model_copy(update={"terms": (term,)}) for term in reversed(by_kind.values())]
        return " ".join(f"{capital(each.terms[0].word)}: {_rate(each, facts)}" for each in alone)
    if question.terms or question.excluded:
        # The tools' score has seen what is set aside.
        left = [item.severity for item in _relevant(question, facts)]
        severity = facts.severity(question.names) if question.terms else max(left, default=Severity.NONE)
        value = None if severity is None else float(IMPAIRMENT_LEVEL[severity])
        why = "" if severity is None else _degree(question, facts) if question.terms else what_is_wrong(facts, question)
    else:
        value, why = (None if facts.score is None else facts.score.value), ""
    if value is None:
        return _unmeasured(facts) or UNABLE
    level = level_name(value)
    if question.scale is None:
        if facts.plan.answer_mode is AnswerMode.SCORING or question.terms:
            return f"{level}. {why}" if why else level
        return f"{level} ({value:.1f} of 5). {what_is_wrong(facts, question)}"
    given = question.scale.at(value)
    return f"{given}. {why}".strip() if given == level else f"{given} ({level}). {why}".strip()


def _degree(question: Question, facts: Facts) -> str:
    found = [item for _, item in facts.matching(question.names) if not _is_excluded(item, question)]
    severity = facts.severity(question.names)
    if not question.terms:
        found = _relevant(question, facts)
        severity = found[0].severity if found else Severity.NONE
        if not found and facts.score is not None:
            return f"Not bad: no distortion found {where(facts)}; the quality is {facts.score.level.lower()}."
    if severity is None:
        return f"{UNABLE}: {facts.untold(question.names) or 'nothing was measured about it'}."
    number = bool(re.search(r"\bhow (?:many|much|long|wide)\b|percent|\bexact|\bvalue\b|%", question.text))
    said = f"{listed_there(found, facts, number=number)}." if found and severity is not Severity.NONE else ""
    if question.yes_no and len(question.severities) == 1:
        than = re.search(r"\b(?:(more|worse|stronger|heavier)|less|weaker|milder) than\b|\b(at least)\b", question.text)
        asked = question.severities[0].rank
        # None at all is slight to who asks for no more.
        over = (severity.rank if than else max(severity.rank, min(asked, Severity.SLIGHT.rank))) - asked
        if than is None and asked >= Severity.SEVERE.rank and not re.search(r"\b(?:only|just)\b", question.text):
            over = min(over, 0)  # what is extreme is strong as well
        holds = over == 0 if than is None else over > 0 if than[1] else over >= 0 if than[2] else over < 0
        word = "Yes" if holds else "No"
        return f"{word}: {said or f'no {spoken_names(question.names)} found {where(facts)}.'}"
    if severity is Severity.NONE:
        return capital(none_found(question.names, facts))
    return capital(said)


def _choose(question: Question, facts: Facts) -> str:
    if question.remedies and not any(term.word for term in question.terms if term.name != Distortion.BRIGHTNESS):
        return choose_remedy(question, facts)
    faults = [term for term in question.terms if not term.absent]
    standing = [
        # Of words that share a measurement, the one that says the same of motion: "shaken or out of focus?".
        (item.severity.rank + item.confidence, near - 0.1 * ("motion blur" in {term.name} ^ {item.type}), term, item)
        for term in reversed(faults)
        for near, item in facts.matching((term.name,))
        if near > 0 and _is_there(item, _CLEAR, lenient=False)
    ]
    if standing:
        standing.sort(key=lambda each: each[:2], reverse=True)
        *_, term, item = standing[0]
        kinds = {kind_of(each.type): each for *_, each in reversed(standing)}
        both = re.search(r"\b(?:or|oder|ou|o) (?:both|beides?|les deux|amb[oa]s|entramb[ie])\b", question.text)
        word, told = ("both", list(kinds.values())[::-1]) if both and len(kinds) > 1 else (term.word, [item])
        alone = "by its number alone, " if item.confidence < _GUESS else ""
        return f"{capital(word)}: {alone}{listed_there(told, facts, number=True)}."
    praised = next((term.word for term in question.terms if term.absent and not facts.matching((term.name,))), None)
    fine = re.search(r"\b(?:fine|ok|okay|good|correct|all right|alright|right|gut|bien|richtig)\b", question.text)
    good = praised or (fine and fine[0])
    none = f"no {spoken_names(term.name for term in faults)} found {where(facts)}"
    beside = _relevant(question, facts)
    told = f" What was found is {listed(beside[:2], facts)}." if beside else ""
    if good and all(facts.covers((term.name,)) for term in faults):
        return f"{capital(good)}: {none}.{told}"
    return f"None of these: {none}.{told}"


def _find(question: Question, facts: Facts) -> str:
    if question.terms:
        if partly := _partly(question, facts):
            return f"Partly: {partly}."
        found = [item for _, item in facts.matching(question.names)]
        if found:
            asks = re.search(r"\bwh(?:y|ere)\b|warum|pourquoi|por qué", question.text)
            beside = [item for item in _relevant(question, facts) if asks and item not in found][:1]
            told = f" Beside it: {listed(beside, facts)}." if beside else ""
            return f"{capital(listed_there(found, facts, number=True))}.{told}"
        none = capital(none_found(question.names, facts))
        found = _relevant(question, facts)
        return f"{none} What was found is {listed(found[:3], facts)}." if found else none
    return what_is_wrong(facts, question)


def what_is_wrong(facts: Facts, question: Question | None = None) -> str:
    """Everything that was found, strongest first, but for what the question excludes."""
    left = [item for _, item in facts.present if question is None or not _is_excluded(item, question)]
    sure = [item for item in left if item in facts.sure]
    beside = f" {not_blurred(facts)}" if not_blurred(facts) and not left else ""
    other = facts.evidence.apart or facts.evidence.otherwise
    beside += f" {capital(other)}." if other else ""
    there = where(facts)
    if sure:
        perhaps = [item for item in left if item not in sure and item.confidence >= _GUESS][:1]
        also = f" Perhaps also {listed(perhaps, facts)}." if perhaps else ""
        return f"Found {there}, strongest first: {listed(sure, facts, number=True)}.{also}{beside}"
    if left:
        return f"Nothing sure {there}; perhaps {listed(left[:2], facts, number=True)}.{beside}"
    unanalysed = [name for name in facts.unanalysed if question is None or name not in question.excluded]
    if unanalysed:
        return f"Found {there}, strongest first: {'; '.join(map(in_words, unanalysed))}. How strong was not analysed."
    if question is not None and question.excluded:
        return f"Nothing else was found {there}.{beside}"
    if facts.evidence.otherwise:
        return beside.strip()
    if facts.covers(()):
        soft = mostly_soft(facts.evidence.notes)
        return f"{beside.strip()} No distortion found beside it." if soft else f"No distortion found {there}.{beside}"
    absent = [kind.value for kind in Distortion if facts.evidence.undecided and facts.covers((kind.value,))]
    if absent:
        doubtful = spoken_names(facts.evidence.undecided)
        return f"No {spoken_names(absent)} found {there}; {doubtful} cannot be ruled out.{beside}"
    named = {item.type for _, item in facts.analysed}
    if named:
        return f"No {spoken_names(sorted(named))} found {there}; nothing else was looked for."
    return _unmeasured(facts) or f"{UNABLE}: {facts.abstained or 'no distortion was looked for'}."


def _unmeasured(facts: Facts) -> str:
    """Why there is no score: the two images do not lie on each other, or what the first tool that failed says."""
    errors = (log.error for log in facts.evidence.tool_logs if log.error)
    why = None if facts.score else next(filter(None, (facts.evidence.apart, *errors)), None)
    return f"{UNABLE}: {why}." if why else ""


_SAME = re.compile(
    r"\b(?:same|identical|lossless\w*|bit for bit|equal|unchanged|identisch|verlustfrei|gleich|identique|sans perte"
    r"|idéntic\w*|identic[oa])\b"
)


def _relate(question: Question, facts: Facts) -> str:
    if facts.plan.reference_mode is not ReferenceMode.FULL:
        names_it = re.search(
            r"\b(?:reference|original|source|master|than|two|referen\w*|vorlage|difference|differ\w*)\b", question.text
        )
        names_it = names_it or (question.yes_no and question.good is None and not question.terms)  # "anything lost?"
        return NO_REFERENCE if names_it else _decide(question, facts) if question.yes_no else _find(question, facts)
    identical = facts.evidence.identical
    relation = compare(facts)
    if apart := facts.evidence.apart:
        differs = question.yes_no and identical is False and not question.terms and _SAME.search(question.text)
        return f"{'No' if differs else UNABLE}: {apart}."
    if relation is None and identical is None:
        return f"{UNABLE}: nothing was measured that compares the two images."
    found = _relevant(question, facts) or [item for _, item in facts.present if not question.excluded]
    if question.excluded and not found and relation == "worse":
        return f"{'No: nothing' if question.yes_no else 'Nothing'} else was found {where(facts)}."
    asks_same = bool(_SAME.search(question.text)) or question.sought == "equal"
    exact = asks_same and not question.tolerant
    asks_same = asks_same or question.at_least
    if identical:
        word = ("Yes: " if asks_same else "No: ") if question.yes_no else ""
        return capital(f"{word}the image and its reference are identical, pixel for pixel; nothing was lost.")
    # "Is the compression visible?", "did the coding blur it?": what was done to the image, and not what came of it.
    coded = all(kind_of(term.name) is Distortion.COMPRESSION for term in question.terms)
    compares = question.sought or question.became or _CHANGED.search(question.text)
    if question.terms and (question.sought in ("more", "less") or (compares and not coded)):
        return _more_of(question, facts)
    if not coded:
        return _decide(question, facts) if question.yes_no else _find(question, facts)
    if better := next((span for span in spans_of("ranks", question.text) if span.key != "lost"), None):
        return _better(question, better, found, relation)
    if not found and relation is None:
        return what_is_wrong(facts, question)
    # A change that can hardly be seen has 3.5.
    plain = facts.score is not None and facts.score.value < 3.5
    other = facts.evidence.otherwise
    if relation == "same" or not (found or plain or other):
        told = "no visible difference"
        told += "" if facts.score is None else f" ({facts.score.tool} {facts.score.value:.1f} of 5)"
        told += "; not every pixel is the same" if identical is False else ""
        word = ("No: " if exact or not asks_same else "Yes: ") if question.yes_no else ""
        return f"{capital(f'{word}{told}')}."
    slight = not plain and all(item.severity is Severity.SLIGHT for item in found)
    hardly = slight and question.tolerant and not (asks_same or other)
    word = ("No: " if asks_same else "No, hardly: " if hardly else "Yes: ") if question.yes_no else ""
    said = "; ".join(filter(None, (listed(found[:3], facts, number=True), other or facts.abstained))) or "they differ"
    told = "" if facts.score is None else f" ({facts.score.level.lower()} likeness, {facts.score.value:.1f} of 5)"
    return f"{capital(f'{word}{said}')}{told}."


_CHANGED = re.compile(r"\b(?:differ|chang|affect|unterschied|verändert)")

_ASPECTS: dict[str, str] = shipped("loopwright.workflows.iqa", "data/names.yaml")["aspects"]
"""Distortion, or its kind -> what the image has too much or too little of."""

_LACKS = (Distortion.BLURS, "underexposure", "low contrast")
"""Distortions, or their kinds, that are too little of something."""


def _aspect(name: str) -> str:
    return _ASPECTS.get(name) or _ASPECTS.get(kind_of(name)) or kind_of(name).value


def _lacks(name: str, measured: Mapping[str, float]) -> bool:
    below = measured.get("saturation_ratio", 1) < 1 or measured.get("mean_shift", 0) < 0
    return name in _LACKS or kind_of(name) in _LACKS or below


def _more_of(question: Question, facts: Facts) -> str:
    """Which of the two has more of something, or less, and whether that is this image."""
    # "More colourful" is said of the saturation, "paler" of the lack of it.
    named = {term.name.replace(Distortion.COLOR, "saturation change"): term for term in question.terms}
    asked = {_aspect(name): (name, term) for name, term in named.items()}
    changed = bool(_CHANGED.search(question.text))
    found = [item for _, item in facts.present if _aspect(item.type) in asked]
    # "Did the colours change?", "are they the same?" ask for more than their strength.
    found = found or [item for _, item in facts.matching(question.names) if changed or question.sought == "equal"]
    if not found:
        if untold := facts.untold(question.names):
            return f"{UNABLE}: {untold}."
        alike = question.sought == "equal" or question.at_least
        word = "About the same" if not question.yes_no else "Yes" if alike else "No"
        return f"{word}: no difference of {' or '.join(asked)} was found; the reference is taken as pristine."
    name, term = asked.get(_aspect(found[0].type), (question.terms[0].name, question.terms[0]))
    less = term.lacks or _lacks(name, {})
    this = (question.sought != "less") is (less is _lacks(found[0].type, found[0].measured))
    this = changed or (this and question.sought != "equal")
    word = ("Yes" if this else "No") if question.yes_no else "This image" if this else "The reference"
    return f"{word}: this image has {listed(found[:2], facts, number=True)}."


def _better(question: Question, said: Span, found: list[DistortionFinding], relation: str | None) -> str:
    """Which of the two is better: the reference is taken as pristine, so what differs from it is worse."""
    if relation == "same":
        word = ("Yes: " if question.no_more else "No: ") if question.yes_no else ""
        return capital(f"{word}the image and its reference look the same; no difference that the tools would see.")
    about_reference = re.search(r"\b(?:refer|rifer|référ|origin|vorlage|source)", question.text[: said.start])
    # "No worse than" is the opposite of "worse than".
    holds = ((said.key == "worse") is not bool(about_reference)) is not question.no_more
    word = ("Yes: " if holds else "No: ") if question.yes_no else ""
    because = f" It has {', '.join(map(strength_of, found[:3]))}." if found else ""
    return capital(f"{word}the reference is better, taken as pristine; the image is worse than it.{because}")


def _measure(question: Question, facts: Facts) -> str:
    tools = question.tools or (*facts.evidence.quality_scores,)
    if not tools:
        return f"{UNABLE}: no tool gave a value."
    said = values(tools, facts)
    if facts.score is None or facts.score.tool not in tools:
        return f"{said} {where(facts)}." + ("" if facts.score else " There is no score of 1 to 5.")
    return f"{said} {where(facts)}: {facts.score.level} ({facts.score.value:.1f} of 5)."


def _recommend(_: Question, facts: Facts) -> str:
    primary = facts.evidence.primary_tool
    if primary is None:
        return f"{UNABLE}: no tool was chosen."
    why = "a reference to compare with" if facts.plan.reference_mode is ReferenceMode.FULL else "no reference"
    others = [name for name in facts.evidence.selected_tools if name != primary]
    beside = f" Beside it: {', '.join(others)}." if others else ""
    return f"{primary}: there is {why}, and of the tools for that it agrees best with people.{beside}"


def _curate(question: Question, facts: Facts) -> str:
    """Keep or drop, by the named distortions or else by the quality."""
    keep, drop = question.keep
    if question.terms:
        found = [item for term in question.terms for _, item in facts.matching((term.name,))]
        # What is severe is told as there by its number alone, so it counts here as well.
        if not found and (untold := facts.untold(question.names)):
            return f"{UNABLE}: {untold}."
        slight = [item for item in found if item.confidence >= _GUESS or item.severity >= Severity.SEVERE]
        against = [item for item in slight if item.severity >= Severity.MODERATE or item.confidence >= 0.9]
        passes = not against
        why = f"no {spoken_names(question.names)} found {where(facts)}"
        why = listed(against[:3], facts) if against else f"only {listed(slight[:2], facts)}" if slight else why
    elif facts.score is None:
        return f"{UNABLE}: there is no score."
    else:
        against = [item for item in facts.sure if item.severity >= Severity.SEVERE and not _is_excluded(item, question)]
        passes = facts.score.value >= 2.5 and not against
        why = f"the quality is {facts.score.level.lower()} ({facts.score.value:.1f} of 5)"
        why += f", {listed(against[:2], facts)}" if against else ""
    both = re.search(rf"\b{re.escape(keep)}\b", question.text) and re.search(rf"\b{re.escape(drop)}\b", question.text)
    judges = re.match(r"\W*(?:does|do|will|would|erfüllt)\b(?!.*\bor\b)", question.text)
    offers = question.joined == "or" and not re.search(r"\b(?:or|oder) (?:not|nicht)\b", question.text)
    if question.yes_no and (not (both or offers) or judges):
        named = re.search(rf"\b(?P<against>not to |against )?{re.escape(keep)}", question.text)
        asks_drop = bool(named["against"] if named else re.search(rf"\b{re.escape(drop)}\b", question.text))
        return f"{'Yes' if passes is not asks_drop else 'No'}: {why}."
    return f"{capital(keep if passes else drop)}: {why}."


_ANSWERS: Mapping[Operation, Callable[[Question, Facts], str]] = {
    Operation.DECIDE: _decide, Operation.RATE: _rate, Operation.DEGREE: _degree, Operation.CHOOSE: _choose,
    # Parts, of which only one could be measured.
    Operation.COMPARE: lambda question, facts: (_decide if question.terms else _find)(question, facts),
    Operation.FIND: _find, Operation.RELATE: _relate, Operation.ADVISE: advise,
    Operation.READ: lambda question, facts: tell(question, facts.evidence.file or {}), Operation.MEASURE: _measure,
    Operation.RECOMMEND: _recommend, Operation.CURATE: _curate,
}  # fmt: skip
"""What is wanted -> how it is answered."""
