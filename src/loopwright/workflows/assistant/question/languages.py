"""Names of languages, in English and in themselves, and their codes of ISO 639-1."""

from __future__ import annotations

import re

from loopwright.retrieval.text import fold

_TABLE = """
ar Arabic | bg Bulgarian | ca Catalan català | cs Czech čeština | da Danish dansk
de German deutsch allemand alemán duits tedesco | el Greek | en English englisch anglais inglés engels inglese
es Spanish español castellano spanisch espagnol spaans | et Estonian | eu Basque euskara | fa Persian Farsi
fi Finnish suomi | fr French français französisch francés frans francese | ga Irish | gl Galician | he Hebrew
hi Hindi | hr Croatian | hu Hungarian magyar | id Indonesian | it Italian italiano italienisch italien | ja Japanese
ko Korean | lt Lithuanian | lv Latvian | nl Dutch Flemish nederlands niederländisch néerlandais holländisch
no Norwegian norsk | pl Polish polski | pt Portuguese português | ro Romanian | ru Russian | sk Slovak | sl Slovenian
sr Serbian | sv Swedish svenska | tr Turkish | uk Ukrainian | vi Vietnamese | zh Chinese Mandarin
"""
_ENTRIES = [entry.split() for line in _TABLE.splitlines() for entry in line.split("|") if entry.strip()]

CODES = {code: names[0] for code, *names in _ENTRIES}
"""Code -> the language's English name."""
NAMES = {fold(name): code for code, *names in _ENTRIES for name in names}
"""Name, folded -> code."""
_SHORTER = {"eng": "en", "deu": "de", "ger": "de", "fra": "fr", "fre": "fr", "spa": "es", "ita": "it", "nld": "nl"}


def code_of(value: str) -> str:
    """The code of a language as a schedule has it, such as "en-GB" or "deu"."""
    code = re.split(r"[-_]", value.casefold())[0]
    return _SHORTER.get(code, code)
