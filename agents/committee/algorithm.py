"""Algorithm 1 of CoSQA+ for one pair: the order of the agents, and the label that follows."""

import time
from collections.abc import Sequence
from typing import Literal

from agents.committee.configurations import Configuration
from agents.committee.paths import AnnotationPath, path_of
from agents.committee.specified import ClaimEvidence, ClaimTester, label_by
from agents.committee.tester import Tester
from agents.committee.trace import Trace
from agents.evidence import Attempt, Draft, RunEvidence
from agents.gates.beside import usable
from agents.llm.client import ReportingModel
from agents.roles.base import Judgement
from agents.roles.judge import QueryArbiter, is_confirmed
from agents.roles.read import Screener, Screening, Simulator, StepwiseJudgement
from agents.roles.specify import ClaimsArbiter, SpecifiedScreener, SpecifiedScreening, Specifier
from infra.errors import (
    ModelUnavailableError,
    PromptDeclinedError,
    SandboxError,
    UnreadableReplyError,
)
from infra.languages import Language
from infra.languages.python.syntax import parse_or_none
from infra.records import Annotation, Pair, Record, Support

_LABELS: dict[str, Literal[0, 1]] = {"clear_match": 1, "clear_non_match": 0}


class _Decision(Record):
    """The part of an annotation that the algorithm decides; fields as in ``Annotation``."""

    status: Literal["labelled", "undecided", "failed"]
    path: AnnotationPath
    reason: str
    label: Literal[0, 1] | None = None
    decided_by: Literal["screener", "claims", "arbiter"] | None = None
    support: Support = "undecided"
    judgements: int = 0
    agreeing: int = 0


