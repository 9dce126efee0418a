"""Numbers with units."""

from __future__ import annotations

import pytest

from loopwright.workflows.rag.answering.units import measures_in


@pytest.mark.parametrize(
    ("text", "quantity", "value"),
    [
        ("It is 2.1 kilometres long.", "length", 2100.0),
        ("a 900m bridge", "length", 900.0),
        ("1,200 feet", "length", 365.76),
        ("a 12-inch pipe", "length", 0.3048),
        ("3 tonnes", "mass", 3000.0),
        ("It took 90 minutes.", "time", 5400.0),
        ("2 million years", "time", 2e6 * 365.25 * 86400),
    ],
)
def test_a_number_is_given_in_metres_kilograms_or_seconds(text: str, quantity: str, value: float) -> None:
    (measure,) = measures_in(text)
    assert (measure.quantity, measure.value) == (quantity, pytest.approx(value))


@pytest.mark.parametrize("text", ["5 in all", "$900m", "900 people", "1990s", "5 of 9", "no number"])
def test_other_numbers_have_no_unit(text: str) -> None:
    assert list(measures_in(text)) == []
