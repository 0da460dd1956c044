"""What judging pairs takes: requests, tokens, money and time, with an interval.

`PairEffort` is one pair by built-in figures. A run is expected by pairs that were judged before:
those that met the same agents take alike, those of another path do not. So a pair that is to be
judged again is expected to take its former path, a new one that of all pairs before it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt

from pydantic import Field

from infra.records import Record

_CPU_PER_CALL_S = 0.005  # of all processes, for a call's queueing, sending and storing
_BATCH_STEP_S = 24 * 3600.0  # that providers promise for a batch
_BATCH_SHARE = 0.5  # of the usual price, where that of the model is not known


class PairEffort(Record):
    """What one judgement takes, on average.

    Attributes:
        calls: Requests to the language model.
        call_seconds: Seconds of one.
        prompt_tokens: Tokens sent.
        completion_tokens: Tokens received.
        box_seconds: Seconds in which a box is held, checks of the program included.
        source: Where the figures come from.
    """

    calls: float
    call_seconds: float
    prompt_tokens: float
    completion_tokens: float
    box_seconds: float
    source: str

    @property
    def tokens(self) -> float:
        """Tokens sent and received."""
        return self.prompt_tokens + self.completion_tokens


# CoSQA+ (412,080 pairs, $257 in all) with 740,000 calls and 330,000 executions. At GPT-4o-mini's
# prices, $0.15 and $0.60 a million tokens, these tokens cost $243.
PAPER_COST_PER_PAIR_USD = 257 / 412_080
BUILT_IN_EFFORT = PairEffort(
    calls=740_000 / 412_080,
    call_seconds=2.0,
    prompt_tokens=1_300 * 740_000 / 412_080,
    completion_tokens=220 * 740_000 / 412_080,
    box_seconds=0.1 * 330_000 / 412_080,
    source="built in: 1.8 calls of 2 s with 1,520 tokens and 0.8 executions of 0.1 s a pair, "
    "which the CoSQA+ paper's cost agrees with",
)


class Cluster(Record):
    """What pairs are judged on.

    Attributes:
        cores: Cores of all machines.
        in_flight: Requests to the language model that may be in flight at once, over all nodes.
        requests_per_minute: The provider's limit; 0 is none.
        tokens_per_minute: The provider's limit; 0 is none.
        batch: Whether requests go through the provider's batch API.
    """

    cores: int = Field(ge=1)
    in_flight: int = Field(64, ge=1)
    requests_per_minute: int = Field(0, ge=0)
    tokens_per_minute: int = Field(0, ge=0)
    batch: bool = False


class TokenPrice(Record):
    """A model's price: US dollars for a token sent and one received, and the share in batches."""

    model: str
    prompt_usd: float
    completion_usd: float
    batch_share: float = _BATCH_SHARE


def cost_of_pair(price: TokenPrice | None) -> tuple[float, str]:
    """Return the US dollars of one judgement, and how they were got.

    They are the model's price for the tokens that a pair takes, else the paper's mean.
    """
    if price is None:
        return PAPER_COST_PER_PAIR_USD, "the CoSQA+ paper's mean, with its model"
    used = BUILT_IN_EFFORT
    usd = used.prompt_tokens * price.prompt_usd + used.completion_tokens * price.completion_usd
    tokens = f"{used.prompt_tokens:,.0f} tokens sent and {used.completion_tokens:,.0f} received"
    return usd, f"litellm's price of {price.model} for {tokens}"


def seconds_of(judgements: float, effort: PairEffort, cluster: Cluster) -> float:
    """Return how long judgements take: as long as what bounds them most takes alone."""
    calls = judgements * effort.calls
    boxes = judgements * effort.box_seconds / cluster.cores
    processors = calls * _CPU_PER_CALL_S / cluster.cores
    if cluster.batch:
        steps = max(1, round(effort.calls + 1))  # the longest way of a pair, not the mean
        return max(boxes, processors, steps * _BATCH_STEP_S)
    of_model = [calls * effort.call_seconds / cluster.in_flight]
    if cluster.requests_per_minute:
        of_model.append(calls * 60 / cluster.requests_per_minute)
    if cluster.tokens_per_minute:
        of_model.append(judgements * effort.tokens * 60 / cluster.tokens_per_minute)
    return max(boxes, processors, *of_model)


