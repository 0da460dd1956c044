"""Expected cost of judging pairs: the mean of pairs in this store, or a built-in figure."""

from collections.abc import Mapping, Sequence
from math import sqrt

from agents import prices_of
from infra.journal import Journal
from infra.settings import CommitteeSettings, Configuration, LanguageModelSettings
from infra.store import Database
from infra.store.figures import Mean, PairMeans, pair_means, recent_replies
from tasks.reports.plan import Amount, Expected
from tasks.reports.text import counted, format_pace
from tasks.statistics.intervals import Interval

_ENOUGH = 20  # judged pairs whose mean is taken
_QUANTILE = 1.96  # of the normal distribution, for 95%

# Requests of a pair. CoSQA+ took 740,000 for 412,080 pairs, four of ten of which got a test
# program; those of `spec` are the packaged sample's.
_REQUESTS: Mapping[Configuration, float] = {
    "single": 1.0, "arbiter": 1.4, "writer": 1.8, "executor": 1.8, "simulated": 2.2, "paper": 1.8,
    "spec": 1.5, "v1-exact": 1.0, "v1-half": 1.0,
}  # fmt: skip
# Tokens of a request. At GPT-4o-mini's prices CoSQA+ costs $243 by these; the paper says $257.
_SENT, _RECEIVED = 1_300, 220
_SIGNS = 3.7  # characters of a token of code and English


def expected_of(pairs: int, chosen: CommitteeSettings, database: Database) -> Expected:
    """Return the expected cost of pairs by the settings' model and configuration.

    The time is that of its replies one after the other as they came here, however many at once;
    where the journal does not know, that of pairs; it is unknown before there are any.
    """
    model, configuration = chosen.llm.model, chosen.annotation.configuration
    known = prices_of(chosen.llm)
    prices = (0.0, 0.0) if chosen.llm.is_recorded else known and (known.sent, known.received)
    means = pair_means(database, model, configuration, prices)
    minutes = None
    if means and means.pairs >= _ENOUGH:
        basis = (
            f"the mean of {counted(means.pairs, 'pairs')} that {model} judged here "
            f"({configuration}), with its 95% interval"
        )
        at_once = max(1, min(pairs, chosen.annotation.in_flight))
        minutes = _amount(pairs / at_once / 60, means.seconds, means.pairs)
    else:
        requests, basis = _REQUESTS[configuration], f"built in for {configuration}"
        usd = prices and requests * (_SENT * prices[0] + _RECEIVED * prices[1])
        means = PairMeans(
            pairs=0,
            tokens=Mean(mean=requests * (_SENT + _RECEIVED)),
            usd=None if usd is None else Mean(mean=usd),
            seconds=Mean(mean=0.0),
        )
    recent, keys = recent_replies(database, model, configuration)
    if recent and (reply_s := Journal(database.settings.journal).reply_s(keys)):
        minutes = Amount(expected=pairs * len(keys) / recent * reply_s / 60)
        basis += f"; time by the server's pace, {format_pace(60 / reply_s)} of its last replies"
    elif minutes is None and not chosen.llm.is_recorded:
        basis += "; the server's pace is not known before its first replies"
    return Expected(
        tokens=_amount(pairs, means.tokens, means.pairs),
        usd=means.usd and _amount(pairs, means.usd, means.pairs),
        minutes=minutes,
        basis=f"{basis}; {_price_source(chosen.llm)}",
    )


def expected_of_texts(texts: Sequence[str], received: int, llm: LanguageModelSettings) -> Expected:
    """Return the expected cost of a request for each text, whose reply has so many tokens."""
    sent, replies = sum(map(len, texts)) / _SIGNS, received * len(texts)
    prices = prices_of(llm)
    return Expected(
        tokens=Amount(expected=sent + replies),
        usd=prices and Amount(expected=sent * prices.sent + replies * prices.received),
        minutes=None,
        basis=f"by the texts' lengths; the server's pace is told after its first replies; "
        f"{_price_source(llm)}",
    )


def _price_source(llm: LanguageModelSettings) -> str:
    if llm.is_recorded:
        return "no provider is asked"
    if llm.usd_per_million_tokens:
        return "at the prices of COSQA_LLM__USD_PER_MILLION_TOKENS"
    is_known = prices_of(llm) is not None
    return f"litellm's price list has {'the' if is_known else 'no'} price of {llm.model}"


def _amount(factor: float, of_pair: Mean, known: int) -> Amount:
    """Return a multiple of a mean, with the normal interval of the mean of the known pairs."""
    expected = factor * of_pair.mean
    if not known:
        return Amount(expected=expected)
    half = factor * _QUANTILE * sqrt(of_pair.variance / known)
    return Amount(
        expected=expected,
        interval=Interval(expected, max(0.0, expected - half), expected + half),
    )
