"""Archives of XML: DOCX, PPTX, OpenDocument and EPUB, read as the HTML that says the same."""

import re
from collections.abc import Iterator
from datetime import datetime
from io import BytesIO
from posixpath import basename, dirname, join, normpath
from typing import Any
from urllib.parse import unquote
from zipfile import ZipFile

from bs4 import BeautifulSoup
from lxml.etree import QName, XMLParser, XMLSyntaxError, fromstring, strip_tags, tostring

from loopwright.config import shipped
from loopwright.workflows.files.source import MEGABYTE
from loopwright.workflows.rag.sources.reading.formulas import linear
from loopwright.workflows.rag.sources.reading.html_file import Page, tree_of
from loopwright.workflows.rag.sources.reading.layout import ReadDocument
from loopwright.workflows.rag.sources.reading.records import as_texts
from loopwright.workflows.rag.sources.reading.source import Source

_OLE = b"\xd0\xcf\x11\xe0"
_MARKUP = shipped("loopwright.workflows.rag", "data/markup.yaml")
_AS_HTML = {name: said for said, names in _MARKUP["html"].items() for name in names}
_SIGNS = {"tab": " ", "s": " ", "noBreakHyphen": "-"}
# What wraps blocks without being one: content controls, insertions, custom XML.
_WRAPPERS = ("{*}sdt", "{*}sdtContent", "{*}ins", "{*}customXml", "{*}smartTag")
_OFF = ("0", "false", "off")
_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_TITLES = (
    ".//*[.//*[@type = 'title' or @type = 'ctrTitle'] and local-name() = 'sp' or @*[local-name() = 'class'] = 'title']"
)
_NOTES = "//*[local-name() = 'sp' and .//*[@type = 'body']]"


def read(source: Source) -> Iterator[ReadDocument]:
    """Read a document by its headings, or slides, each as a page; title, date and tags are its properties."""
    data, kind = source.data(source.limits.text_bytes), source.path.suffix[1:].upper()
    if data.startswith(_OLE):
        raise source.error(
            f"is encrypted, or an old .{kind[:3].lower()}; save it as .{kind.lower()} without a password"
        )
    if not data.startswith(b"PK"):
        raise source.error(f"is no {kind}, whatever its name; check what kind of file it is")
    with source.parsing(f"is a damaged {kind}"), opened(source, data) as archive:
        readers = {"DOCX": _document, "PPTX": _slides, "EPUB": _book}
        about, trees = readers.get(kind, _open_document)(source, archive)
        text, sections, heading = Page().read(*trees)
        title, date, tags = _properties(source, about)
    yield source.document(text, sections, title=title or heading, raw=data, date=date, tags=tags)


def opened(source: Source, data: bytes) -> ZipFile:
    """An archive, if it does not unpack to too much.

    Raises:
        DocumentError: If it does.
    """
    archive = ZipFile(BytesIO(data))
    # Its tree takes ten times as much memory; little is harmless however well it is packed, as templates are.
    most = min(source.limits.unpacked_bytes, max(10 * MEGABYTE, 200 * len(data)))
    if sum(member.file_size for member in archive.infolist()) > most:
        raise source.error(f"unpacks to more than {most // MEGABYTE} MB: 200-fold, or the limit unpacked_bytes")
    return archive


def _book(source: Source, archive: ZipFile) -> tuple[Any, list[BeautifulSoup]]:
    """The chapters of an EPUB in order."""
    (path,) = _xml(archive, "META-INF/container.xml").xpath("(//@full-path)[1]")
    about = _xml(archive, path)
    files = {item.get("id"): join(dirname(path), unquote(item.get("href"))) for item in about.iter("{*}item")}
    order = [files[each.get("idref")] for each in about.iter("{*}itemref") if each.get("idref") in files]
    return about, [tree_of(_member(archive, normpath(file))) for file in order]


