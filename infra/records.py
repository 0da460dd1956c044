"""Records that travel between the stages: frozen, validated when made, equal by value.

They hold values only: no connection, no path to be opened, no method that does work.
"""

import unicodedata
from typing import ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from infra.identity import CodeId, PairKey, QueryId, RecipeId, digest
from infra.languages import language_named, plain_lines

MOST_CASES = 100  # tests of a program whose outcomes are kept


class Record(BaseModel):
    """Base of all records.

    Attributes:
        added: Later fields, which digests pass over where they are empty.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    added: ClassVar[frozenset[str]] = frozenset()


def normalise_query(text: str) -> str:
    """Return a query with white space folded, and each letter in Unicode's composed form.

    So an umlaut of one character and one of two, as macOS writes it, are one; case is kept.
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def caseless(text: str) -> str:
    """Return the text that equal queries share: normalised, capitals aside."""
    return normalise_query(normalise_query(text).casefold())


def normalise_code(text: str, language: str = "") -> str:
    """Return code without the blanks that mean nothing in its language (`Language.normalised`).

    Of a language that is unknown here only line ends and empty lines around it are known to.
    """
    known = language_named(language)
    return known.normalised(text) if known else plain_lines(text)


def query_id_of(text: str) -> QueryId:
    """Return the id of a query's text, whatever its white space."""
    return _query_id(normalise_query(text))


def code_id_of(text: str, language: str = "") -> CodeId:
    """Return the id of a code's text, whatever its line ends and meaningless white space."""
    return _code_id(normalise_code(text, language))


def _query_id(normal: str) -> QueryId:
    return QueryId(f"q{digest('query', normal)}")


def _code_id(normal: str) -> CodeId:
    return CodeId(f"c{digest('code', normal)}")


class Query(Record):
    """A query: ``origin`` is ``file:line`` or the source's own id, ``split`` the source's split."""

    added = frozenset({"split"})

    query_id: QueryId
    text: str = Field(min_length=1)
    origin: str = ""
    split: str = ""

    @classmethod
    def of(cls, text: str, origin: str = "", split: str = "") -> Self:
        """Return the query with its content-derived id; empty text is a ``ValueError``."""
        text = normalise_query(text)
        if not text:
            raise ValueError("the query is empty")
        return cls(query_id=_query_id(text), text=text, origin=origin, split=split)


class Code(Record):
    """A piece of code, mostly a function; lines count from 1, and 0 is unknown.

    ``licence`` is SPDX's name, "unknown", or "" where the licence of the whole source covers it.
    """

    added = frozenset({"source", "language", "licence", "url", "split"})

    code_id: CodeId
    text: str = Field(min_length=1)
    name: str = ""
    module: str = ""
    first_line: int = 0
    last_line: int = 0
    documentation: str = ""
    parameters: tuple[str, ...] = ()
    origin: str = ""
    source: str = ""
    language: str = ""
    licence: str = ""
    url: str = ""
    split: str = ""

    @classmethod
    def of(cls, text: str, **fields: object) -> Self:
        """Return the function with its content-derived id; empty text is a ``ValueError``."""
        text = normalise_code(text, str(fields.get("language") or ""))
        if not text:
            raise ValueError("the code is empty")
        return cls.model_validate({**fields, "text": text, "code_id": _code_id(text)})


class OfPair(Record):
    """A record about a pair."""

    query_id: QueryId
    code_id: CodeId

    @property
    def key(self) -> PairKey:
        """Ids of query and code."""
        return PairKey(self.query_id, self.code_id)


class Label(OfPair):
    """The relevance of a pair by one origin: annotators, documentation or a recipe of agents.

    ``note`` is what the annotators of a source wrote beside it, mostly "".
    """

    added = frozenset({"note"})

    origin: str
    relevance: float
    note: str = ""


class SourceInfo(Record):
    """Where a collection comes from, and its licence."""

    name: str
    licence: str
    revision: str
    location: str