class Committee:
    """The agents of one configuration, which judge pairs, any number at once.

    Args:
        configuration: Which agents take part.
        tester: Runs the test programs of unclear pairs.
        claim_tester: Runs the claims of a query's specification.
        language: The language of the code.
        model: The language model of the agents; closed with the committee.
        recipe_id: Goes into every annotation.
    """

    def __init__(
        self,
        *,
        configuration: Configuration,
        tester: Tester,
        claim_tester: ClaimTester,
        language: Language,
        model: ReportingModel,
        recipe_id: str,
    ) -> None:
        self._configuration = configuration
        self._tester = tester
        self._claim_tester = claim_tester
        self._language = language
        self._model = model
        self._recipe_id = recipe_id

    async def judge(self, pair: Pair) -> Annotation:
        """Return the annotation with all calls and executions, also when judging ends early.

        Raises:
            ModelRefusedError: The provider refuses every request: the run must stop.
            BudgetExhaustedError: The budget is spent: the run must stop.
        """
        started = time.monotonic()
        trace = Trace(self._model)
        decision = await self._decide(pair, trace)
        return Annotation(
            query_id=pair.query.query_id,
            code_id=pair.code.code_id,
            recipe_id=self._recipe_id,
            calls=tuple(trace.calls),
            executions=tuple(trace.executions),
            seconds=time.monotonic() - started,
            **decision.model_dump(mode="json"),
        )

    async def close(self) -> None:
        """Close the model's connections."""
        await self._model.close()

    async def _decide(self, pair: Pair, trace: Trace) -> _Decision:
        """Return the label, or why there is none."""
        try:
            return await self._judge(pair, trace)
        except UnreadableReplyError as error:
            return _undecided(AnnotationPath.UNREADABLE_REPLY, error)
        except PromptDeclinedError as error:
            return _undecided(AnnotationPath.PROMPT_DECLINED, error)
        except ModelUnavailableError as error:
            return _failed(AnnotationPath.MODEL_UNAVAILABLE, error)
        except SandboxError as error:
            return _failed(AnnotationPath.SANDBOX_UNAVAILABLE, error)

    async def _judge(self, pair: Pair, trace: Trace) -> _Decision:
        if self._configuration.specification:
            text = self._language.translated(pair.code.text)
            code = pair.code.model_copy(update={"text": text})
            decision = await self._judge_by_claims(pair.model_copy(update={"code": code}), trace)
            if text == pair.code.text:
                return decision
            reason = f"as translated to Python 3: {decision.reason}"
            return decision.model_copy(update={"reason": reason})
        if not self._configuration.screens:
            return await self._judge_by_program(pair, trace, read=AnnotationPath.READ_ALONE)
        screening = await Screener(trace.model).screen(pair)
        if self._configuration.wants_program(screening.verdict):
            return await self._judge_by_program(pair, trace, screening)
        return _screened(screening)

    async def _judge_by_claims(self, pair: Pair, trace: Trace) -> _Decision:
        """Return the label by reading and running against the query's specification."""
        specification = await Specifier(trace.model).specify(pair.query)
        screener = SpecifiedScreener(trace.model)
        screening = await screener.screen(pair, specification)
        verdict = screening.verdict
        evidence = await self._claim_tester.test(pair, specification, screening, trace)
        if evidence.is_at_fault and verdict != "clear_non_match":
            screening = await screener.mend(pair, specification, screening, evidence.problem)
            evidence = await self._claim_tester.test(pair, specification, screening, trace)
        label = label_by(evidence, verdict)
        if label is not None:
            return _by_claims(label, screening, evidence)
        is_disputed = evidence.speaks_for or bool(evidence.confirmed)
        wants_program = self._configuration.wants_program(verdict)
        if not is_disputed and wants_program and parse_or_none(pair.code.text):
            told = specification.section(trace.model.code_limit)
            with trace.model.telling(told):
                return await self._judge_by_program(pair, trace, screening, evidence.problem)
        if not is_disputed and verdict in _LABELS:
            return _screened(screening)
        runs = (*evidence.runs, *evidence.unsettled)
        judgement = await ClaimsArbiter(trace.model).judge(
            pair, specification, screening, runs, evidence.read, evidence.problem
        )
        if is_disputed:
            return _disputed(judgement, evidence)
        return _labelled(judgement, AnnotationPath.UNCLEAR_READ)

    async def _judge_by_program(
        self,
        pair: Pair,
        trace: Trace,
        screening: Screening | SpecifiedScreening | None = None,
        problem: str = "",
        read: AnnotationPath = AnnotationPath.UNCLEAR_READ,
    ) -> _Decision:
        """Return the label by a test program, without an arbiter where a sure reading stands.

        It does where a valid program agrees, and where none is evidence.

        Args:
            pair: The pair.
            trace: Gets calls and executions.
            screening: The first reading, if there was one.
            problem: Why no example of the specification is evidence.
            read: The path where no program is written.
        """
        if not self._configuration.writer:
            return _labelled(await self._configuration.judge(trace.model).read(pair), read)
        beside = usable(getattr(screening, "beside", ""), pair.code.text)
        draft = await self._configuration.writer_type(trace.model).write(pair, beside, problem)
        attempts = await self._attempts(pair, draft, trace)
        path, gates = path_of(attempts[-1]), self._configuration.gates
        verdict = screening.verdict if screening else ""
        if screening and gates and verdict in _LABELS:
            said = oracle_says(attempts)
            is_void = said is None and not any(one.is_valid_failure for one in attempts)
            if is_void or said == _LABELS[verdict]:
                return _screened(screening, path, _support_of(attempts, _LABELS[verdict]))
        is_of_query = verdict == "unclear_query"
        arbiter = QueryArbiter if is_of_query else self._configuration.arbiter_type
        judgement = await arbiter(trace.model).judge(pair, attempts)
        path = AnnotationPath.UNCLEAR_QUERY if is_of_query else path
        if gates:
            return _weighed(judgement, path, attempts)
        return _labelled(judgement, path, "ungated")

    async def _attempts(self, pair: Pair, draft: Draft, trace: Trace) -> tuple[Attempt, ...]:
        """Return the test programs, executed as the configuration says."""
        if self._configuration.executor == "none" or not draft.program:
            return (Attempt(draft=draft),)
        if self._configuration.executor == "simulated":
            result = await Simulator(trace.model).run(pair, draft)
            return (Attempt(draft=draft, result=result, is_simulated=True),)
        return await self._tester.test(pair, draft, trace)