ANY_PATH = ""  # the path of a pair that was not judged before
_ENOUGH = 20  # pairs of a path, for its own figures
_QUANTILE = 0.975
_START_S = 10.0  # of Ray and its judges, cold (`bench_orchestration`)


class Spread(Record):
    """Mean and variance of a quantity over pairs."""

    mean: float
    variance: float


class PathEffort(Record):
    """What pairs took that met the same agents.

    Attributes:
        met: These agents; `ANY_PATH` for all pairs together.
        pairs: How many were judged.
        requests: Requests to the model.
        tokens: Tokens sent and received.
        seconds: Seconds from a pair's start to its end.
        box_seconds: Seconds of executions.
        usd: US dollars, as if no reply had been kept; None is unknown.
    """

    met: str
    pairs: int
    requests: Spread
    tokens: Spread
    seconds: Spread
    box_seconds: Spread
    usd: Spread | None = None


class Amount(Record):
    """An expected amount, and the interval that holds it in 95 of 100 cases, None if unknown."""

    expected: float
    low: float | None = None
    high: float | None = None

    def scaled(self, factor: float) -> "Amount":
        """Return the amount times a factor."""
        ends = (None if end is None else end * factor for end in (self.low, self.high))
        low, high = ends
        return Amount(expected=self.expected * factor, low=low, high=high)


class Expected(Record):
    """What pairs are expected to take; dollars None are unknown."""

    requests: Amount
    tokens: Amount
    usd: Amount | None
    minutes: Amount


class History(Record):
    """What is known of the effort of pairs.

    Attributes:
        paths: The paths that have pairs, `ANY_PATH` among them; empty without any.
        price: The model's price; None is unknown.
        basis: Where the figures come from.
        free: Whether the model costs nothing.
        batch_share: By batches, their share of the usual price.
    """

    paths: Mapping[str, PathEffort]
    price: TokenPrice | None
    basis: str
    free: bool = False
    batch_share: float = 1.0


def sum_of(parts: Sequence[Expected]) -> Expected:
    """Return what is expected of parts that follow one another, such as the judges of a run.

    Their ends are added: what takes one of them longer than expected may hold for all.

    Args:
        parts: One or more.
    """
    dollars = [part.usd for part in parts]
    return Expected(
        requests=_added([part.requests for part in parts]),
        tokens=_added([part.tokens for part in parts]),
        usd=None if None in dollars else _added([usd for usd in dollars if usd]),
        minutes=_added([part.minutes for part in parts]),
    )


def _added(amounts: Sequence[Amount]) -> Amount:
    lows, highs = [item.low for item in amounts], [item.high for item in amounts]
    return Amount(
        expected=sum(item.expected for item in amounts),
        low=None if None in lows else sum(low or 0.0 for low in lows),
        high=None if None in highs else sum(high or 0.0 for high in highs),
    )


def expected_effort(pairs: Mapping[str, float], history: History, cluster: Cluster) -> Expected:
    """Return what so many pairs of each path are expected to take.

    Args:
        pairs: Path → number of pairs, `ANY_PATH` for new ones.
        history: Pairs judged before.
        cluster: Requests in flight, cores for boxes, the provider's limits.
    """
    known = history.paths.get(ANY_PATH)
    if known is None:
        return _built_in(pairs, history, cluster)
    strata = _strata(pairs, history.paths)
    requests = _total((path.requests, path.pairs, n) for path, n in strata)
    tokens = _total((path.tokens, path.pairs, n) for path, n in strata)
    seconds = _total((path.seconds, path.pairs, n) for path, n in strata)
    boxes = _total((path.box_seconds, path.pairs, n) for path, n in strata)
    return Expected(
        requests=requests,
        tokens=tokens,
        usd=_dollars(strata, sum(pairs.values()), history),
        minutes=_minutes(
            requests, tokens, seconds, boxes, cluster, _least_s(pairs, known.seconds.mean)
        ),
    )


