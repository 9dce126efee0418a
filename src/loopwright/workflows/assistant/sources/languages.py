"""Names of languages, in English and in themselves, and their codes of ISO 639-1."""

import re

from loopwright.config import shipped
from loopwright.retrieval.text import fold

_LISTED: dict[str, str] = shipped("loopwright.workflows.assistant", "data/languages.yaml")

CODES = {code: names.split()[0] for code, names in _LISTED.items()}
"""Code -> the language's English name."""
NAMES = {fold(name): code for code, names in _LISTED.items() for name in names.split()}
"""Name, folded -> code."""
_SHORTER = {"eng": "en", "deu": "de", "ger": "de", "fra": "fr", "fre": "fr", "spa": "es", "ita": "it", "nld": "nl"}


def code_of(value: str) -> str:
    """The code of a language as a schedule has it, such as "en-GB", "deu" or "English"."""
    code = re.split(r"[-_]", value.casefold())[0]
    return NAMES.get(fold(value)) or _SHORTER.get(code, code)
