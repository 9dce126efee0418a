"""How records and the conference itself lie in a knowledge store: each as one document, which holds it as JSON.

What a record says of itself is there as passages too, one for each facet, or several for a long text: vectors are made
of these.
"""

import hashlib
from collections.abc import Iterator

from loopwright.retrieval.records import Contribution, Document, Passage
from loopwright.workflows.assistant.schemas import Record
from loopwright.workflows.assistant.sources.info import ConferenceInfo

INFO_ID = "conference:info"
"""The id of the document that holds the conference itself; it has no passages, so no search finds it."""
CONFERENCE_TAG = "conference"
"""The tag of that document; every other has its table as its tag."""
PASSAGE_CHARACTERS = 1_500
"""The longest passage in characters: about 350 tokens of English, which embedding models read whole."""

LAYOUT = 5
"""Grows with every change of what is stored for the same record, so that the next ingest stores all anew."""
# What says enough without the title, or has it.
_TELLING = frozenset("title track speakers name talks topics role about interests".split())
_BREAKS = ("\n", ". ", "。", " ")


def contribution_of(record: Record) -> Contribution:
    """What a record brings to a store."""
    document = Document(
        id=record.id,
        title=record.title,
        digest=digest_of(record),
        date=record.start,
        tags=(record.table.value,),
        kept=record.model_dump_json(),
    )
    return Contribution(document=document, passages=tuple(_passages(record)))


def digest_of(value: Record | ConferenceInfo) -> str:
    """The digest of a record's or the conference's document: the same as long as nothing of it changes."""
    return hashlib.sha256(f"{LAYOUT}{value.model_dump_json()}".encode()).hexdigest()


def embedded_text(passage: Passage) -> str:
    """What is embedded of a passage: its text, after its title where the facet says too little without."""
    return passage.text if passage.heading in _TELLING else f"{passage.title}\n{passage.text}"


def info_contribution(info: ConferenceInfo) -> Contribution:
    """What the conference itself brings to a store."""
    kept = info.model_dump_json()
    document = Document(id=INFO_ID, title=info.title, digest=digest_of(info), tags=(CONFERENCE_TAG,), kept=kept)
    return Contribution(document=document, passages=())


def _passages(record: Record) -> Iterator[Passage]:
    place = begin = 0
    for key, text in record.texts.items():
        for start, end in _pieces(text):
            yield Passage(
                id=f"{record.id}::{place}",
                document_id=record.id,
                text=text[start:end],
                title=record.title,
                heading=key,
                start=begin + start,
                end=begin + end,
            )
            place += 1
        begin += len(text)


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Cut a text where a line ends, else a sentence, or a word, at most `PASSAGE_CHARACTERS` each."""
    start = 0
    while len(text) - start > PASSAGE_CHARACTERS:
        # A piece of less than a third says too little on its own.
        least, most = start + PASSAGE_CHARACTERS // 3, start + PASSAGE_CHARACTERS
        found = ((text.rfind(sign, least, most - len(sign)), len(sign)) for sign in _BREAKS)
        end = next((place + length for place, length in found if place >= 0), most)
        yield start, end
        start = end
    if start < len(text):
        yield start, len(text)
