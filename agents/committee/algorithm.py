"""Algorithm 1 of CoSQA+ for one pair: the order of the agents, and the label that follows."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple

from agents.claims.executed import EXECUTED, rules_of
from agents.committee.configurations import Configuration, configuration_of
from agents.committee.specified import ClaimEvidence, ClaimTester, label_by
from agents.committee.tester import Tester
from agents.committee.trace import Trace
from agents.evidence import Attempt, Draft, RunEvidence
from agents.gates.validator import OracleValidator
from agents.llm.client import LanguageModel
from agents.llm.ledger import Ledger
from agents.llm.prompt import fence, shorten
from agents.llm.recorded import RecordedReplies
from agents.roles import Judgement
from agents.roles.judge import QueryArbiter, is_confirmed
from agents.roles.read import Screener, Screening, Simulator, StepwiseJudgement
from agents.roles.specify import (
    ClaimsArbiter,
    SpecifiedScreener,
    SpecifiedScreening,
    Specifier,
    call_lines,
)
from infra.errors import (
    ModelUnavailableError,
    PromptDeclinedError,
    ReplyCutError,
    SandboxError,
    UnreadableAnswerError,
    UnreadableReplyError,
)
from infra.languages import language_named, languages
from infra.records import Annotation, Pair, Record, Support
from infra.settings import CommitteeSettings, LanguageModelSettings
from sandbox.base import Sandbox


class AnnotationPath(StrEnum):
    """Every value of ``Annotation.path``.

    The first two are labelled by the screener, ``claims_hold`` and ``claims_fail`` by calls that a
    query's specification demands, ``read_alone``, ``claims_disputed`` and the ``unclear_…`` ones
    by the arbiter; ``unreadable_reply`` to ``prompt_declined`` are undecided; the next four
    failed and will be judged again, ``internal_error`` by an unexpected exception.
    """

    CLEAR_MATCH = "clear_match"
    CLEAR_NON_MATCH = "clear_non_match"
    CLAIMS_HOLD = "claims_hold"
    CLAIMS_FAIL = "claims_fail"
    CLAIMS_DISPUTED = "claims_disputed"
    READ_ALONE = "read_alone"
    UNCLEAR_QUERY = "unclear_query"
    UNCLEAR_READ = "unclear_read"
    UNCLEAR_NOT_RUN = "unclear_not_run"
    UNCLEAR_PASSED = "unclear_passed"
    UNCLEAR_MENDED_PASSED = "unclear_mended_passed"
    UNCLEAR_TESTED_NOTHING = "unclear_tested_nothing"
    UNCLEAR_FAILED_ASSERTION = "unclear_failed_assertion"
    UNCLEAR_CODE_RAISED = "unclear_code_raised"
    UNCLEAR_NEVER_EXECUTABLE = "unclear_never_executable"
    UNREADABLE_REPLY = "unreadable_reply"
    REPLY_CUT = "reply_cut"
    PROMPT_DECLINED = "prompt_declined"
    UNREADABLE_ANSWER = "unreadable_answer"
    MODEL_UNAVAILABLE = "model_unavailable"
    SANDBOX_UNAVAILABLE = "sandbox_unavailable"
    INTERNAL_ERROR = "internal_error"


_LABELS: dict[str, Literal[0, 1]] = {"clear_match": 1, "clear_non_match": 0}

# Errors that end judging → the status and the path of the pair; the first that fits counts.
_ENDS: dict[type[Exception], tuple[Literal["undecided", "failed"], AnnotationPath]] = {
    ReplyCutError: ("undecided", AnnotationPath.REPLY_CUT),
    UnreadableReplyError: ("undecided", AnnotationPath.UNREADABLE_REPLY),
    PromptDeclinedError: ("undecided", AnnotationPath.PROMPT_DECLINED),
    UnreadableAnswerError: ("failed", AnnotationPath.UNREADABLE_ANSWER),
    ModelUnavailableError: ("failed", AnnotationPath.MODEL_UNAVAILABLE),
    SandboxError: ("failed", AnnotationPath.SANDBOX_UNAVAILABLE),
}

_NO_CLAIMS = ClaimEvidence()


class _Decision(Record):
    """The part of an annotation that the algorithm decides; fields as in ``Annotation``."""

    path: AnnotationPath
    reason: str
    status: Literal["labelled", "undecided", "failed"] = "labelled"
    label: Literal[0, 1] | None = None
    decided_by: Literal["screener", "claims", "arbiter"] | None = None
    support: Support = "undecided"
    judgements: int = 0
    agreeing: int = 0


class Testers(NamedTuple):
    """The runners of test programs and claims on code of one language."""

    programs: Tester
    claims: ClaimTester


@dataclass(frozen=True, kw_only=True)
class Committee:
    """The agents of one configuration, which judge pairs, any number at once.

    Attributes:
        configuration: Which agents take part.
        testers: Name of a language → what runs its code; any other code is judged by reading.
        model: The language model of the agents; closed with the committee.
        recipe_id: Goes into every annotation.
    """

    configuration: Configuration
    testers: Mapping[str, Testers]
    model: LanguageModel
    recipe_id: str

    async def judge(self, pair: Pair) -> Annotation:
        """Return the annotation with all calls and executions, also when judging ends early.

        Raises:
            ModelRefusedError: The provider refuses every request: the run must stop.
            BudgetExhaustedError: The budget is spent: the run must stop.
        """
        started = time.monotonic()
        language = language_named(pair.code.language)
        trace = Trace(self.model, language.title if language else "program")
        try:
            decision = await self._judge(pair, trace)
        except tuple(_ENDS) as error:
            status, path = next(end for kind, end in _ENDS.items() if isinstance(error, kind))
            decision = _Decision(status=status, path=path, reason=str(error))
        return Annotation(
            query_id=pair.query.query_id,
            code_id=pair.code.code_id,
            recipe_id=self.recipe_id,
            language=language.name if language else "",
            calls=tuple(trace.calls),
            executions=tuple(trace.executions),
            seconds=time.monotonic() - started,
            **decision.model_dump(mode="json"),
        )

    async def close(self) -> None:
        """Close the model's connections."""
        await self.model.close()

    async def _judge(self, pair: Pair, trace: Trace) -> _Decision:
        language, configuration = language_named(pair.code.language), self.configuration
        testers = self.testers.get(language.name) if language else None
        if configuration.specification:
            text = (
                testers.programs.language.translated(pair.code.text) if testers else pair.code.text
            )
            code = pair.code.model_copy(update={"text": text})
            translated = pair.model_copy(update={"code": code})
            decision = await self._judge_by_claims(translated, trace, testers)
            if text == pair.code.text:
                return decision
            reason = f"as translated to today's Python: {decision.reason}"
            return decision.model_copy(update={"reason": reason})
        screening = await Screener(trace.model).screen(pair) if configuration.screens else None
        is_run = testers is not None
        if screening and not configuration.wants_more(screening.verdict, is_run=is_run):
            return _screener_decision(screening)
        if testers and configuration.writer:
            return await self._judge_by_program(pair, trace, testers, screening)
        path = AnnotationPath.UNCLEAR_READ if screening else AnnotationPath.READ_ALONE
        last_word = configuration.arbiter_type if configuration.writer else configuration.judge
        return _arbiter_decision(await last_word(trace.model).read(pair), path)

    async def _judge_by_claims(
        self, pair: Pair, trace: Trace, testers: Testers | None
    ) -> _Decision:
        """Return the label by reading and running against the query's specification."""
        specification = await Specifier(trace.model).specify(pair.query)
        screener = SpecifiedScreener(trace.model)
        screening = await screener.screen(pair, specification, is_run=testers is not None)
        verdict: str = screening.verdict
        evidence = ClaimEvidence(problem="no box runs this language: nothing was called")
        if testers:
            evidence = await testers.claims.test(pair, specification, screening, trace)
            # Neither another adapter nor a program would call it as the query demands.
            if evidence.takes_others and verdict == "unclear_behaviour":
                verdict = "takes_others"
            elif evidence.is_at_fault and verdict != "clear_non_match":
                screening = await screener.mend(pair, specification, screening, evidence.problem)
                evidence = await testers.claims.test(pair, specification, screening, trace)
        label = label_by(evidence, verdict)
        if label is not None:
            return _claims_decision(label, screening, evidence)
        is_disputed = evidence.supports_code or bool(evidence.confirmed)
        wants_program = self.configuration.wants_more(verdict, is_run=testers is not None)
        can_be_run = testers is not None and testers.programs.language.is_valid(pair.code.text)
        if testers and not is_disputed and wants_program and can_be_run:
            with trace.model.with_section(specification.section(trace.model.code_limit)):
                return await self._judge_by_program(pair, trace, testers, screening, evidence)
        if not is_disputed and _is_sure(verdict, evidence):
            return _screener_decision(screening)
        runs = (*evidence.runs, *evidence.left_out)
        screening = screening.model_copy(update={"adapter": evidence.adapter or screening.adapter})
        judgement = await ClaimsArbiter(trace.model).judge(
            pair, specification, screening, runs, evidence.read, evidence.problem
        )
        if is_disputed:
            return _disputed_decision(judgement, evidence)
        return _arbiter_decision(judgement, AnnotationPath.UNCLEAR_READ)

    async def _judge_by_program(
        self,
        pair: Pair,
        trace: Trace,
        testers: Testers,
        screening: Screening | SpecifiedScreening | None = None,
        evidence: ClaimEvidence = _NO_CLAIMS,
    ) -> _Decision:
        """Return the label by a test program, without an arbiter where a sure reading stands.

        It does where a valid program agrees, and where none is evidence. The writer is told why no
        example of the specification is ``evidence``; both see those that failed.
        """
        beside = getattr(screening, "beside", "")
        stubs = rules_of(pair.code.language).stubs.usable(beside, pair.code.text)
        failed = [run for run in evidence.left_out if run.outcome == "failed"]
        calls = call_lines(failed, evidence.read)
        problem = "\n".join(filter(None, (evidence.problem, calls)))
        draft = await self.configuration.writer_type(trace.model).write(pair, stubs, problem)
        attempts = await self._attempts(pair, draft, trace, testers.programs)
        path, gates = path_of(attempts[-1]), self.configuration.gates
        verdict = screening.verdict if screening else ""
        if screening and gates and verdict in _LABELS:
            said = oracle_says(attempts)
            is_void = said is None and not any(one.is_valid_failure for one in attempts)
            is_void = is_void and _is_sure(verdict, evidence)
            if is_void or said == _LABELS[verdict]:
                return _screener_decision(screening, path, _support_of(attempts, _LABELS[verdict]))
        is_of_query = verdict == "unclear_query"
        arbiter = QueryArbiter if is_of_query else self.configuration.arbiter_type
        limit = trace.model.code_limit
        with trace.model.with_section(fence("calls", shorten(calls, limit)) if calls else ""):
            judgement = await arbiter(trace.model).judge(pair, attempts)
        path = AnnotationPath.UNCLEAR_QUERY if is_of_query else path
        return (
            _weighed_decision(judgement, path, attempts)
            if gates
            else _arbiter_decision(judgement, path, "ungated")
        )

    async def _attempts(
        self, pair: Pair, draft: Draft, trace: Trace, tester: Tester
    ) -> tuple[Attempt, ...]:
        """Return the test programs, executed as the configuration says."""
        if self.configuration.executor == "none" or not draft.program:
            return (Attempt(draft=draft),)
        if self.configuration.executor == "simulated":
            result = await Simulator(trace.model).run(pair, draft)
            return (Attempt(draft=draft, result=result, is_simulated=True),)
        return await tester.test(pair, draft, trace)


