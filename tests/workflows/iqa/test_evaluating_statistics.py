"""Figures of agreement against SciPy and hand-made values, and intervals against repeated draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from loopwright.workflows.iqa.evaluating.agreement import (
    draw,
    fit_logistic,
    interval,
    krcc,
    plcc,
    srcc,
)

RNG = np.random.default_rng(7)
X = np.round(RNG.normal(size=60), 1)  # rounded, so that there are ties
Y = np.round(X + RNG.normal(size=60), 1)
ONCE = np.ones((1, 60))


@pytest.mark.parametrize(
    ("figure", "reference"),
    [(srcc, stats.spearmanr), (plcc, stats.pearsonr), (krcc, stats.kendalltau)],
)
def test_figures_are_scipys_also_on_resampled_rows(figure, reference):
    assert figure(X, Y, ONCE)[0] == pytest.approx(reference(X, Y).statistic, abs=1e-9)
    weights = next(draw(range(60), 5, seed=1))
    for value, times in zip(figure(X, Y, weights), weights.astype(int), strict=True):
        rows = np.repeat(np.arange(60), times)
        assert value == pytest.approx(reference(X[rows], Y[rows]).statistic, abs=1e-6)


def test_kendall_of_many_rows():
    x, e = np.random.default_rng(0).normal(size=(2, 3100)).round(2)
    weights = next(draw(range(3100), 1, seed=2))
    rows = np.repeat(np.arange(3100), weights[0].astype(int))
    assert krcc(x, x + e, weights)[0] == stats.kendalltau(x[rows], (x + e)[rows]).statistic


def test_whole_units_are_drawn():
    units = ["a"] * 20 + ["b"] * 20 + ["c"] * 20
    weights = np.concatenate(list(draw(units, 50, seed=3)))
    assert weights.shape == (50, 60)
    for start in (0, 20, 40):
        assert (weights[:, start : start + 20] == weights[:, start : start + 1]).all()
    assert (weights.sum(axis=1) == 60).all()
    assert len(np.unique(weights[:, ::20], axis=0)) > 3


def test_intervals_cover_the_true_correlation():
    truth = 6 / np.pi * np.arcsin(0.6 / 2)  # Spearman's of a bivariate normal distribution with correlation 0.6
    covered = 0
    for seed in range(100):
        x, e = np.random.default_rng(seed).normal(size=(2, 120))
        y = 0.6 * x + 0.8 * e
        low, high = interval(np.concatenate([srcc(x, y, w) for w in draw(range(120), 300, seed)]))
        covered += low <= truth <= high
    assert 88 <= covered <= 100


def test_the_logistic_straightens_a_curved_relation():
    x = np.linspace(-4, 4, 200)
    y = 3 + 1.8 * np.tanh(1.5 * x) + np.random.default_rng(0).normal(0, 0.02, 200)
    fit = fit_logistic(x, y)
    assert fit.curve == "five-parameter logistic"
    assert plcc(fit.values, y, np.ones((1, 200)))[0] > 0.999 > plcc(x, y, np.ones((1, 200)))[0]


@pytest.mark.parametrize(
    ("x", "y", "why"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], "for want of rows"),
        (np.linspace(-3, 3, 50), np.linspace(-3, 3, 50) ** 2, "because the logistic"),
    ],
)
def test_without_a_fit_a_straight_line_is_taken(x, y, why):
    x, y = np.array(x, float), np.array(y, float)
    fit = fit_logistic(x, y)
    assert fit.curve.startswith("straight line") and why in fit.curve
    slope, offset = np.polyfit(x, y, 1)
    assert fit.values == pytest.approx(slope * x + offset)
