"""What judging a pair costs: the mean of pairs that this store has, or a built-in figure."""

import os
from collections.abc import Mapping
from math import sqrt

from agents import token_prices
from agents.committee.configurations import configuration_of
from infra.records import Record
from infra.settings import CommitteeSettings, Configuration
from infra.store import Database
from infra.store.figures import Mean, PairMeans, pair_means
from tasks.reports.plan import Amount, Expected

_ENOUGH = 20  # judged pairs whose mean is taken
_QUANTILE = 1.96  # of the normal distribution, for 95%
_START_S = 10.0  # of Ray and its judges, cold

# Requests of a pair. Of CoSQA+ they are 740,000 of 412,080 pairs, four of ten of which get a test
# program; those of `spec` are the packaged sample's.
_REQUESTS: Mapping[Configuration, float] = {
    "single": 1.0, "arbiter": 1.4, "writer": 1.8, "executor": 1.8, "simulated": 2.2, "paper": 1.8,
    "spec": 1.5, "v1-exact": 1.0, "v1-half": 1.0,
}  # fmt: skip
# Of a request. At GPT-4o-mini's prices CoSQA+ costs $243 by these; the paper says $257.
_SENT, _RECEIVED, _SECONDS = 1_300, 220, 2.0
_CORE_S = 1.5  # of one core for what a pair runs in boxes, as in the packaged sample


class PairCost(Record):
    """What judging one pair costs on average, and where that is known from.

    Attributes:
        means: The figures of a pair; the cost is unknown without the model's price.
        basis: Where they come from, in words.
    """

    means: PairMeans
    basis: str


def cost_of_pair(database: Database | None, chosen: CommitteeSettings) -> PairCost:
    """Return what a pair costs by the settings' model and configuration.

    Args:
        database: The store; None has no pairs.
        chosen: The model and the configuration.
    """
    model, configuration = chosen.llm.model, chosen.annotation.configuration
    prices = (0.0, 0.0) if chosen.llm.is_recorded else token_prices(model)
    found = pair_means(database, model, configuration, prices) if database else None
    if found and found.pairs >= _ENOUGH:
        basis = (
            f"the mean of {found.pairs:,} pairs that {model} judged here ({configuration}), with "
            "its 95% interval"
        )
    else:
        found, basis = _built_in(configuration, prices), f"built in for {configuration}"
    if chosen.llm.is_recorded:
        price = "no provider is asked"
    else:
        price = f"litellm's price list has {'no' if prices is None else 'the'} price of {model}"
    return PairCost(means=found, basis=f"{basis}; {price}")


def _built_in(configuration: Configuration, prices: tuple[float, float] | None) -> PairMeans:
    requests = _REQUESTS[configuration]
    usd = prices and requests * (_SENT * prices[0] + _RECEIVED * prices[1])
    return PairMeans(
        pairs=0,
        requests=Mean(mean=requests),
        tokens=Mean(mean=requests * (_SENT + _RECEIVED)),
        seconds=Mean(mean=requests * _SECONDS),
        usd=None if usd is None else Mean(mean=usd),
    )


def expected_of(pairs: int, cost: PairCost, chosen: CommitteeSettings) -> Expected:
    """Return what so many pairs are expected to take.

    They take the time of whatever is slowest: pairs in flight, the provider's limits or, where no
    pair was judged here, this machine's cores, by which boxes run.
    """
    means, llm = cost.means, chosen.llm
    per_pair_s = [means.seconds.mean / chosen.annotation.in_flight]
    if llm.requests_per_minute:
        per_pair_s.append(60 * means.requests.mean / llm.requests_per_minute)
    if llm.tokens_per_minute:
        per_pair_s.append(60 * means.tokens.mean / llm.tokens_per_minute)
    if not means.pairs and configuration_of(chosen.annotation).executor == "box":
        per_pair_s.append(_CORE_S / len(os.sched_getaffinity(0)))
    scale = max(per_pair_s) / means.seconds.mean if means.seconds.mean else 0.0
    least = _START_S + means.seconds.mean if pairs else 0.0
    return Expected(
        tokens=_amount(pairs, means.tokens, means.pairs),
        usd=means.usd and _amount(pairs, means.usd, means.pairs),
        minutes=_amount(pairs, means.seconds, means.pairs).scaled(scale / 60).at_least(least / 60),
    )


def _amount(pairs: int, of_pair: Mean, known: int) -> Amount:
    """Return a mean times pairs, with the normal interval of the mean of those that are known."""
    expected = pairs * of_pair.mean
    if not known:
        return Amount(expected=expected)
    half = pairs * _QUANTILE * sqrt(of_pair.variance / known)
    return Amount(expected=expected, low=max(0.0, expected - half), high=expected + half)