def _is_sure(verdict: str, evidence: ClaimEvidence) -> bool:
    """Return True if a verdict is sure, and no claim speaks against it."""
    return verdict == "clear_non_match" or (verdict in _LABELS and not evidence.is_unsettled)


def _screener_decision(
    screening: Screening | SpecifiedScreening,
    path: AnnotationPath | None = None,
    support: Support = "screened",
) -> _Decision:
    """Return the label that the screener is sure of; ``path`` is that of a program that was run."""
    judgements = 2 if support == "valid_oracle" else 1
    return _Decision(
        path=path or AnnotationPath(screening.verdict),
        reason=screening.reason,
        label=_LABELS[screening.verdict],
        decided_by="screener",
        support=support,
        judgements=judgements,
        agreeing=judgements,
    )


def _claims_decision(
    label: Literal[0, 1], screening: SpecifiedScreening, evidence: ClaimEvidence
) -> _Decision:
    """Return the label that the claims give; a screening that was sure agrees with it."""
    judgements = 2 if screening.verdict in _LABELS else 1
    holds = f"it gives what is demanded for {evidence.held} calls"
    return _Decision(
        path=AnnotationPath.CLAIMS_HOLD if label else AnnotationPath.CLAIMS_FAIL,
        reason=holds if label else evidence.failures,
        label=label,
        decided_by="claims",
        support="valid_oracle" if evidence.is_valid else "void_oracle",
        judgements=judgements,
        agreeing=judgements,
    )


