"""What judging one pair takes by built-in figures, what that costs, and what bounds its time."""

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
