from __future__ import annotations

import pytest

from loopwright.retrieval.text import fold, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("红楼梦", ["红楼", "楼梦"]),
        ("红", ["红"]),
        ("กรุงเทพ", ["กรุ", "รุง", "ุงเ", "งเท", "เทพ"]),
        ("IBM是公司", ["ibm", "是公", "公司"]),
    ],
)
def test_unspaced_scripts_become_overlapping_pieces(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_marks_of_other_scripts_survive_folding() -> None:
    assert fold("กี่") == "กี่"
    assert fold("Straße É") == "strasse e"


def test_vowel_signs_do_not_break_words() -> None:
    assert terms("हिन्दी भाषा") == ["हिन्दी", "भाषा"]
    assert terms("שָׁלוֹם עולם")[1:] == ["עולם"]
