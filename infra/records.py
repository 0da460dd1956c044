"""Records that travel between the stages: frozen, validated when made, equal by value.

They hold values only: no connection, no path to be opened, no method that does work.
"""

from typing import Literal, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator

from infra.identity import digest
from infra.ids import CodeId, PairKey, QueryId, RecipeId


def normalise_query(text: str) -> str:
    """Return a query with white space folded and its ends trimmed; case is kept."""
    return " ".join(text.split())


def normalise_code(text: str) -> str:
    """Return code with Unix line ends, no trailing white space and no empty lines around it."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return "\n".join(lines).strip("\n")


class Record(BaseModel):
    """Base of all records."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Query(Record):
    """A query; ``origin`` says where it comes from, as ``file:line`` or the source's own id."""

    query_id: QueryId
    text: str = Field(min_length=1)
    origin: str = ""

    @classmethod
    def of(cls, text: str, origin: str = "") -> Self:
        """Return the query with its content-derived id; empty text is a ``ValueError``."""
        text = normalise_query(text)
        if not text:
            raise ValueError("the query is empty")
        return cls(query_id=QueryId(f"q{digest('query', text)}"), text=text, origin=origin)


class Code(Record):
    """A function: its text, and where it comes from.

    ``documentation`` is the docstring as Python cleans it, "" where there is none. Lines count
    from 1; 0 means unknown.
    """

    code_id: CodeId
    text: str = Field(min_length=1)
    name: str = ""
    module: str = ""
    first_line: int = 0
    last_line: int = 0
    documentation: str = ""
    parameters: tuple[str, ...] = ()
    origin: str = ""

    @classmethod
    def of(cls, text: str, **fields: object) -> Self:
        """Return the function with its content-derived id; empty text is a ``ValueError``."""
        text = normalise_code(text)
        if not text:
            raise ValueError("the code is empty")
        identity = f"c{digest('code', text)}"
        return cls.model_validate({**fields, "text": text, "code_id": identity})


class Label(Record):
    """The relevance of a pair by one origin: annotators, documentation or a recipe of agents."""

    query_id: QueryId
    code_id: CodeId
    origin: str
    relevance: float
    demo: bool = False

    @property
    def key(self) -> PairKey:
        """Ids of query and code."""
        return PairKey(self.query_id, self.code_id)


class SourceInfo(Record):
    """Where a collection comes from, and its licence."""

    name: str
    licence: str
    revision: str
    location: str


class Collected(Record):
    """The content of a collection: queries, codes, labels, and how many items each rule dropped."""

    info: SourceInfo
    queries: tuple[Query, ...] = ()
    codes: tuple[Code, ...] = ()
    labels: tuple[Label, ...] = ()
    dropped: dict[str, int] = Field(default_factory=dict)


class Candidate(Record):
    """A code among the best that the encoders rank for a query (rank 1 is the best)."""

    query_id: QueryId
    code_id: CodeId
    rank: int = Field(ge=1)
    similarity: float
    by_encoder: dict[str, float]

    @property
    def key(self) -> PairKey:
        """Ids of query and code."""
        return PairKey(self.query_id, self.code_id)


class Pair(Record):
    """A query and a code, of which the agents judge whether it answers the query."""

    query: Query
    code: Code

    @property
    def key(self) -> PairKey:
        """Ids of query and code."""
        return PairKey(self.query.query_id, self.code.code_id)


class LanguageModelCall(Record):
    """One request to a language model with its reply or error.

    ``role`` is the agent's. ``cost_usd`` and the token counts are None where the provider did not
    say. ``cached`` says that the reply came from the cache and cost nothing this time.
    """

    role: str
    attempt: int = Field(ge=1)
    model: str
    prompt_digest: str
    status: Literal["ok", "unreadable", "unavailable", "refused"]
    reply: str = ""
    error: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    seconds: float = 0.0
    cached: bool = False


Outcome = Literal[
    "passed",
    "assertion_failed",
    "raised",
    "import_error",
    "timeout",
    "memory",
    "output_limit",
    "killed",
]