def _disputed_decision(judgement: Judgement, evidence: ClaimEvidence) -> _Decision:
    """Return the arbiter's label where reading and claims differ."""
    decision = _arbiter_decision(judgement, AnnotationPath.CLAIMS_DISPUTED)
    agrees = decision.label == (0 if evidence.confirmed else 1)
    by_oracle: Support = "valid_oracle" if agrees else "overruled"
    return decision.model_copy(
        update={
            "support": by_oracle if evidence.is_valid else "void_oracle",
            "judgements": 3,  # the screening, which the claims contradict, the claims, the arbiter
            "agreeing": 2,
        }
    )


def _arbiter_decision(
    judgement: Judgement | StepwiseJudgement, path: AnnotationPath, support: Support = "screened"
) -> _Decision:
    """Return the last word's label."""
    return _Decision(
        path=path,
        reason=judgement.reason,
        label=1 if judgement.verdict == "answers" else 0,
        decided_by="arbiter",
        support=support,
        judgements=1,
        agreeing=1,
    )


def _weighed_decision(
    judgement: Judgement, path: AnnotationPath, attempts: Sequence[Attempt]
) -> _Decision:
    """Return the arbiter's label, with what the valid oracles say of it."""
    decision = _arbiter_decision(judgement, path)
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
    """Return the evidence of programs about a label."""
    if not attempts[-1].draft.program:  # none could be written for this interface
        return "screened"
    said = oracle_says(attempts)
    if said is None:
        return "void_oracle"
    return "valid_oracle" if said == label else "overruled"