class Candidate(OfPair):
    """A code among the best that the encoders rank for a query (rank 1 is the best)."""

    rank: int = Field(ge=1)
    similarity: float
    by_encoder: dict[str, float]


class Pair(Record):
    """A query and a code, of which the agents judge whether it answers the query."""

    query: Query
    code: Code

    @property
    def key(self) -> PairKey:
        """Ids of query and code."""
        return PairKey(self.query.query_id, self.code.code_id)


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


class CaseResult(Record):
    """The end of one test of a program: a ``test*`` function or a method of a test case.

    Its name has the class's before a full stop. The entry named as the program's file is the
    program's own call of its tests, where that failed.
    """

    name: str = Field(max_length=200)
    outcome: Literal["passed", "assertion_failed", "raised", "import_error", "memory"]
    error_type: str = Field("", max_length=200)
    message: str = Field("", max_length=600)
    traceback: str = Field("", max_length=1_500)


class ExecutionResult(Record):
    """The end of a program in a box, as the harness saw it, not as printed text says.

    After a test that fails, the others are run all the same. Then the whole has the outcome of its
    gravest failure, which the fields about the error describe: ``memory``, then ``import_error``,
    since what is missing can be installed, then ``assertion_failed``, then ``raised``; of equal
    ones the first.

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
        tests: The outcome of each test, in the order of the program, of the first hundred; empty
            where the program failed before its tests or was cut off.
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
    # At the first fault no further one is looked for: a report may be a stranger's.
    tests: tuple[CaseResult, ...] = Field((), max_length=MOST_CASES, fail_fast=True)


class MutantRun(Record):
    """A test program's run against a mutant: the code under test with one mistake.

    It is ``assertion_failed`` too where the mutant's value made a line of the program itself raise.
    """

    added: ClassVar[frozenset[str]] = frozenset({"line"})

    change: str
    outcome: Outcome
    line: int = 0  # of the mistake; 0 where it is not known


class OracleReport(Record):
    """The gates' findings in a test program that ran.

    Attributes:
        faults: Gate that the program failed → its fault.
        trials: Its runs against mutants (the name is that of the stored field); none where it
            failed a gate before, or fails on the code itself.
        protection: What kept the code under test from forging a program's success: ``separate``
            where it passes too with the code in a process of its own, ``shared`` where that cannot
            be done; "" where it was not tried.
        unprotected_because: Why it cannot be done, for ``shared``.
    """

    added: ClassVar[frozenset[str]] = frozenset({"protection", "unprotected_because"})

    faults: dict[str, str] = Field(default_factory=dict)
    trials: tuple[MutantRun, ...] = ()
    protection: Literal["", "separate", "shared"] = ""
    unprotected_because: str = Field("", max_length=500)

    @property
    def killed(self) -> int:
        """Number of mutants that failed an assertion."""
        return sum(run.outcome == "assertion_failed" for run in self.trials)

    @property
    def survivors(self) -> tuple[str, ...]:
        """The mistakes that the program did not notice."""
        return tuple(run.change for run in self.trials if run.outcome == "passed")

    @property
    def judged(self) -> int:
        """Number of mutants that ran to an end; one that raises or hangs dies to any call."""
        return self.killed + len(self.survivors)


class RepairStep(Record):
    """A terminal command or another repair by which a fixer tried to make a program executable."""

    command: str = Field(max_length=2_000)  # or the kind of repair and its content
    ok: bool
    output: str = Field("", max_length=4_000)  # its end, or why the repair was not done
    installed: tuple[str, ...] = ()  # requirements
    seconds: float = Field(0.0, ge=0, allow_inf_nan=False)


class Execution(Record):
    """One run of one test program for a pair; round 0 is the writer's own program.

    ``oracle`` is None where the gates are off or the program could not be run to its end.
    ``repairs`` is what was done between the program's run before and this one, and in vain after
    it where no further one came. ``beside`` has the imports and definitions that an agent put
    before the code, which lacks their names.
    """

    round: int = Field(ge=0)
    program: str
    beside: str = ""
    requirements: tuple[str, ...] = ()
    result: ExecutionResult
    oracle: OracleReport | None = None
    repairs: tuple[RepairStep, ...] = ()


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


Support = Literal[
    "screened", "valid_oracle", "overruled", "void_oracle", "ungated", "undecided"
]  # fmt: skip


class Vote(OfPair):
    """An annotator's statement about a pair.

    Attributes:
        recipe_id: The recipe of agents; "" of people.
        replicate: The labelling round of agents, from 1.
        kind: The ``first`` labelling round of agents or a further ``replicate``, the agents' answer
            to a ``gold`` question or that which is known to be right, or a ``person``'s.
        annotator: The person's name; "" where the votes' source names nobody.
    """

    recipe_id: RecipeId = RecipeId("")
    replicate: int = Field(1, ge=1)
    kind: Literal["first", "replicate", "gold", "person"] = "first"
    annotator: str = ""


# What a label 1 says: the code answers the whole query, or meets half of its demands.
Criterion = Literal["exact", "half"]
Difficulty = Literal["quality", "ambiguity", "project_specific", "direction_reversed"]
"""What makes a pair hard to grade: the code's quality, an ambiguous query, code of one library or
project, or the reverse of what was asked for (CodeSearchNet, arXiv 1909.09436v3, section 4)."""


class GivenVote(Vote):
    """A vote that came from outside: a person's, or the known answer to a gold question.

    Attributes:
        origin: Of which votes it is one, such as ``people:jsonl``.
        phase: ``blind``, or ``revised`` after the agents' evidence was seen; both are kept.
        relevance: From 0; None where the annotator was undecided.
        note: What the annotator wrote beside it.
        notes: What made the pair hard to grade.
        minutes: The time that it took; None where it was not told.
        program: The annotator's test program; "" without one.
        execution: How the program ended in a box; None where it was not run.
        place: Where it stands, as ``file:line``; not stored.
    """

    kind: Literal["gold", "person"] = "person"
    origin: str
    phase: Literal["blind", "revised"] = "blind"
    relevance: float | None
    note: str = ""
    notes: tuple[Difficulty, ...] = ()
    minutes: float | None = Field(None, ge=0, allow_inf_nan=False)
    program: str = ""
    execution: ExecutionResult | None = None
    place: str = ""


class Annotation(Vote):
    """The agents' label of a pair under a recipe, with all the evidence.

    The store sets ``replicate`` and ``kind``, which follow from recipe and pair.

    ``status`` is ``labelled`` (``label`` is 0 or 1), ``undecided`` (the agents finished without a
    judgement: ``label`` is None) or ``failed`` (the model or the box was out of reach: it will
    be judged again).
    ``path`` names the way through Algorithm 1, for counting.

    Attributes:
        language: The code's, by its registered name; not stored but in ``roles_asked``.
        support: What the label rests on: reading alone (``screened``), a test program that passed
            the gates and says what the label says (``valid_oracle``) or the contrary
            (``overruled``), one that failed them (``void_oracle``), agents that ran no gates
            (``ungated``); ``undecided`` without a label.
        judgements: How many independent judgements there were: each valid oracle's and the
            final one.
        agreeing: How many of them say what the label says.
    """

    recipe_id: RecipeId
    language: str = ""
    status: Literal["labelled", "undecided", "failed"]
    label: Literal[0, 1] | None = None
    decided_by: Literal["screener", "claims", "arbiter"] | None = None
    path: str
    reason: str = ""
    support: Support = "undecided"
    judgements: int = Field(0, ge=0)
    agreeing: int = Field(0, ge=0)
    calls: tuple[LanguageModelCall, ...] = ()
    executions: tuple[Execution, ...] = ()
    seconds: float = 0.0

    @property
    def roles_asked(self) -> str:
        """The agents asked, ``box`` if a program ran, and a language but Python, sorted."""
        parts = {call.role for call in self.calls} | ({"box"} if self.executions else set())
        return ",".join(sorted(parts | {self.language} - {"", "python"}))
