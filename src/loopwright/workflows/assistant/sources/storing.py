"""How records and the conference itself lie in a knowledge store, and come back from it.

A record is one document with a passage for each facet; long texts take several. The passages of a facet follow each
other without a gap, so that joining them gives the text back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time

from loopwright.retrieval.records import Contribution, Document, Passage
from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.sources.info import ConferenceInfo

INFO_ID = "conference:info"
"""The id of the document that holds the conference itself; it has no passages, so no search finds it."""
CONFERENCE_TAG = "conference"
"""The tag of that document; every other has its table as its tag."""
PASSAGE_CHARACTERS = 1_500
"""The longest passage in characters: about 350 tokens of English, which embedding models read whole."""

# Grows with every change of what is stored for the same record, so that the next ingest stores all anew.
_LAYOUT = 1
# Facets of a document that are not the record's own fields, which never begin with an underscore.
_START, _END, _URL, _RELATED, _PASSAGES = "_start", "_end", "_url", "_related", "_passages"
# What says enough without the title, or has it.
_TELLING = frozenset("title track speakers name talks topics role about interests".split())
_BREAKS = ("\n", ". ", "。", " ")


def contribution_of(record: Record) -> Contribution:
    """What a record brings to a store."""
    passages = tuple(_passages(record))
    kept = {
        _START: _moments(record.start),
        _END: _moments(record.end),
        _URL: (record.url,) if record.url else (),
        _RELATED: record.related,
        _PASSAGES: (str(len(passages)),),
    }
    document = Document(
        id=record.id,
        title=record.title,
        digest=digest_of(record),
        key=record.key,
        date=record.start,
        tags=(record.table.value,),
        facets={**record.fields, **{name: values for name, values in kept.items() if values}},
    )
    return Contribution(document=document, passages=passages)


def record_of(document: Document, passages: Iterable[Passage]) -> Record:
    """A record as it was before `contribution_of`.

    Args:
        document: Its document.
        passages: The document's passages, in order.
    """
    texts: dict[str, str] = {}
    for passage in passages:
        texts[passage.heading] = texts.get(passage.heading, "") + passage.text
    facets = document.facets
    return Record(
        id=document.id,
        table=Table(document.tags[0]),
        key=document.key,
        title=document.title,
        texts=texts,
        fields={name: values for name, values in facets.items() if not name.startswith("_")},
        start=_moment(facets, _START),
        end=_moment(facets, _END),
        url=_single(facets, _URL),
        related=tuple(facets.get(_RELATED, ())),
    )


def digest_of(value: Record | ConferenceInfo) -> str:
    """The digest of a record's or the conference's document: the same as long as nothing of it changes."""
    return hashlib.sha256(f"{_LAYOUT}{value.model_dump_json()}".encode()).hexdigest()


def passage_ids(document: Document) -> list[str]:
    """The ids of a record's passages, in order, as its document says; none for another document."""
    return [f"{document.id}::{place}" for place in range(int(_single(document.facets, _PASSAGES) or 0))]


def embedded_text(passage: Passage) -> str:
    """What is embedded of a passage: its text, after its title where the facet says too little without."""
    return passage.text if passage.heading in _TELLING else f"{passage.title}\n{passage.text}"


def info_contribution(info: ConferenceInfo) -> Contribution:
    """What the conference itself brings to a store."""
    facets = {name: (str(value),) for name, value in info.model_dump(mode="json").items() if value}
    document = Document(id=INFO_ID, title=info.title, digest=digest_of(info), tags=(CONFERENCE_TAG,), facets=facets)
    return Contribution(document=document, passages=())


def info_of(document: Document) -> ConferenceInfo:
    """The conference as it was before `info_contribution`."""
    facets = document.facets
    return ConferenceInfo(
        title=document.title,
        acronym=_single(facets, "acronym"),
        venue=_single(facets, "venue"),
        city=_single(facets, "city"),
        start=date.fromisoformat(_single(facets, "start")),
        end=date.fromisoformat(_single(facets, "end")),
        time_zone=_single(facets, "time_zone"),
        day_change=time.fromisoformat(_single(facets, "day_change")),
    )


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
        ends = (
            text.rfind(sign, least, most - len(sign)) + len(sign)
            for sign in _BREAKS
            if text.find(sign, least, most - len(sign)) >= 0
        )
        end = next(ends, most)
        yield start, end
        start = end
    if start < len(text):
        yield start, len(text)


def _moments(moment: datetime | None) -> tuple[str, ...]:
    return (moment.isoformat(),) if moment else ()


def _moment(facets: Mapping[str, tuple[str, ...]], name: str) -> datetime | None:
    value = _single(facets, name)
    return datetime.fromisoformat(value) if value else None


def _single(facets: Mapping[str, tuple[str, ...]], name: str) -> str:
    values = facets.get(name)
    return values[0] if values else ""