class ExecutionResult(Record):
    """How a program ended in a box, as the harness saw it, not as printed text says.

    Attributes:
        outcome: ``passed`` needs an intact report from the runner: the program ran to its end and
            nothing was raised. ``killed`` covers every end without a report.
        error_type: Name of the exception's type, for ``raised`` and the like.
        message: The exception's message, or what ended the program.
        missing_module: The top-level module of an ``import_error``.
        seconds: Wall time inside the box.
        peak_memory_mb: Highest resident size, or None where unknown.
        tests_run: ``test*`` functions that were called; None, as the two below, for a simulated
            run.
        asserts_executed: Assert statements reached, whether they held or not.
        target_calls: Calls of functions of the code under test.
    """

    outcome: Outcome
    error_type: str = Field("", max_length=500)
    message: str = Field("", max_length=10_000)
    missing_module: str = Field("", max_length=500)
    seconds: float = Field(0.0, ge=0, allow_inf_nan=False)
    peak_memory_mb: float | None = Field(None, ge=0, allow_inf_nan=False)
    stdout: str = ""
    stderr: str = ""
    tests_run: int | None = Field(0, ge=0, lt=2**31)
    asserts_executed: int | None = Field(0, ge=0, lt=2**31)
    target_calls: int | None = Field(0, ge=0, lt=2**31)


class MutantRun(Record):
    """A test program's run against a mutant: the code under test with one mistake."""

    change: str
    outcome: Outcome


class OracleReport(Record):
    """What the gates found in a test program that ran.

    Attributes:
        faults: Gate that the program failed → what is wrong with it.
        trials: Its runs against mutants (the name is that of the stored field); none where it
            failed a gate before, or fails on the code itself.
    """

    faults: dict[str, str] = Field(default_factory=dict)
    trials: tuple[MutantRun, ...] = ()

    @property
    def killed(self) -> int:
        """How many mutants failed an assertion."""
        return sum(run.outcome == "assertion_failed" for run in self.trials)

    @property
    def survivors(self) -> tuple[str, ...]:
        """The mistakes that the program did not notice."""
        return tuple(run.change for run in self.trials if run.outcome == "passed")

    @property
    def judged(self) -> int:
        """How many mutants ran to an end; one that raises or hangs dies to any call."""
        return self.killed + len(self.survivors)

    @property
    def mutation_score(self) -> float | None:
        """Share of killed mutants among those that ran to an end, None without any."""
        return self.killed / self.judged if self.judged else None


class Execution(Record):
    """One run of one test program for a pair; round 0 is the writer's own program.

    ``oracle`` is None where the gates are off or the program could not be run to its end.
    """

    round: int = Field(ge=0)
    program: str
    requirements: tuple[str, ...] = ()
    result: ExecutionResult
    oracle: OracleReport | None = None


Support = Literal["screened", "valid_oracle", "void_oracle", "ungated", "undecided"]


class Annotation(Record):
    """The agents' label of a pair under a recipe, with all the evidence.

    ``status`` is ``labelled`` (``label`` is 0 or 1), ``undecided`` (the agents finished without a
    judgement: ``label`` is None) or ``failed`` (the model or the box was out of reach: it will
    be judged again). ``path`` names the way through Algorithm 1, for counting.

    Attributes:
        support: What the label rests on: reading alone (``screened``), a test program that passed
            the gates (``valid_oracle``) or failed them (``void_oracle``), agents that ran no gates
            (``ungated``); ``undecided`` without a label. Stored and exported as ``grade``.
        judgements: How many independent judgements there were: each valid oracle's and the
            final one.
        agreeing: How many of them say what the label says.
    """

    query_id: QueryId
    code_id: CodeId
    recipe_id: RecipeId
    status: Literal["labelled", "undecided", "failed"]
    label: Literal[0, 1] | None = None
    decided_by: Literal["screener", "arbiter"] | None = None
    path: str
    reason: str = ""
    demo: bool = False
    support: Support = Field(
        "undecided",
        validation_alias=AliasChoices("support", "grade"),
        serialization_alias="grade",
    )
    judgements: int = Field(0, ge=0)
    agreeing: int = Field(0, ge=0)
    calls: tuple[LanguageModelCall, ...] = ()
    executions: tuple[Execution, ...] = ()
    seconds: float = 0.0

    @property
    def key(self) -> PairKey:
        """Ids of query and code."""
        return PairKey(self.query_id, self.code_id)

    @field_validator("label")
    @classmethod
    def _is_binary(cls, value: int | None) -> int | None:
        if value not in (0, 1, None):
            raise ValueError("a label is 0 or 1; undecided is a status")
        return value
