"""What a run over pending pairs is expected to take, by the store's history or built-in figures."""

from collections.abc import Mapping

from agents import token_prices
from agents.committee.configurations import OF_QUERIES
from agents.llm.batch.files import batch_share
from infra.machine import usable_cores
from infra.settings import Settings
from infra.store import Database
from infra.store.figures import PathFigures, Prices, path_figures
from tasks.statistics.forecast import (
    ANY_PATH,
    BUILT_IN_EFFORT,
    Cluster,
    Expected,
    History,
    PathEffort,
    Spread,
    TokenPrice,
    cost_of_pair,
    expected_effort,
)

NOTHING = History(paths={}, price=None, basis="nothing is to be judged", free=True)


def price_of(model: str) -> TokenPrice | None:
    """Return a model's price by litellm's table, None where that has none."""
    prices = token_prices(model)
    if prices is None:
        return None
    share = batch_share(model).share
    return TokenPrice(
        model=model, prompt_usd=prices[0], completion_usd=prices[1], batch_share=share
    )


def history_of(database: Database | None, settings: Settings) -> History:
    """Return what is known of the effort of pairs: by this model, else by others at its price.

    Without a store nothing is.
    """
    model, free = settings.llm.model, settings.llm.is_recorded
    price = None if free else price_of(model)
    prices = Prices(**price.model_dump(exclude={"model"})) if price else Prices()
    found = path_figures(database, model, prices, OF_QUERIES) if database else []
    whose = f"by {model}"
    if database and not found and not free:
        by_tokens = prices.model_copy(update={"of_tokens": True})
        of_others = path_figures(database, None, by_tokens, OF_QUERIES)
        found, whose = of_others, f"by other models, at the price of {model}"
    paths = {item.met: _effort(item) for item in found}
    share = batch_share(model).share if settings.annotation.batch and not free else 1.0
    return History(
        paths=paths,
        price=price,
        basis=_basis(paths.get(ANY_PATH), whose, price, free=free)
        + (f", times {share:g} for batches" if share < 1 else ""),
        free=free,
        batch_share=share,
    )


def expected_of(
    paths: Mapping[str, float], history: History, settings: Settings, cores: int | None = None
) -> Expected:
    """Return what so many pairs of each path are expected to take by the settings' limits.

    Args:
        paths: Path → number of pairs.
        history: What is known of their effort.
        settings: Pairs in flight, batches, the provider's limits.
        cores: Those of all machines; None is this one.
    """
    cluster = Cluster(
        cores=cores or usable_cores(),
        in_flight=settings.annotation.in_flight,
        requests_per_minute=settings.llm.requests_per_minute,
        tokens_per_minute=settings.llm.tokens_per_minute,
        batch=settings.annotation.batch,
    )
    return expected_effort(paths, history, cluster)


def cost_of_reason(
    paths: Mapping[str, float], history: History, settings: Settings
) -> float | None:
    """Return the expected US dollars of one of these pairs, None if unknown or nothing."""
    number = sum(paths.values())
    usd = expected_of(paths, history, settings).usd if number else None
    return usd.expected / number if usd else None


def at_most(basis: str, settings: Settings) -> str:
    """Return where figures come from, and that fewer pairs may be judged where judges escalate."""
    if len(settings.by_judge) < 2 or settings.annotation.escalation == "vote":
        return basis
    return f"{basis}; at most, since further judges get pairs in doubt alone"


def _effort(item: PathFigures) -> PathEffort:
    spreads = {
        name: None if figure is None else Spread(mean=figure[0], variance=figure[1])
        for name, figure in item.figures.items()
    }
    return PathEffort.model_validate({"met": item.met, "pairs": item.pairs, **spreads})


def _basis(known: PathEffort | None, whose: str, price: TokenPrice | None, *, free: bool) -> str:
    """Return where the figures come from, in words."""
    if known is None:
        cost = "no provider is asked" if free else cost_of_pair(price)[1]
        return f"{BUILT_IN_EFFORT.source}; cost: {cost}"
    measured = (
        f"measured here: {known.pairs:,} pairs judged {whose}, those that took the same path where "
        "there are enough; with 95% prediction intervals"
    )
    if free:
        return f"{measured}; no provider is asked"
    return measured if known.usd else f"{measured}; cost: {cost_of_pair(price)[1]}"
