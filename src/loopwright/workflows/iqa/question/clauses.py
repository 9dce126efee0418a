"""A text into the clauses that ask: which sentences are questions, and where one holds several."""

import re

from loopwright.workflows.iqa.question.places import named_places
from loopwright.workflows.iqa.question.scales import read_scale
from loopwright.workflows.iqa.question.terms import objects
from loopwright.workflows.iqa.question.tool_names import known_tools
from loopwright.workflows.iqa.question.vocabulary import CONTENT, all_known, corrected, is_format, spans, spans_of

_SENTENCE = re.compile(r"(?<!\bvs\.)(?<=[.!?;:…])\s+|\n+|\s[–—]\s")
_MORE = r"(?:and|but|und|aber|et|mais|y|pero)"


def asking_clauses(stem: str) -> tuple[str, list[str]]:
    """A query as its words are looked up, and its clauses that ask; of one that only tells, what it tells of."""
    text = corrected(_spoken(stem))
    sentences: list[str] = []
    for sentence in filter(str.strip, _SENTENCE.split(text)):
        # "Compare the halves: which is sharper?", "which is it: poor, fair or good?" ask once.
        led = sentences and sentences[-1].endswith(":")
        sentences[-1:] = [f"{sentences[-1]} {sentence}"] if led else [*sentences[-1:], sentence]
    clauses = [clause for sentence in sentences for clause in _clauses(sentence)]
    asked = [clause for clause in clauses if _asks(clause) and _content(clause)]
    if not asked:
        # "He says it is blurred. Is it?", "It has specks. What is that?": the sentence before says what is asked.
        # "It is too soft, they say. I find it fine. Who is right?": the last one that tells of a fault.
        last = max((at for at, clause in enumerate(clauses) if _asks(clause)), default=0)
        about = ("faults", "praise", "topics", "bad")
        told = [each for each in clauses[:last] if any(spans_of(name, each) for name in about)]
        pairs = [f"{each} {clauses[last]}" for each in (told or clauses[:last])[-1:]]
        asked = [pair for pair in pairs if _content(pair) or _explains(pair)]
    if not asked:
        # "Noise?", and what is told and not asked: all of it is the question.
        asked = [text] if _content(text) else [clause for clause in clauses if _asks(clause) and about_image(clause)]
    return text, asked


def _spoken(text: str) -> str:
    """Small letters, no hyphens within words; sentence marks and lines stay."""
    lines = (
        re.sub(r"(?<=[^\W\d])[-_/‐‑](?=\w)|(?<=\w)[-_/‐‑](?=[^\W\d])", " ", line)
        for line in text.lower().replace("’", "'").splitlines()
    )
    return "\n".join(" ".join(line.split()) for line in lines).strip()


def _content(text: str) -> bool:
    about = CONTENT - {"keep", "drop", "degree"}
    if any(span.section in about and not is_format(span, text) for span in spans(text)):
        return True
    drops, keeps = spans_of("drop", text), spans_of("keep", text)
    sorts = drops and keeps
    sorts = sorts or ((drops or keeps) and (spans_of("image", text) or re.search(r"\b(?:or|oder|ou|o|u)\b", text)))
    return bool(sorts or known_tools(text) or len(named_places(text)) > 1 or read_scale(text) is not None)


_WHY = r"(?:why|y|how come|warum|wieso|weshalb|pourquoi|por qué|perché)"
_EXPLAIN = re.compile(
    rf"(?:^|[.,!?;:])\W*(?:{_WHY}\b|(?:what|was|que|qué|cosa)(?:'?s| is| are| ist| sind| es) (?:that|this|up|das)\b)"
)
_SO = re.compile(rf"^\W*{_WHY} (?:so [^\W\d]+\W*$|.*\b(?:looks?|appears?|come out|came out|sieht|parece|sembra)\b)")


def _explains(text: str) -> bool:
    """Whether a text asks why the image is as it is, or what is the matter with it."""
    return bool((spans_of("image", text) and _EXPLAIN.search(text)) or _SO.match(text))