def oracle_says(attempts: Sequence[Attempt]) -> Literal[0, 1] | None:
    """Return the label that valid programs support, None where none does."""
    if is_confirmed(attempts):
        return 0
    last = attempts[-1]
    return 1 if last.is_valid and last.evidence is RunEvidence.PASSED else None


def build_committee(
    model: LanguageModel, chosen: CommitteeSettings, recipe_id: str, sandbox: Sandbox
) -> Committee:
    """Return the committee that the settings describe; it closes the model, and not the sandbox."""
    configuration, testers = configuration_of(chosen.annotation), {}
    for language in (languages.get(name)() for name in languages.names()):
        if not language.is_executed:
            continue
        rules, calls = EXECUTED[language.name]
        validator = OracleValidator(chosen.gates, language, rules, configuration.scaffolding)
        tester = Tester(
            sandbox=sandbox,
            language=language,
            configuration=configuration,
            max_try_time=chosen.annotation.max_try_time,
            validator=validator if configuration.gates else None,
        )
        claims = ClaimTester(sandbox, language, validator, calls)
        testers[language.name] = Testers(tester, claims)
    return Committee(configuration=configuration, testers=testers, model=model, recipe_id=recipe_id)


def build_model(
    llm: LanguageModelSettings, ledger: Ledger, labelling_round: int = 1
) -> LanguageModel:
    """Return the language model that the settings describe."""
    if llm.is_recorded:
        return RecordedReplies(llm, ledger)
    return LanguageModel(llm, ledger, labelling_round)


def path_of(last: Attempt) -> AnnotationPath:
    """Return the path of an unclear pair by its last test program."""
    if last.result is None:
        return AnnotationPath.UNCLEAR_NOT_RUN
    if last.is_fixed and last.evidence is RunEvidence.PASSED:
        return AnnotationPath.UNCLEAR_MENDED_PASSED
    if last.evidence is RunEvidence.NOT_EXECUTED:
        return AnnotationPath.UNCLEAR_NEVER_EXECUTABLE
    return AnnotationPath(f"unclear_{last.evidence}")
