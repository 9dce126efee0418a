"""E-mails, books, slides, OpenDocument and spreadsheets, as others write them."""

import zipfile
from pathlib import Path

import pytest
from documents import refusal, written

from loopwright.workflows.rag.sources.reading import ReadingProblem, passages_of, read_source

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
LINK = '<Relationship Id="{0}" Type="' + OFFICE + '/{1}" Target="{2}"/>'
SLIDE = (
    '<sld xmlns:p="openxmlformats/p" xmlns:a="openxmlformats/a"><p:sp><p:nvPr><p:ph type="{0}"/></p:nvPr><p:txBody><a:p><a:r>'
    "<a:t>{1}</a:t></a:r></a:p><a:p><a:t>{2}</a:t></a:p></p:txBody></p:sp>{3}</sld>"
)
GRID = "<a:tbl><a:id>{9}</a:id><a:tr><a:tc><a:t>Ash</a:t></a:tc><a:tc><a:t>12</a:t></a:tc></a:tr></a:tbl>"
ODF = '<o:d xmlns:o="opendocument:o" xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">'
TEXT = "<table:table-cell office:value-type='string'><text:p>{}</text:p></table:table-cell>"
SUM = "<table:table-cell office:value-type='float' office:value='4'/>"
EMPTY = "<table:table-row table:number-rows-repeated='1048000'><table:table-cell table:number-columns-repeated='16384'></table:table-cell></table:table-row>"
PARTS = {
    "pptx": {
        "_rels/.rels": f"<r xmlns='r'>{LINK.format('a', 'officeDocument', 'ppt/p.xml')}</r>",
        "ppt/p.xml": "<p xmlns='p' xmlns:r='r'><sldId r:id='2'/><sldId r:id='1'/></p>",
        "ppt/_rels/p.xml.rels": f"<r xmlns='r'>{LINK.format('1', 'slide', 's1.xml')}{LINK.format('2', 'slide', '/ppt/s2.xml')}</r>",
        "ppt/_rels/s1.xml.rels": f"<r xmlns='r'>{LINK.format('1', 'notesSlide', 'n.xml')}</r>",
        "ppt/s1.xml": SLIDE.format("pic", "No title", "here", GRID),
        "ppt/s2.xml": SLIDE.format("title", "Plan", "", ""),
        "ppt/n.xml": SLIDE.format("body", "Say it", "twice", ""),
    },
    "odt": {
        "content.xml": f'{ODF}<o:h o:outline-level="1">Rules</o:h><o:p>It ran<o:s/>at 44<o:note><o:note-citation>1</o:note-citation>'
        "<o:note-body><o:p>The old one at 22</o:p></o:note-body></o:note> kHz.</o:p><o:annotation><o:p>Why?</o:p></o:annotation>"
        "<o:list><o:list-item><o:p>one</o:p></o:list-item><o:list-item><o:p>two</o:p></o:list-item></o:list></o:d>",
        "meta.xml": f"{ODF}<o:title>Sound</o:title><o:date>2024-05-06T07:08:09</o:date><o:keyword>lab</o:keyword></o:d>",
    },
    "epub": {
        "META-INF/container.xml": "<c><rootfile full-path='a/b.opf'/></c>",
        "a/b.opf": "<package><title>Heron</title><subject>birds</subject><item id='2' href='x%20y.xhtml'/>"
        "<item id='1' href='z.xhtml'/><itemref idref='1'/><itemref idref='2'/></package>",
        "a/z.xhtml": "<html><h1>One</h1><p>It sat.</p></html>",
        "a/x y.xhtml": "<html><h1>Two</h1><p>It flew.</p></html>",
    },
    "ods": {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": "<manifest:manifest xmlns:manifest='urn:oasis:names:tc:opendocument:xmlns:manifest:1.0'/>",
        "content.xml": f"{ODF.replace('o:d', 'office:document-content')}<office:body><office:spreadsheet><table:table table:name='Fees'>"
        + "".join(
            f"<table:table-row>{''.join(SUM if each == '4' else TEXT.format(each) for each in row.split())}</table:table-row>"
            for row in ("Prices", "Who Sum", "", "Child 4", "", "Name Post", "Ida cook")
        )
        + f"{EMPTY}</table:table></office:spreadsheet></office:body></office:document-content>",
    },
}  # fmt: skip
CORNER = {"xl/worksheets/s.xml": "<worksheet><c r='A1'/><c r='XFD1048576'/></worksheet>"}
TOLD = {
    "pptx": ("a", "Plan\n\nSlide 2\n\nNo title\nhere\n\nAsh | 12\n\nSay it\ntwice", ()),
    "odt": ("Sound", "Rules\n\nIt ran at 44 (The old one at 22) kHz.\n\none\ntwo", ("lab",)),
    "epub": ("Heron", "One\n\nIt sat.\n\nTwo\n\nIt flew.", ("birds",)),
    "ods": ("a", "Fees\n\nPrices\n\nWho | Sum\nChild | 4\n\nName | Post\nIda | cook", ()),
}


