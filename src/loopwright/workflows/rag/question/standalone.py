"""Making a question of a chat readable on its own."""

import re
from collections.abc import Sequence

from loopwright.retrieval.text import fold, terms
from loopwright.workflows.rag.question.routing import route_of
from loopwright.workflows.rag.question.words import IN_PARENTHESES, keywords, names, unique

_MARKS = re.compile(r"\s*\[\d+(?:, ?\d+)*\]")
# By "and" (which is found), or by a pronoun.
_REFERS = re.compile(
    r"^(and|but|so|also|then|what about|how about|und|aber|et|y|แล้ว|และ|那么|那|还有)\b"
    r"|\b(?:he|she|him|her|his|hers|it|its|they|them|their|that|this|those|these|there|one|ones|same|er|sie|es|ihn|ihr"
    r"|dort|davon|il|elle|lui|leur)\b|เขา|เธอ|มัน|ที่นั่น|他|她|它|那里|这个",
    re.IGNORECASE,
)
# "Are there parking spaces?" points to nothing that was said.
_POINTS_NOWHERE = re.compile(
    r"\b(?:(?:is|are|was|were) there|there(?: is| are| was| were|['’]s)|gibt es)\b", re.IGNORECASE
)
# "And the phone number?", "Und seit wann?": of what was named, unlike "And in Bremen?" and "And a cat?".
_OF_IT = re.compile(r"\w+(?: about)? (?:the|der|die|das|le|la|el|since|seit|depuis|desde)\b", re.IGNORECASE)
_MOST_NAMES = 2
_MOST_ADDED = 8


def standalone_question(question: str, history: Sequence[str]) -> str:
    """Add to a question of a chat what was named before, where it refers to that.

    "And when was she born?" after a turn about Marie Curie becomes "And when was she born? (Marie Curie)": what a
    pronoun stands for is not guessed, but everything that it may stand for is searched, and shown.

    A question refers by a pronoun, by "and", or by being too short to ask by itself, as "Since when?" is. One that says
    "and", and has words of its own, asks the same of something else, and not of what the last answer named.

    Returns:
        The question as it can be searched; unchanged where it stands alone, or where the history names nothing.
    """
    text = " ".join(question.split())
    turns = [_MARKS.sub("", turn).strip() for turn in history if turn.strip()]
    while len(turns) > 1 and route_of(turns[-2]) == "direct_answer":  # "thank you" is no subject
        del turns[-2:]
    own = {fold(word) for word in keywords(text)}
    refers = _REFERS.findall(_POINTS_NOWHERE.sub("", text))
    alone = own and len(terms(text)) > 2 and not refers
    if not turns or not text or alone:
        return question
    asked, *said = turns[-2:]
    # What the question before left unsaid is meant here too, but for other names than its own.
    asked = standalone_question(asked, turns[-12:-2])
    unsaid = [each for inner in IN_PARENTHESES.findall(asked) for each in inner.split(", ")]
    named = names(asked := IN_PARENTHESES.sub("", asked))
    unsaid = [each for each in unsaid if not named or (any(refers) and each[:1].islower())]
    # Of an answer only full names: a quote has more capitals than names.
    meant = "" in refers or not own or _OF_IT.match(text)
    # One that shares a word with what was asked of is another of its kind: "Volt 4" after "Volt 3".
    kin = {*terms(" ".join(named))}
    told = [name for turn in said if meant for name in names(turn[:300]) if " " in name and kin.isdisjoint(terms(name))]
    added = [
        name for name in unique([*named, *keywords(asked), *told[:_MOST_NAMES], *unsaid]) if fold(name) not in own
    ][:_MOST_ADDED]
    return f"{text} ({', '.join(added)})" if added else question
