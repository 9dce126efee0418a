"""What a clause is about: the distortions that it names or sets aside, degrees, and things in the picture."""

import re

from loopwright.workflows.iqa.distortions import Distortion, Severity, severity_named
from loopwright.workflows.iqa.question.asked import Term
from loopwright.workflows.iqa.question.vocabulary import CONFIRMED, Span, all_known, canonical, spans, spans_of

_FREE = re.compile(
    r"\b(?:free (?:of|from)|frei von|neither|weder|ni|né|(without|ohne|sans|sin|senza))"
    r" ((?:(?!but |aber |mais |pero )\w+ )*)$"
)
_WHOLLY = re.compile(r"\b(?:(?:p[ae]rf[aei]|complet|komplett|absolut|total|entire)\w*|100 ?%|völlig|vollkommen) $")
_NOT = re.compile(r"(?<!\bor )(?:\b(?:not?(?! only)|kein\w*|nicht)|n't) (?:\w+ ){0,2}$")
_DENIED = re.compile(rf"\b(?<!is )(?<!was )(?:that|dass)\b[^,;:?]{{0,80}}{_NOT.pattern}")


def term_of(span: Span, text: str) -> Term:
    """The distortion that a word of a text speaks of."""
    name, absent = canonical(span), span.section == "praise"
    if name == "overexposure" and re.match(r"\W+(?:enough|genug)\b", text[span.end :]):
        name, absent = "underexposure", True  # "bright enough"
    if span.section == "topics" and span.key == Distortion.SHARPNESS:
        absent = True
    said = _FREE.search(text[: span.start])
    # "Without a reference", "taken without flash": it lacks something else.
    free = said is not None and (not said[1] or (all_known(said[2]) and not spans_of("reference", said[2])))
    free = free or span.text.endswith(("less", "frei", " free")) or text[span.end :].startswith((" free", " frei"))
    wholly = absent and _WHOLLY.search(text[: span.start]) is not None
    # "Can you confirm that it has no noise?"
    confirmed = CONFIRMED.search(text) and _NOT.search(text[: span.start])
    # "Neither sharp nor noisy" is blurred and not noisy.
    neither = said is not None and said[0].startswith(("neither", "weder", "ni ", "né "))
    absent = (not absent if neither else absent or free) is not bool(confirmed or _DENIED.search(text[: span.start]))
    return Term(name=name, absent=absent, word=span.text, free=free or wholly)


def set_aside(text: str) -> list[Span]:
    """The distortions that a text sets aside: those of the clause of "apart from", after it if there are any."""
    found: list[Span] = []
    for clause in re.finditer(r"(?:[^,;:?!.]|\.(?!\s))+", text):
        start, end = clause.span()
        marks = [span for span in spans_of("except", text) if start <= span.start < end]
        named = [span for span in spans(text) if span.section in ("faults", "topics") and start <= span.start < end]
        if not marks:
            continue
        after = [span for span in named if span.start > marks[0].start]
        asks = any(span.section == "ask" and start <= span.start < marks[0].start for span in spans(text))
        found += after if after or asks else named
    return found


def degrees(text: str) -> tuple[Severity, ...]:
    """The degrees that a text names."""
    of_other = ("no", "low", "high", "light", "medium", "none", "noticeable")
    # "Too strong", "strong enough" are no degrees; "slightly" is one if it is "only slightly".
    text = re.sub(r"\b(?:(?:only|just|merely) (\w+?)|(severe|extreme|strong))ly\b", r"\1\2", text)
    words = (word for word in re.findall(r"\b(?<!\btoo )[^\W\d_]+\b(?! enough)", text) if word not in of_other)
    return tuple(dict.fromkeys(filter(None, map(severity_named, words))))


VERBS = "is|are|was|were|ist|sind|est|sont|está|están|è|sono"
DETERMINER = r"(?:the|this|that|these|those|my|our|your|his|her|their|its|der|die|das|le|la|les|el|los|las)"
_NOUNS = r"(?=(?P<name>[^\W\d_]+(?: [^\W\d_]+){0,2}))"
_PLACED = ("of", "in", "on", "with", "around", "behind")
_OBJECT = re.compile(
    rf"(?:^\W*(?:{VERBS}|does|do|has|have|how \w+ (?:is|are)) {DETERMINER}"
    rf"|\b(?:{'|'.join(_PLACED)}|and|than) {DETERMINER}) {_NOUNS}"
)
_ELSEWHERE = re.compile(rf"\b(?:to|worth|for|by|with|against|despite|zu|für|gegen|trotz)\b|\b{DETERMINER} $")
"""What leads from the subject of a question to something else."""
_NO_SUBJECT = frozenset("scales rate remedies advice metrics degree keep drop".split())
"""The sections whose words say what is wanted, if they are not the subject."""


def predicate(clause: str) -> str:
    """A clause in which words of its subject mean nothing: "is the moving train sharp?", "are the stars noisy?"."""
    begins = re.match(rf"\W*(?:{VERBS}) (?:(this|that|these|those|der|die|das) |{DETERMINER} )", clause)
    found = spans(clause)
    last = max((span.start for span in found if span.section in ("faults", "praise")), default=0)
    if begins is None or _ELSEWHERE.search(clause[begins.end() : last]):
        return clause
    for span in found:
        after = {other.section for other in found if other.start == span.end + 1}
        # "Is this sharp everywhere?" has no noun after its adjective.
        noun = after & {"image", "topics", "parts"} or not (after or begins[1])
        # "Is the noise, blur or compression worse?", "was the photo denoised or sharpened?" ask about them.
        noun = noun and re.match(r" [^\W\d_]", clause[span.end :])
        named = any(begins.end() <= other.start < span.start and other.section == "image" for other in found)
        named = named or clause.startswith(" or ", span.end)
        describes = span.section in ("faults", "praise", "good") and span.start == begins.end() and noun
        # "Is the compression causing blur?": the name of a fault describes no unknown thing.
        describes = describes and (after or span.section != "faults" or not canonical(span).startswith(span.text))
        if begins.end() <= span.start < last and (describes or (span.section in _NO_SUBJECT and not named)):
            clause = clause[: span.start] + "…" * len(span.text) + clause[span.end :]
    return clause


def objects(clause: str) -> tuple[str, ...]:
    """The things that a clause asks about, as its subject or as where something is: words with no meaning here."""
    found: list[str] = []
    for match in _OBJECT.finditer(clause):
        words: list[str] = []
        for word in re.finditer(r"\S+", match["name"]):
            position = match.start("name") + word.start()
            known = [span for span in spans(clause) if span.start <= position < span.end]
            if known:
                words = [] if {"image", "reference", "criteria"} & {each.section for each in known} else words
                break
            words += [word[0]] if word[0] not in ("overall", "general", "total") else []
        # After "is" a verb is not far, and after "does" it is the next word.
        one = match[0].split()[0] in (*_PLACED, "does", "do", "has", "have")
        found += [" ".join(words[:1] if one else words)] if words else []
    return tuple(dict.fromkeys(found))