def _strata(
    pairs: Mapping[str, float], paths: Mapping[str, PathEffort]
) -> list[tuple[PathEffort, float]]:
    """Return how many pairs take the figures of which path: of one that is known well enough."""
    numbers: defaultdict[str, float] = defaultdict(float)
    for met, number in pairs.items():
        own = paths.get(met)
        numbers[met if own and own.pairs >= _ENOUGH else ANY_PATH] += number
    return [(paths[met], number) for met, number in numbers.items()]


def _total(parts: Iterable[tuple[Spread, int, float]]) -> Amount:
    """Return the sum over new pairs of each part with its 95% prediction interval.

    The variance of a sum of n new values of a part is n s², and its mean, known from m values, is
    off by n² s²/m. One value alone says nothing of the variance: it is taken as large as the mean.

    Args:
        parts: Mean and variance of a part, from how many pairs, and for how many new pairs.
    """
    expected = variance = 0.0
    seen = 0
    for spread, known, number in parts:
        of_one = spread.variance if known > 1 else spread.mean**2
        expected += number * spread.mean
        variance += number * of_one + number**2 * of_one / known
        seen += known
    from scipy.special import stdtrit  # noqa: PLC0415 - takes most of a second to import

    half = float(stdtrit(max(1, seen - 1), _QUANTILE)) * sqrt(variance)
    return Amount(expected=expected, low=max(0.0, expected - half), high=expected + half)


def _dollars(
    strata: Iterable[tuple[PathEffort, float]], pairs: float, history: History
) -> Amount | None:
    if history.free:
        return Amount(expected=0.0, low=0.0, high=0.0)
    priced = [(path.usd, path.pairs, number) for path, number in strata]
    if any(usd is None for usd, _, _ in priced):
        usd, _ = cost_of_pair(history.price)
        return Amount(expected=usd * pairs * history.batch_share)
    total = _total((usd, known, number) for usd, known, number in priced if usd)
    return total.scaled(history.batch_share)


def _minutes(
    requests: Amount, tokens: Amount, seconds: Amount, boxes: Amount, cluster: Cluster, least: float
) -> Amount:
    """Return the minutes of whatever takes longest; the interval is that of the pairs' seconds."""
    asked = max(requests.expected, 1e-9)
    effort = PairEffort(
        calls=requests.expected,
        call_seconds=seconds.expected / asked,
        prompt_tokens=tokens.expected,
        completion_tokens=0.0,
        box_seconds=boxes.expected,
        source="",
    )
    minutes = max(least, seconds_of(1, effort, cluster)) / 60
    if not seconds.expected or seconds.low is None or seconds.high is None:
        return Amount(expected=minutes)
    return Amount(
        expected=minutes,
        low=max(least / 60, minutes * seconds.low / seconds.expected),
        high=minutes * seconds.high / seconds.expected,
    )


def _least_s(pairs: Mapping[str, float], of_one_s: float) -> float:
    """Return the seconds of a run's start and of one pair, which no run is shorter than."""
    return _START_S + of_one_s if any(pairs.values()) else 0.0


def _built_in(pairs: Mapping[str, float], history: History, cluster: Cluster) -> Expected:
    effort, number = BUILT_IN_EFFORT, sum(pairs.values())
    least = _least_s(pairs, effort.calls * effort.call_seconds)
    usd = 0.0 if history.free else cost_of_pair(history.price)[0] * history.batch_share
    return Expected(
        requests=Amount(expected=number * effort.calls),
        tokens=Amount(expected=number * effort.tokens),
        usd=Amount(expected=number * usd),
        minutes=Amount(expected=max(least, seconds_of(number, effort, cluster)) / 60),
    )
