"""Stability of labels: Krippendorff's alpha between two judgings of the same pairs."""

from collections.abc import Mapping

import numpy as np

from infra.records import Record
from tasks.statistics import Values

_CELLS = ((0, 0), (0, 1), (1, 0), (1, 1))
_JEFFREYS = 0.5
_DRAWS = 10_000


class Stability(Record):
    """How far two judgings agree.

    Attributes:
        pairs: Pairs with a label by both.
        equal: Those with the same label.
        alpha: Krippendorff's for nominal data; None where all labels are equal, which cannot be
            told from chance.
        low: Lower end of its 95% interval; None with ``alpha``.
        high: Upper end.
    """

    pairs: int
    equal: int
    alpha: float | None = None
    low: float | None = None
    high: float | None = None


def stability(counts: Mapping[tuple[int, int], int], seed: int = 0) -> Stability:
    """Return alpha of two judgings with its 95% interval.

    The interval is that of the posterior under Jeffreys' prior over the four outcomes of a pair, by
    simulation: unlike a bootstrap it has a width where no pair of a small sample differs.

    Args:
        counts: (label before, label again) → number of pairs.
        seed: Of the simulation.
    """
    cells = np.array([counts.get(cell, 0) for cell in _CELLS], np.float64)
    pairs = int(cells.sum())
    found = Stability(pairs=pairs, equal=int(cells[0] + cells[3]))
    if not pairs:
        return found
    (alpha,) = _alphas(cells[None] / pairs, pairs)
    if np.isnan(alpha):
        return found
    drawn = np.random.default_rng(seed).dirichlet(cells + _JEFFREYS, _DRAWS)
    low, high = np.quantile(_alphas(drawn, pairs), [0.025, 0.975])
    return found.model_copy(
        update={
            "alpha": float(alpha),
            "low": float(min(low, alpha)),
            "high": float(max(high, alpha)),
        }
    )


def _alphas(shares: Values, pairs: int) -> Values:
    """Return (n,) Krippendorff's alpha of two coders for shares (n, 4) of the four outcomes.

    1 - D_o / D_e with D_o the share of pairs that differ, and D_e that of differing values among
    all 2 m values, drawn without replacement (Krippendorff 2011); NaN without variation.
    """
    values = 2 * pairs
    ones = shares[:, 3] + (shares[:, 1] + shares[:, 2]) / 2
    expected = 2 * ones * (1 - ones) * values / (values - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        alphas: Values = np.where(
            expected > 0, 1 - (shares[:, 1] + shares[:, 2]) / expected, np.nan
        )
    return alphas


def alarm(now: Stability, before: float | None, min_alpha: float) -> str:
    """Return why an audit is an alarm: alpha is too small, or has fallen; "" where it is none.

    Args:
        now: The audit.
        before: Alpha of the audit before it; None without one.
        min_alpha: The least that alpha may be.
    """
    if now.alpha is None or now.high is None:
        return ""
    figures = f"{now.alpha:.3f} (95% interval {now.low:.3f} to {now.high:.3f}, {now.pairs:,} pairs)"
    if now.alpha < min_alpha:
        return f"alpha {figures} is below {min_alpha:g}"
    if before is not None and now.high < before:
        return f"alpha {figures} has fallen: the audit before gave {before:.3f}"
    return ""
