"""What a store has measured that forecasts use: runs of stages, judged pairs, sizes of rows."""

from pydantic import Field

from infra.records import Record
from tasks.forecast.rates import Work


class PairEffort(Record):
    """What one judgement takes, on average.

    Attributes:
        calls: Requests to the language model.
        call_seconds: Seconds of one.
        prompt_tokens: Tokens sent.
        completion_tokens: Tokens received.
        executions: Runs of a test program.
        box_seconds: Seconds in which a box is held, checks of the program included.
        cost_usd: US dollars; None is unknown.
        judgements: How many were measured; 0 where this is built in.
        source: Where the figures come from.
    """

    calls: float
    call_seconds: float
    prompt_tokens: float
    completion_tokens: float
    executions: float
    box_seconds: float
    cost_usd: float | None = None
    judgements: int = 0
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
    executions=330_000 / 412_080,
    box_seconds=0.1 * 330_000 / 412_080,
    source="built in: 1.8 calls of 2 s with 1,520 tokens and 0.8 executions of 0.1 s a pair, "
    "which the CoSQA+ paper's cost agrees with",
)

# Bytes of a row in the store's tables, with its share of the indexes, as a made-up store has them:
# functions of 787 characters, replies of 495, programs of 1,258. A judgement is one with its calls
# and executions.
BUILT_IN_ROWS = {
    "code": 760.0,
    "query": 200.0,
    "candidate": 110.0,
    "judgement": 1_500.0,
    "score": 60.0,
}


class Measurements(Record):
    """Everything that a store has measured; without a store nothing.

    Attributes:
        runs: Runs of stages.
        effort: What a judgement took, of the model that is asked about; None without one.
        row_bytes: Row → bytes in the database, of tables that are large enough to tell.
    """

    runs: tuple[Work, ...] = ()
    effort: PairEffort | None = None
    row_bytes: dict[str, float] = Field(default_factory=dict)

    def peak_memory_gb(self, kind: str) -> tuple[float, float] | None:
        """Return (work, gigabytes) of the kind's largest run, None where none is known."""
        known = [run for run in self.runs if run.kind == kind and run.memory_mb is not None]
        if not known:
            return None
        largest = max(known, key=lambda run: run.amount)
        return largest.amount, (largest.memory_mb or 0.0) / 1000
