"""E-mails: single ones, mailboxes, and web pages that a browser saved as one."""

from collections.abc import Iterator
from contextlib import closing
from email import message_from_bytes, policy
from mailbox import mbox
from typing import Any

from loopwright.errors import DocumentError
from loopwright.workflows.files import text_of
from loopwright.workflows.rag.sources.reading.html_file import Page, tree_of
from loopwright.workflows.rag.sources.reading.layout import ReadDocument
from loopwright.workflows.rag.sources.reading.source import Source

_HEADERS = ("From", "To", "Cc", "Date")


def read(source: Source) -> Iterator[ReadDocument]:
    """Read an e-mail: who wrote to whom and when, its text, and the names of its attachments."""
    yield _document(source, source.data(source.limits.text_bytes))


def read_mailbox(source: Source) -> Iterator[ReadDocument]:
    """Read the e-mails of a mailbox, one after the other; the key of each is its place, from 1."""
    with closing(mbox(source.path, create=False)) as box:
        if not len(box):
            raise source.error("has no e-mails; each begins with a line From ...")
        for number, key in enumerate(box.keys(), 1):
            try:
                yield _document(source, box.get_bytes(key), key=str(number))
            except DocumentError as problem:
                source.left_out(problem)


def _document(source: Source, raw: bytes, key: str = "") -> ReadDocument:
    with source.parsing("is a damaged e-mail", key):
        message: Any = message_from_bytes(raw, policy=policy.default)
        lines = [f"{name}: {value}" for name in _HEADERS if (value := " ".join(str(message.get(name, "")).split()))]
        subject, date = " ".join(str(message.get("Subject", "")).split()), message.get("Date")
        bodies = filter(None, (message.get_body((kind,)) for kind in ("plain", "html")))
        # A newsletter's plain text may be there and empty.
        body = next((each for each in bodies if each.get_payload(decode=True).strip()), None)
        written = body.get_payload(decode=True) if body else b""
        try:
            said = written.decode(body.get_content_charset("ascii") if body else "ascii")
        except (LookupError, UnicodeError):  # an encoding that nobody knows, or none, or another than it is in
            said = text_of(source, written)
        if body and body.get_content_subtype() == "html":
            said, _, subject_of_page = Page().read(tree_of(said))
            subject = subject or subject_of_page
        files = [part.get_filename() or part.get_content_type() for part in message.iter_attachments()]
        lines += [f"Attachments: {', '.join(files)}"] if files else []
    if not (lines or subject or key):
        raise source.error("is no e-mail: it has no headers; check what kind of file it is", key=key)
    if files:
        source.ignored(source.error(f"its attachments are not read: {', '.join(files)}; save them as files", key=key))
    text = "\n\n".join(filter(None, [subject, "\n".join(lines), said.replace("\r\n", "\n").strip()]))
    date, headings = source.date(getattr(date, "datetime", None)), (subject,) if subject else ()
    return source.document(text, headings=headings, title=subject, raw=raw, key=key, date=date)