def _open_document(source: Source, archive: ZipFile) -> tuple[Any, list[BeautifulSoup]]:
    """The text of OpenDocument, or its slides."""
    content = _xml(archive, "content.xml")
    for note in content.iter("{*}note"):
        for part in note.iter("{*}p"):
            part.tag, part.text, part.tail = "span", f" ({part.text or ''}", ")"
    for heading in content.iter("{*}h"):
        heading.tag = f"h{min(int(next((level for name, level in heading.items() if 'outline-level' in name), 1)), 6)}"
    slides = [_slide(number, slide) for number, slide in enumerate(content.iter("{*}page"), 1)]
    about = _xml(archive, "meta.xml") if "meta.xml" in archive.namelist() else None
    return about, slides or [_as_html(content)]


def _slides(source: Source, archive: ZipFile) -> tuple[Any, list[BeautifulSoup]]:
    """The slides of a PowerPoint file that are shown, with the speaker's notes."""
    (path, *_) = _linked(archive, "", "/officeDocument").values()
    links = _linked(archive, path, "/slide")
    order = [links[id] for each in _xml(archive, path).iter("{*}sldId") for id in each.values() if id in links]
    slides = list[BeautifulSoup]()
    for number, file in enumerate(order, 1):
        slide = _xml(archive, file)
        for notes in _linked(archive, file, "/notesSlide").values():
            slide.extend(_xml(archive, notes).xpath(_NOTES))
        slides += [_slide(number, slide)] if slide.get("show") != "0" else []
    return _core(archive), slides


def _slide(number: int, slide: Any) -> BeautifulSoup:
    """A slide with its title as its heading, or else its number."""
    title = [paragraph for each in slide.xpath(_TITLES) for paragraph in each.iter("{*}p")]
    for paragraph in title:
        paragraph.tag = "h1"
    if not "".join(text for each in title for text in each.itertext()).strip():
        slide.insert(0, fromstring(f"<h1><t xmlns='text'>Slide {number}</t></h1>"))
    return _as_html(slide, page=str(number))


def _document(source: Source, archive: ZipFile) -> tuple[Any, list[BeautifulSoup]]:
    """The text of a DOCX, and at its end its notes, headers and footers, each once."""
    (path, *_) = _linked(archive, "", "/officeDocument").values()
    sheets = [_xml(archive, file) for file in _linked(archive, path, "/styles").values()]
    named = (id for sheet in sheets for id in sheet.xpath("//@*[local-name() = 'styleId']"))
    styles = {id: id.getparent() for id in named}
    parts = [_xml(archive, path), *_beside(source, archive, path)]
    for part in parts:
        for paragraph in part.iter("{*}p"):
            style = styles.get(_value(paragraph, "{*}pPr/{*}pStyle"))
            name, level = _value(style, "{*}name").lower(), _level(paragraph, style, styles)
            if name.startswith("toc "):  # the table of contents says what the headings say
                paragraph.tag = "del"
            elif level is not None:
                paragraph.tag = f"h{level}"
            elif paragraph.find("{*}pPr/{*}numPr") is not None:
                paragraph.tag = "li"
        for run in part.iter("{*}r"):
            hidden = run.find("{*}rPr/{*}vanish") is not None and _value(run, "{*}rPr/{*}vanish") not in _OFF
            raised = _value(run, "{*}rPr/{*}vertAlign") == "superscript"
            run.tag = "del" if hidden else "sup" if raised else run.tag
        for formula in [*part.iter("{*}oMath")]:
            said = linear(formula)
            formula.clear()
            formula.tag, formula.text = "{text}t", said
        for cell in part.iter("{*}tc"):
            cell.set("gridSpan", _value(cell, "{*}tcPr/{*}gridSpan"))
            if cell.find("{*}tcPr/{*}vMerge") is not None and _value(cell, "{*}tcPr/{*}vMerge") != "restart":
                cell.set("as-above", "yes")
    return _core(archive), [*map(_as_html, parts)]


def _beside(source: Source, archive: ZipFile, path: str) -> Iterator[Any]:
    """The notes, headers and footers of a DOCX; each kind of page has a header of its own, mostly the same."""
    seen = set[str]()
    for file in _linked(archive, path, "/footnotes", "/endnotes", "/header", "/footer").values():
        try:
            part = _xml(archive, file)
        except XMLSyntaxError as error:
            source.ignored(source.error(f"has damaged notes, which are left out: {error}"))
            continue
        for block in [*part.iterchildren("{*}*")]:
            text = "".join(each.text or "" for each in block.iter("{*}t"))
            block.tag = "del" if text in seen else block.tag
            seen.add(text)
        yield part


