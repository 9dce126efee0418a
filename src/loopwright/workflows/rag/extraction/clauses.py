"""Reads the facts of an English sentence: who or what it is about, and what is said of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loopwright.workflows.rag.extraction import lexicon
from loopwright.workflows.rag.extraction.groups import (
    Found,
    VerbGroup,
    arguments,
    complement,
    kind_at,
    relation_text,
    verb_group,
)
from loopwright.workflows.rag.extraction.statements import Statement, Subject, whole_name
from loopwright.workflows.rag.extraction.tokens import Kind, Token

_LONGEST_APPOSITION = 14
"""So many words may stand between the two commas of an apposition."""


class SentenceReader:
    """Reads one sentence; see `read`.

    Args:
        tokens: Its words.
        title: What the document is about.
    """

    def __init__(self, tokens: Sequence[Token], title: str) -> None:
        self._tokens = tokens
        self._title = title
        self._subject: Subject | None = None
        self._antecedent: Subject | None = None
        self._found: list[Statement] = []
        self._opening: tuple[Found, ...] = ()

    def read(self) -> list[Statement]:
        """The facts of the sentence, in order."""
        i = self._read_opening()
        while i < len(self._tokens):
            i = max(i + 1, self._step(i))
        return self._found

    def _step(self, i: int) -> int:
        """Read what begins at a token, and say where to go on."""
        self._read_possession(i)
        if self._begins_clause(i):
            if self._is_unstated(i):
                return len(self._tokens)
            subject = self._subject_at(i)
            if subject is not None:
                self._subject = subject
                group = verb_group(self._tokens, subject.end)
                if group is not None:
                    self._state(subject._replace(start=self._tokens[0].start), self._opening, factor=0.85)
                    self._opening = ()
                    return self._predicate(group, subject)
        group = verb_group(self._tokens, i)
        if group is None:
            return i + 1
        subject = self._inherited(i)
        if subject is None:
            self._subject = None
            self._read_inverted(group)
            return group.end
        return self._predicate(group, subject)

    def _read_opening(self) -> int:
        """Keep what "Founded in 1912, X ..." opens with until the subject is known."""
        if kind_at(self._tokens, 0) not in (Kind.VERB, Kind.PARTICIPLE):
            return 0
        reading = arguments(self._tokens, VerbGroup(0, 1, copula=False))
        if not reading.found or kind_at(self._tokens, reading.end) is not Kind.COMMA:
            return 0
        self._opening = reading.found
        return reading.end + 1

    def _predicate(self, group: VerbGroup, subject: Subject) -> int:
        reading = complement(self._tokens, group) if group.copula else arguments(self._tokens, group)
        self._state(subject, reading.found)
        end = reading.end
        if reading.describes:
            end = self._participles(end, subject)
        self._antecedent = subject if reading.describes and end == reading.end else None
        return end

    def _participles(self, i: int, subject: Subject) -> int:
        """Read on in "a film directed by ... and starring ...", which describes the subject."""
        while True:
            j = i
            while kind_at(self._tokens, j) in (Kind.COMMA, Kind.CONJUNCTION, Kind.ADVERB):
                j += 1
            if kind_at(self._tokens, j) not in (Kind.PARTICIPLE, Kind.VERB) or (j > i and not self._is_participle(j)):
                return i
            reading = arguments(self._tokens, VerbGroup(j, j + 1, copula=False))
            if not reading.found:
                return i
            self._state(subject, reading.found, factor=0.9)
            i = reading.end

    def _is_participle(self, i: int) -> bool:
        """Whether a verb form goes on describing: "starring", "directed by", not "and became"."""
        following = self._tokens[i + 1].lower if i + 1 < len(self._tokens) else ""
        return kind_at(self._tokens, i) is Kind.PARTICIPLE or following == "by"

    def _begins_clause(self, i: int) -> bool:
        before = kind_at(self._tokens, i - 1)
        after_date = i == 2 and before is Kind.DATE and kind_at(self._tokens, 0) is Kind.PREPOSITION  # "In 1976 X ..."
        opens = i == 0 or before in (Kind.COMMA, Kind.STOP, Kind.CONJUNCTION)
        return opens or after_date or self._tokens[i - 1].lower in ("that", "where")

    def _is_unstated(self, i: int) -> bool:
        """Whether what follows is a condition, or said to be untrue: "if ...", "denied that ..."."""
        before = self._tokens[:i]
        if not before:
            return bool(self._tokens) and self._tokens[0].lower in lexicon.CONDITIONS
        if before[-1].lower in lexicon.CONDITIONS:
            return True
        return before[-1].lower == "that" and any(token.lower in lexicon.DISTANCING for token in before)

    def _subject_at(self, i: int) -> Subject | None:
        while kind_at(self._tokens, i) is Kind.ADVERB:
            i += 1
        pronoun = self._pronoun_at(i)
        if pronoun is not None:
            return pronoun
        j = i
        while kind_at(self._tokens, j) is Kind.DETERMINER and self._tokens[j].lower in ("a", "an", "the"):
            j += 1
        names = self._names_at(j)
        if not names:
            return None
        end = names[-1] + 1
        subject = Subject(
            tuple(whole_name(self._tokens[n].text, self._title) for n in names), self._tokens[i].start, end, 1.0
        )
        if kind_at(self._tokens, end) is Kind.COMMA:
            return self._past_apposition(subject)
        return subject if verb_group(self._tokens, end) else None

    def _names_at(self, i: int) -> list[int]:
        """The indices of a name, or of several that share the verb that follows."""
        if kind_at(self._tokens, i) is not Kind.NAME:
            return []
        names = [i]
        while (
            self._tokens[i + 1 : i + 2]
            and self._tokens[i + 1].lower == "and"
            and (kind_at(self._tokens, i + 2) is Kind.NAME and verb_group(self._tokens, i + 3))
        ):
            i += 2
            names.append(i)
        return names

    def _pronoun_at(self, i: int) -> Subject | None:
        """A pronoun, or "the film": the document's title, or what the sentence was about so far."""
        if kind_at(self._tokens, i) is Kind.PRONOUN:
            known = self._subject
            names = known.names if known else (self._title,)
            sure = 0.8 if self._tokens[i].lower != "they" else 0.6
            return Subject(names, self._tokens[i].start, i + 1, sure) if self._title or known else None
        if not self._title or i >= len(self._tokens) or self._tokens[i].lower not in ("the", "this"):
            return None
        j = i + 1
        while kind_at(self._tokens, j) is Kind.WORD and j < i + 4:
            j += 1
        head = self._tokens[j - 1].lower
        known = head in lexicon.GENERIC_NOUNS or head in self._title.lower().split()
        known = known and not any(token.lower in lexicon.PARTIAL for token in self._tokens[i + 1 : j])
        if j == i + 1 or not known or verb_group(self._tokens, j) is None:
            return None
        return Subject((self._title,), self._tokens[i].start, j, 0.8 if j == i + 2 else 0.7)

    def _past_apposition(self, subject: Subject) -> Subject | None:
        """Read "X, the capital of Y, ..." as "X is the capital of Y", and go on after it."""
        i = subject.end
        inside = self._tokens[i + 1 : i + 1 + _LONGEST_APPOSITION]
        commas = [i + 1 + n for n, token in enumerate(inside) if token.kind is Kind.COMMA]
        after = next((j for j in commas if verb_group(self._tokens, j + 1)), None)
        opening = inside[0].text if inside else ""
        # "Portugal, the United Kingdom and Norway" is a list.
        listed = opening == "the" and kind_at(inside, 1) is Kind.NAME and kind_at(inside, 2) is not Kind.WORD
        if opening in lexicon.ARTICLES and not listed:
            self._read_apposition(subject, i + 1, after or len(self._tokens))
        if after is None or kind_at(self._tokens, i + 1) is Kind.CONJUNCTION:
            return None
        return subject._replace(end=after + 1)

    def _read_apposition(self, subject: Subject, i: int, end: int) -> None:
        part = self._tokens[i:end]
        reading = complement(part, VerbGroup(0, 0, copula=True))
        if reading.end < len(part) and kind_at(part, reading.end) not in (Kind.COMMA, Kind.STOP, Kind.PREPOSITION):
            return
        self._state(subject, [found._replace(relation=f"is {found.relation}".strip()) for found in reading.found], 0.85)

    def _inherited(self, i: int) -> Subject | None:
        """The subject of a verb that has none of its own: the last one, or what a relative clause describes."""
        before = kind_at(self._tokens, i - 1)
        if before is Kind.RELATIVE and self._tokens[i - 1].lower in ("who", "which", "that"):
            return self._described(i - 1)
        bare = kind_at(self._tokens, i) is Kind.VERB
        describes_noun = bare and (self._tokens[i].lower in lexicon.PASSIVES or self._is_participle(i))
        if before in (Kind.CONJUNCTION, Kind.COMMA) and not (before is Kind.COMMA and describes_noun):
            return self._subject and self._subject._replace(sure=self._subject.sure * 0.9)
        return None

    def _described(self, i: int) -> Subject | None:
        """What the relative clause that begins here is about."""
        comma = kind_at(self._tokens, i - 1) is Kind.COMMA
        noun = self._tokens[i - 2 if comma else i - 1] if i - 1 - comma >= 0 else None
        if noun is not None and noun.kind is Kind.NAME:
            self._subject = None
            return Subject((whole_name(noun.text, self._title),), noun.start, i, 0.85)
        antecedent = self._antecedent
        return antecedent and antecedent._replace(sure=antecedent.sure * 0.85)

    def _read_possession(self, i: int) -> None:
        """Read "X's mother, Y" and "his wife Y" as what Y is to X."""
        owner = self._owner_at(i)
        if owner is None:
            return
        names, j = owner
        first = j
        while kind_at(self._tokens, j) is Kind.WORD and j < first + 4:
            j += 1
        noun_end = j
        j += kind_at(self._tokens, j) is Kind.COMMA
        if noun_end == first or kind_at(self._tokens, j) is not Kind.NAME:
            return
        if kind_at(self._tokens, j + 1) in (Kind.WORD, Kind.NAME, Kind.GENITIVE):
            return
        target = self._tokens[j]
        found = Found(relation_text(self._tokens[first:noun_end]), target.text, target.end, 0.75)
        self._state(Subject(names, self._tokens[i].start, j, 1.0), [found])

    def _owner_at(self, i: int) -> tuple[tuple[str, ...], int] | None:
        if kind_at(self._tokens, i) is Kind.NAME and kind_at(self._tokens, i + 1) is Kind.GENITIVE:
            return (whole_name(self._tokens[i].text, self._title),), i + 2
        if kind_at(self._tokens, i) is Kind.POSSESSIVE and self._tokens[i].lower != "their":
            if self._subject is None and any(token.kind is Kind.NAME for token in self._tokens[:i]):
                return None
            known = self._subject.names if self._subject else (self._title,)
            return (known, i + 1) if all(known) else None
        return None

    def _read_inverted(self, group: VerbGroup) -> None:
        """Read "The capital of X is Y", and "The current editor is Y" as that of what the document is about."""
        target = group.end
        if not group.copula or group.end != group.start + 1 or kind_at(self._tokens, target) is not Kind.NAME:
            return
        if (
            kind_at(self._tokens, target + 1) not in (Kind.STOP, Kind.COMMA, Kind.PREPOSITION)
            or self._tokens[0].lower != "the"
        ):
            return
        role = self._tokens[1 : group.start]
        nouns = [token for token in role if token.kind is Kind.WORD]
        owner = role[-1].text if role and role[-1].kind is Kind.NAME else self._title
        if role and role[-1].kind is Kind.NAME:
            of = next((n for n, token in enumerate(role) if token.lower == "of"), 0)
            if len(role) - of > 3 or not all(token.kind is Kind.WORD for token in role[:of]):
                return
            role = role[:of]
        if not role or len(nouns) != len(role) or len(role) > 4 or not owner:
            return
        verb = self._tokens[group.start].lower
        subject = Subject((self._tokens[target].text,), self._tokens[0].start, 0, 1.0)
        self._state(subject, [Found(f"{verb} the {relation_text(role)} of", owner, self._tokens[target].end, 0.7)])

    def _state(self, subject: Subject, found: Sequence[Found], factor: float = 1.0) -> None:
        self._found += self._statements(subject, found, factor)

    def _statements(self, subject: Subject, found: Sequence[Found], factor: float) -> Iterator[Statement]:
        for name in subject.names:
            for each in found:
                if name != each.object:
                    sure = round(each.confidence * subject.sure * factor, 2)
                    yield Statement(name, each.relation, each.object, subject.start, each.end, sure)


def statements_in(tokens: Sequence[Token], title: str) -> list[Statement]:
    """The facts of an English sentence.

    Args:
        tokens: Its words.
        title: What the document is about; empty if nobody knows.
    """
    if not tokens or tokens[-1].text == "?":
        return []
    return SentenceReader(tokens, title).read()