def packed(path: Path, parts: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


@pytest.mark.parametrize("kind", PARTS)
def test_what_is_packed_is_read_in_order(tmp_path: Path, kind: str):
    (document,) = read_source(packed(tmp_path / f"a.{kind}", PARTS[kind]))
    assert (document.title, document.text, document.tags) == TOLD[kind]
    if kind == "pptx":
        assert [(each.page, each.headings) for each in document.sections] == [(2, ("Slide 2",))]
    assert "damaged" in refusal(packed(tmp_path / f"a.{kind}", {"x": "y"}))
    assert "sheet up to XFD1048576" in refusal(packed(tmp_path / "a.xlsx", CORNER))
    sheets = PARTS["ods"]["content.xml"].replace("-row>", "-row table:number-rows-repeated='9999999'>", 1)
    sheets = sheets.replace("-cell ", "-cell table:number-columns-repeated='20' ")
    assert "sheet up to AN1048576" in refusal(packed(tmp_path / "b.ods", {**PARTS["ods"], "content.xml": sheets}))
    assert kind.upper() in refusal(written(tmp_path, f"a.{kind}", "no archive")) or kind == "ods"


MAIL = """From: Ida <ida@example.org>\r\nTo: Tom\r\nDate: Tue, 3 Mar 2026 10:00:00 +0100\r\nSubject: =?utf-8?q?Fees_of_M=C3=A4rz?=\r
MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/{}; charset={}\r\n\r\n{}\r
--x\r\nContent-Disposition: attachment; filename=list.pdf\r\n\r\nabc\r\n--x--\r\n"""


@pytest.mark.parametrize(("kind", "charset", "body"), [("plain", "utf-8", "The fee is £ 12."), ("html", "utf-8", "<p>The fee is <b>£&nbsp;12</b>.</p>"), ("plain", "x-unknown", "The fee is £ 12.")])  # fmt: skip
def test_an_e_mail_says_who_wrote_what_and_when(tmp_path: Path, kind: str, charset: str, body: str):
    problems = list[ReadingProblem]()
    path = written(tmp_path, "a.eml", mail := MAIL.format(kind, charset, body))
    (document,) = read_source(path, on_problem=problems.append)
    told = "Fees of März\n\nFrom: Ida <ida@example.org>\nTo: Tom\nDate: Tue, 03 Mar 2026 10:00:00 +0100\nAttachments: list.pdf\n\nThe fee is £ 12."
    assert (document.title, document.text.replace("3 Mar", "03 Mar").replace("003", "03")) == ("Fees of März", told)
    assert document.date is not None and document.date.isoformat() == "2026-03-03T10:00:00+01:00"
    assert "list.pdf" in str(problems[0].error) and not problems[0].left_out
    nested = "".join(f"Content-Type: multipart/mixed; boundary={n}\n\n--{n}\n" for n in range(3000))
    assert "is a damaged e-mail: RecursionError" in refusal(written(tmp_path, "a.eml", f"Subject: x\n{nested}"))
    box = written(tmp_path, "a.mbox", f"From x\r\n{mail}\r\nFrom y\r\nSubject: Two\r\n\r\n\r\nFrom z\r\n{mail}")
    documents = [*read_source(box)]
    assert [each.id.partition("#")[2] for each in documents] == ["1", "2", "3"] and documents[0].text == document.text
    assert [each.heading for each in passages_of(documents[1])] == ["Two"]
    assert "no e-mail" in refusal(written(tmp_path, "n.eml", "just text")) and "no e-mails" in refusal(
        written(tmp_path, "n.mbox", "x")
    )