SERVES = re.compile(
    r"\b(?:(?:can|could|may) (?:i|we) (?:\w+ )?(?:print|use|post|publish|send|submit|upload|show|sell|frame|hang)"
    r"|(?:would|will|does) (?:it|this|that) (?:do|work|pass|serve)"
    r"|(?:kann|darf) (?:ich|man)\b.*\b(?:drucken|verwenden|benutzen|nehmen|hochladen|einreichen)|reicht (?:das|es))\b"
)
"""What asks whether the image will do for something: "can I print it?"."""

_WHO = re.compile(r"\W*(?:who|whose|wer|wem|wen|wessen|qui|chi|quién(?:es)?)\b")


def about_image(text: str) -> bool:
    """Whether a text asks for the reason or the use of what is seen, or is about it without a word strange here."""
    if _WHO.match(text):
        return False
    known = all_known(text)
    about = spans_of("image", text) and (known or SERVES.search(text))
    return bool(about or (known and named_places(text))) or _explains(text)


def _clauses(sentence: str) -> list[str]:
    """The questions of a sentence: a new one begins with a word that asks, after a comma or "and"."""
    starts = {span.start for span in spans_of("ask", sentence)}
    named = [span.start for span in spans(sentence) if span.section in ("faults", "praise")]
    cuts = [
        match.end()
        for match in re.finditer(rf",\s*(?:{_MORE}\s)?|\s{_MORE}\s|\s(?=(?:whether|ob)\s)", sentence)
        # What is joined stands near by; all of a long text, or all of its commas, would take minutes.
        if match.end() in starts
        or (
            any(0 <= start - match.end() < 200 for start in named)
            and _is_pair(sentence[: match.start()][-200:], sentence[match.end() :][:200])
        )
    ]
    pieces: list[str] = []
    for cut, end in zip([0, *cuts], [*cuts, len(sentence)], strict=True):
        piece = sentence[cut:end]
        # "On a scale of 1 to 5, how sharp is it?" asks once.
        first = spans(pieces[0]) if len(pieces) == 1 else ()
        own = any(span.section in CONTENT - {"scales", "rate", "good", "bad"} for span in first)
        scale_alone = len(pieces) == 1 and not own and not any(start < len(pieces[0]) for start in starts)
        if pieces and (scale_alone or not (_content(piece) and _content(pieces[-1]))):
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pieces


def _is_pair(before: str, after: str) -> bool:
    """Whether both name a part of the picture and what of it: "is the left half sharp and the right half noisy?"."""

    def whole(text: str) -> bool:
        places, things = named_places(text), objects(re.sub(r"^\W*(?=the\b)", "of ", text))
        about = len(places) == 1 or (not places and len(things) == 1)
        return about and any(spans_of(section, text) for section in ("faults", "praise"))

    return whole(before) and whole(after)


_BEGINS = re.compile(
    r"\W*(?:[^:?]*:\s)?(?:(?:and|but|or|und|et|y|hey|so|please|bitte)\s)?(?:(?:in|at|on|to|by|from)\s(?=wh|how))?"
)


def first_sections(clause: str) -> set[str]:
    """The sections of a clause's first word, after a lead and a joint: "it is for a client, is it good enough?"."""
    starts = [match.end() for match in (_BEGINS.match(clause), *re.finditer(r",\s", clause)) if match]
    begins = [{span.section for span in spans(clause) if span.start == start} for start in starts]
    return begins[0] if "ask" in begins[0] else next((each for each in begins if "yes_no" in each), begins[0])


def _asks(clause: str) -> bool:
    """Whether a clause asks: by its mark, its first word, or what it wants done."""
    # "Don't tell me about the noise." says what not to answer, "Anything with a cast is out." by what to judge.
    sections = first_sections(clause)
    rules = clause.rstrip().endswith(".") and "any" in sections
    begins = "ask" in sections and "except" not in sections and not rules
    wants = (spans_of("rate", clause) or spans_of("metrics", clause)) and not re.search(r"[.!]$", clause.strip())
    both = spans_of("keep", clause) and spans_of("drop", clause)
    told = re.search(r"\b(?:whether|i wonder|ob)\b", clause)
    marked = clause.rstrip().endswith("?")
    return bool(marked or begins or wants or both or told or known_tools(clause)) or _explains(clause)
