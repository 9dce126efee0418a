"""What mkdocs does not do by itself: files beside ``docs/`` that documents link to, and diagrams without a script.

Where LOOPWRIGHT_UNDRAWN is set, as where only the links are checked, the diagrams stay text.

Links in the sources lead where they lead in the repository. On the site, Markdown from elsewhere becomes a page at the
same path, and any other file (a configuration, an example) is copied there.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import Any

import mermaidx
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|[#/])([^)#\s]+)")
MERMAID = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def place(page: File) -> str:
    """Where a page's source lies in the repository."""
    return Path(str(page.abs_src_path)).relative_to(ROOT).as_posix()


def target(page: File, link: str) -> str:
    """The path in the repository to which a page's link leads."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(place(page)), link))


def on_files(files: Files, config: Any) -> Files:
    """Add what documents link to outside of their folder, and what those link to in turn."""
    pages = [file for file in files if file.is_documentation_page()]
    known = {place(file) for file in files if file.abs_src_path and ROOT in Path(file.abs_src_path).parents}
    while pages:
        page = pages.pop()
        for link in LINK.findall(Path(str(page.abs_src_path)).read_text(encoding="utf-8")):
            path = target(page, link)
            if path not in known and not path.startswith("docs/") and (ROOT / path).is_file():
                known.add(path)
                files.append(added := File.generated(config, path, abs_src_path=str(ROOT / path)))
                pages += [added] * added.is_documentation_page()
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let the links lead to where the files are on the site, and draw the diagrams."""
    here = posixpath.dirname(page.file.src_uri) or "."

    def link(found: re.Match[str]) -> str:
        return posixpath.relpath(target(page.file, found[1]).removeprefix("docs/"), here)

    def drawn(found: re.Match[str]) -> str:
        return f'<div style="background: #fff; overflow-x: auto">{mermaidx.render(found[1]).svg()}</div>'

    linked = LINK.sub(link, markdown)
    return linked if os.environ.get("LOOPWRIGHT_UNDRAWN") else MERMAID.sub(drawn, linked)
