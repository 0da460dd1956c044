"""The forecast of annotation: whichever of model, boxes and processors takes longest, and money."""

from infra.records import Record
from tasks.forecast.measurements import (
    BUILT_IN_EFFORT,
    PAPER_COST_PER_PAIR_USD,
    Measurements,
    PairEffort,
)
from tasks.forecast.stages import StageForecast, rows_gb
from tasks.forecast.workload import Cluster, Workload

_CPU_PER_CALL_S = 0.005  # of all processes, for a call's queueing, sending and storing
_BATCH_STEP_S = 24 * 3600.0  # that providers promise for a batch
_BATCH_SHARE = 0.5  # of the usual price, where that of the model is not known
_REPLY_BYTES = 900.0  # of a packed reply
_DRIVER_GB, _PER_REQUEST_GB = 1.2, 0.002


class TokenPrice(Record):
    """A model's price: US dollars for a token sent and one received, and the share in batches."""

    model: str
    prompt_usd: float
    completion_usd: float
    batch_share: float = _BATCH_SHARE


def cost_of_pair(effort: PairEffort | None, price: TokenPrice | None) -> tuple[float, str]:
    """Return the US dollars of one judgement, and how they were got.

    What was paid comes first, then the model's price for the tokens that a pair takes, then the
    paper's mean.
    """
    if effort and effort.cost_usd is not None:
        return effort.cost_usd, f"paid here for {effort.judgements:,} judgements"
    if price is None:
        return PAPER_COST_PER_PAIR_USD, "the CoSQA+ paper's mean, with its model"
    used = effort or BUILT_IN_EFFORT
    usd = used.prompt_tokens * price.prompt_usd + used.completion_tokens * price.completion_usd
    tokens = f"{used.prompt_tokens:,.0f} tokens sent and {used.completion_tokens:,.0f} received"
    return usd, f"litellm's price of {price.model} for {tokens}"


def annotate(
    workload: Workload,
    cluster: Cluster,
    known: Measurements,
    price: TokenPrice | None,
) -> StageForecast:
    """Return the forecast of judging all pairs, over all rounds.

    Args:
        workload: What is to be judged.
        cluster: What there is: requests in flight, boxes by cores, the provider's limits.
        known: What a judgement took in this store.
        price: The model's price; None is unknown.
    """
    effort = known.effort or BUILT_IN_EFFORT
    limits = bounds(workload.judgements, effort, cluster)
    limit = max(limits, key=lambda name: limits[name])
    usd, basis = cost_of_pair(known.effort, price)
    share = price.batch_share if price else _BATCH_SHARE
    if cluster.batch:
        usd, basis = usd * share, f"{basis}, times {share:g} by batches"
    replies_gb = workload.judgements * effort.calls * _REPLY_BYTES / 1e9
    return StageForecast(
        stage="annotate",
        work=f"{workload.judgements:,} judgements, {workload.judgements * effort.calls:,.0f} calls",
        seconds=limits[limit],
        memory_gb=_DRIVER_GB + cluster.in_flight * _PER_REQUEST_GB,
        disk_gb=rows_gb(known, judgement=workload.judgements) + replies_gb,
        cost_usd=usd * workload.judgements,
        rate=f"{effort.calls:.2f} calls of {effort.call_seconds:.1f} s, "
        f"{effort.tokens:,.0f} tokens, {effort.executions:.2f} executions a judgement",
        source=f"{effort.source}; cost: {basis}",
        measured=effort.judgements > 0,
        grows_with="judgements",
        limit=limit,
    )


def bounds(judgements: float, effort: PairEffort, cluster: Cluster) -> dict[str, float]:
    """Return what could bound annotation → the seconds that it takes alone."""
    calls = judgements * effort.calls
    found = {
        "boxes": judgements * effort.box_seconds / cluster.all_cores,
        "processors": calls * _CPU_PER_CALL_S / cluster.all_cores,
    }
    if cluster.batch:
        steps = max(1, round(effort.calls + 1))  # the longest way of a pair, not the mean
        return found | {"batches, a day each at most": steps * _BATCH_STEP_S}
    found[f"{cluster.in_flight} requests in flight"] = (
        calls * effort.call_seconds / cluster.in_flight
    )
    if cluster.requests_per_minute:
        found["the provider's requests a minute"] = calls * 60 / cluster.requests_per_minute
    if cluster.tokens_per_minute:
        tokens = judgements * effort.tokens
        found["the provider's tokens a minute"] = tokens * 60 / cluster.tokens_per_minute
    return found