def _value(element: Any, path: str) -> str:
    """The value of what stands at a path in an element of Word, "" if nothing does."""
    found = None if element is None else element.find(path)
    return "" if found is None else next(iter(found.values()), "")


def _level(place: Any, style: Any, styles: dict[str, Any], most: int = 9) -> int | None:
    """The level of a heading, 0 for the document's title; None for other paragraphs, and styles of other ones."""
    name, outline = _value(style, "{*}name"), _value(place, "{*}pPr/{*}outlineLvl")
    if name == "Title":
        return 0
    if match := _HEADING.fullmatch(name):
        return int(match[1])
    if outline.isdecimal():
        return int(outline) + 1 if int(outline) < 9 else None
    # A style of one's own is mostly based on one of Word's; one that is based on itself is damaged.
    based = styles.get(_value(style, "{*}basedOn"))
    return None if style is None or not most else _level(style, based, styles, most - 1)


def _as_html(root: Any, **attributes: str) -> BeautifulSoup:
    strip_tags(root, *_WRAPPERS)
    is_office = "opendocument" not in (QName(root).namespace or "")
    for element in root.iter("{*}*"):
        tag, had = QName(element), {QName(name).localname: value for name, value in element.items() if value}
        if is_office:  # what else is there is for programs, or indents the XML
            element.text, element.tail = element.text if tag.localname == "t" else None, None
        element.text = _SIGNS.get(tag.localname, element.text)
        name = _AS_HTML.get(tag.localname, "span") if tag.namespace else tag.localname
        above = element.getparent()
        element.tag = "li" if name == "p" and above is not None and above.tag == "li" else name
        goes_on = "hMerge" in had or "vMerge" in had  # the cell beside or above says what it says
        element.tag = "del" if goes_on else element.tag
        element.attrib.clear()
        for here, theirs in _MARKUP["spans"].items():
            for value in (had[each] for each in theirs if each in had):
                element.set(here, value)
    root.attrib.update(attributes)
    return BeautifulSoup(tostring(root), "xml")


def _xml(archive: ZipFile, path: str) -> Any:
    return fromstring(_member(archive, path), XMLParser(resolve_entities=False, no_network=True))


def _member(archive: ZipFile, path: str) -> bytes:
    """A member of an archive, as much as the archive says it has, which may not be so."""
    with archive.open(path) as stream:
        return stream.read(archive.getinfo(path).file_size + 1)


def _linked(archive: ZipFile, path: str, *kinds: str) -> dict[str, str]:
    """The parts of an Office file that one of its parts, "" for the file, links to as of some kinds, by their ids."""
    links = join(dirname(path), "_rels", f"{basename(path)}.rels")
    found = _xml(archive, links).iter("{*}Relationship") if links in archive.namelist() else ()
    ours = (each for each in found if each.get("Type").endswith(kinds) and each.get("TargetMode") != "External")
    return {each.get("Id"): normpath(join("/", dirname(path), each.get("Target")))[1:] for each in ours}


def _core(archive: ZipFile) -> Any:
    """The properties of an Office file; None if it has none."""
    return next((_xml(archive, path) for path in _linked(archive, "", "/core-properties").values()), None)


def _properties(source: Source, about: Any) -> tuple[str, datetime | None, tuple[str, ...]]:
    """A document's title, date and tags, by what its archive says of it."""

    def said(*names: str) -> list[str]:
        found = (element for name in names for element in (() if about is None else about.iter(f"{{*}}{name}")))
        return [text for each in found if (text := "".join(each.itertext()).strip())]

    # In Office a subject is a kind of title.
    names = ("subject",) if about is not None and QName(about).localname == "package" else ("keyword", "keywords")
    dates = map(source.date, said("modified", "date", "created", "creation-date"))
    return "".join(said("title")[:1]), next(filter(None, dates), None), as_texts(";".join(said(*names)), ",;")
