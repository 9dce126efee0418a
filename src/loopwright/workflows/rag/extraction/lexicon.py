"""The English words that the rules know by kind."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BE = _words("is are was were be been being am")
"""Forms of "to be"."""
AUXILIARIES = BE | _words("has have had do does did will would can could may might must shall should")
"""Verbs that come before others, or stand alone."""
CONTRACTIONS = {
    "isn't": "is not", "aren't": "are not", "wasn't": "was not", "weren't": "were not", "hasn't": "has not",
    "haven't": "have not", "hadn't": "had not", "doesn't": "does not", "don't": "do not", "didn't": "did not",
    "won't": "will not", "wouldn't": "would not", "can't": "can not", "cannot": "can not", "couldn't": "could not",
}  # fmt: skip
"""Verbs with a negation in them, and what they stand for."""
NEGATIONS = _words("not never neither nor hardly rarely scarcely")
"""Words that turn a statement round."""
PREPOSITIONS = _words(
    "in on at by for to from of as with since until during near into under over against between through within "
    "after before around along across via throughout among toward towards behind above below about off out up upon "
    "outside inside like than onto alongside without"
)
"""Words that lead to a further object."""
ARTICLES = _words("a an the")
"""What comes before a noun, and says nothing of it."""
PARTICLES = _words("over up out off down away back")
"""Words that belong to the verb before them."""
DETERMINERS = ARTICLES | _words("this these those another some several both each every any all no most many few")
"""What comes before a noun."""
PRONOUNS = _words("he she it they")
"""Words for what the text is about."""
POSSESSIVES = _words("his her its their")
"""Words for what belongs to that."""
RELATIVES = _words("who which that whom whose where")
"""Words that begin a clause about the noun before them."""
CONJUNCTIONS = _words("and or but")
"""Words that put like beside like."""
SUBORDINATORS = _words("when while because although though whereas as since after before")
"""Words after which a clause of its own can begin."""
CONDITIONS = _words("if whether unless")
"""Words after which nothing is stated."""
DISTANCING = _words(
    "not never no false untrue denied denies deny doubt doubts doubted rumored rumoured alleged myth hoax legend "
    "wrongly mistakenly"
)
"""Words before "that" after which nothing is stated."""
FILLERS = _words("also then later ultimately subsequently eventually thus however therefore")
"""Adverbs that a relation loses nothing without."""
ADVERBS = FILLERS | _words(
    "once still now often usually generally sometimes always already just only first originally previously formerly "
    "currently primarily mainly mostly best well widely commonly jointly directly there together"
)
"""Words that can stand between the parts of a verb."""
NOT_VERBS = _words(
    "red bed hundred sacred naked shed seed speed need feed breed weed hatred indeed united wicked rugged aged "
    "beloved so-called kindred infrared embed"
)
"""Words that end in -ed and are no verbs, or no past forms."""
NOT_PARTICIPLES = _words(
    "king ring spring string wing thing nothing something anything everything evening morning building being during "
    "ceiling sibling wedding ending meeting beginning painting opening clothing training recording ranking rating "
    "sterling viking pudding duckling boxing wrestling engineering manufacturing banking mining farming publishing "
    "marketing filming living leading remaining existing surrounding following including neighboring neighbouring "
    "outstanding housing shipping"
)
"""Words that end in -ing and are not used as verbs, or not as verbs of what comes before them."""

_IRREGULAR = _words(
    "born became become began begun bought brought built came chose chosen died drew drawn drove driven fell fallen "
    "felt fought found flew flown forgot gave given went gone grew grown held kept knew known laid led left lost "
    "lent made married met paid put ran read rose sang sung sank sat saw seen sold sent set shot spent spoke spoken "
    "stood struck sworn swam taught took taken thought told threw thrown understood wed withdrew won wore wrote "
    "written beat bred cast cut dealt dug fed forbade froze frozen hit hosted hung hurt lay lit rode ridden shook "
    "sought split spread stole stolen stuck swore swept tore wound"
)
_BASES = _words(
    "acquire act adjoin administer air announce appear approach attend attract award base bear become begin belong "
    "border bring broadcast call carry celebrate come compete comprise concern connect consist contain control "
    "cover create cross define depict derive describe develop direct divide edit employ encompass end enter exist "
    "explore feature flow follow form found gain generate give go govern grow happen head hold host house include "
    "inhabit introduce involve join keep lack lead lie link live locate maintain make manage manufacture mark marry "
    "mean measure meet merge move name occupy occur offer open operate organize organise originate overlook oversee "
    "own perform play possess preside produce promote provide publish reach receive refer reflect reign remain "
    "replace report represent require reside rise rule run schedule seat sell separate serve share show sing sit "
    "span speak sponsor stand star start stem stretch supply support surround take teach tell thrive trace train "
    "travel turn use visit win work write"
)


def _third_person(base: str) -> str:
    if base.endswith(("ch", "sh", "s", "x", "o")):
        return base + "es"
    return base[:-1] + "ies" if base.endswith("y") and base[-2] not in "aeiou" else base + "s"


VERBS = _IRREGULAR | {_third_person(base) for base in _BASES}
"""Irregular past forms, and the third person of verbs that encyclopedic and business texts use."""
BASE_VERBS = _BASES - _words("base head house lead link mark name report rule share show star start support work")
"""Base forms that are rarely nouns: what follows "did not" or "can", or a plural subject."""

GENERIC_NOUNS = _words(
    "film movie song album single band group company firm corporation organization organisation club team city town "
    "village municipality commune district county province region state country nation island river lake mountain "
    "station school university college institute museum hospital church cathedral temple airport building bridge "
    "tower stadium hotel park book novel story poem play series show program programme episode game journal "
    "magazine newspaper website software species genus plant bird animal ship vessel aircraft car battle war treaty "
    "act law party agency department ministry league tournament festival award railway highway road street "
    "community township borough neighborhood neighbourhood suburb building opera musical documentary character "
    "label brand channel network artist singer actor actress author writer player politician system project product "
    "service device protocol method disease drug journal"
)
"""Nouns that, after "the", mean what the document is about."""
PARTIAL = _words(
    "first second third fourth fifth final last next other new old original latter former following previous main lead "
    "same third-party sister parent rival debut title production"
)
"""Adjectives that make "the final show" another thing than "the show"."""
PASSIVES = _words("called directed known listed located named played produced situated starring written")
"""Participles that, after a comma, mostly describe the noun before it and not the subject."""
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
"""The months, as a regular expression."""