def _screened(
    screening: Screening | SpecifiedScreening,
    path: AnnotationPath | None = None,
    support: Support = "screened",
) -> _Decision:
    """Return the label that the screener is sure of; ``path`` is that of a program that was run."""
    judgements = 2 if support == "valid_oracle" else 1
    return _Decision(
        status="labelled",
        path=path or AnnotationPath(screening.verdict),
        reason=screening.reason,
        label=_LABELS[screening.verdict],
        decided_by="screener",
        support=support,
        judgements=judgements,
        agreeing=judgements,
    )


def _by_claims(
    label: Literal[0, 1], screening: SpecifiedScreening, evidence: ClaimEvidence
) -> _Decision:
    """Return the label that the claims give; a screening that was sure agrees with it."""
    judgements = 2 if screening.verdict in ("clear_match", "clear_non_match") else 1
    holds = f"it gives what is demanded for {evidence.held} calls"
    return _Decision(
        status="labelled",
        path=AnnotationPath.CLAIMS_HOLD if label else AnnotationPath.CLAIMS_FAIL,
        reason=holds if label else evidence.failures,
        label=label,
        decided_by="claims",
        support="valid_oracle" if evidence.is_valid else "void_oracle",
        judgements=judgements,
        agreeing=judgements,
    )


def _disputed(judgement: Judgement, evidence: ClaimEvidence) -> _Decision:
    """Return the arbiter's label where reading and claims differ."""
    decision = _labelled(judgement, AnnotationPath.CLAIMS_DISPUTED)
    agrees = decision.label == (0 if evidence.confirmed else 1)
    by_oracle: Support = "valid_oracle" if agrees else "overruled"
    return decision.model_copy(
        update={
            "support": by_oracle if evidence.is_valid else "void_oracle",
            "judgements": 3,  # the screening, which the claims contradict, the claims, the arbiter
            "agreeing": 2,
        }
    )


def _labelled(
    judgement: Judgement | StepwiseJudgement, path: AnnotationPath, support: Support = "screened"
) -> _Decision:
    """Return the last word's label."""
    return _Decision(
        status="labelled",
        path=path,
        reason=judgement.reason,
        label=1 if judgement.verdict == "answers" else 0,
        decided_by="arbiter",
        support=support,
        judgements=1,
        agreeing=1,
    )


def _weighed(judgement: Judgement, path: AnnotationPath, attempts: Sequence[Attempt]) -> _Decision:
    """Return the arbiter's label, with what the valid oracles say of it."""
    decision = _labelled(judgement, path)
    if not attempts[-1].draft.program:
        return decision
    oracles = [item.evidence is RunEvidence.PASSED for item in attempts if item.is_valid]
    return decision.model_copy(
        update={
            "support": _support_of(attempts, decision.label),
            "judgements": 1 + len(oracles),
            "agreeing": 1 + oracles.count(decision.label == 1),
        }
    )


def _support_of(attempts: Sequence[Attempt], label: int | None) -> Support:
    """Return what programs say of a label."""
    if not attempts[-1].draft.program:  # none could be written for this interface
        return "screened"
    said = oracle_says(attempts)
    if said is None:
        return "void_oracle"
    return "valid_oracle" if said == label else "overruled"


def _undecided(path: AnnotationPath, error: Exception) -> _Decision:
    return _Decision(status="undecided", path=path, reason=str(error))


def _failed(path: AnnotationPath, error: Exception) -> _Decision:
    return _Decision(status="failed", path=path, reason=str(error))


def oracle_says(attempts: Sequence[Attempt]) -> Literal[0, 1] | None:
    """Return the label that valid programs speak for, None where none does.

    A failure that no second program confirms is no oracle.
    """
    if is_confirmed(attempts):
        return 0
    last = attempts[-1]
    return 1 if last.is_valid and last.evidence is RunEvidence.PASSED else None
