"""Algorithm 1 of CoSQA+ as a state machine for one pair; the agents and the box do the work."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agents.committee.configurations import Plan
from agents.committee.paths import AnnotationPath, path_of
from agents.committee.tester import Laboratory
from agents.evidence import Draft, Evidence, Standing, Tested
from agents.llm.client import Model
from agents.roles.arbiter import Arbiter, Judgement, is_confirmed
from agents.roles.screener import Screener
from agents.roles.simulator import Simulator
from agents.roles.writer import Writer
from infra.errors import (
    CosqaError,
    ModelUnavailableError,
    PromptDeclinedError,
    SandboxError,
    UnreadableReplyError,
)
from infra.records import Annotation, Grade, Pair, Record


@dataclass(frozen=True)
class Agents:
    """Who takes part; the arbiter alone is in every configuration."""

    screener: Screener
    writer: Writer
    simulator: Simulator
    laboratory: Laboratory
    arbiter: Arbiter


class _Finding(Record):
    status: Literal["labelled", "undecided", "failed"]
    path: AnnotationPath
    reason: str
    label: Literal[0, 1] | None = None
    decided_by: Literal["screener", "arbiter"] | None = None
    grade: Grade = "undecided"
    judgements: int = 0
    agreeing: int = 0


_ENDS: dict[type[CosqaError], tuple[Literal["undecided", "failed"], AnnotationPath]] = {
    UnreadableReplyError: ("undecided", AnnotationPath.UNREADABLE_REPLY),
    PromptDeclinedError: ("undecided", AnnotationPath.PROMPT_DECLINED),
    ModelUnavailableError: ("failed", AnnotationPath.MODEL_UNAVAILABLE),
    SandboxError: ("failed", AnnotationPath.SANDBOX_UNAVAILABLE),
}


class Committee:
    """Judges pairs, any number at once.

    Args:
        agents: Who judges.
        plan: Which of them take part.
        model: What the agents ask; closed with the committee.
        recipe_id: Goes into every annotation.
        demo: Whether the labels are demonstrations only.
    """

    def __init__(
        self, *, agents: Agents, plan: Plan, model: Model, recipe_id: str, demo: bool
    ) -> None:
        self._agents = agents
        self._plan = plan
        self._model = model
        self._recipe_id = recipe_id
        self._demo = demo

    async def judge(self, pair: Pair) -> Annotation:
        """Return the annotation, with all evidence, whatever became of the pair.

        Raises:
            ModelRefusedError: The provider refuses every request: the run must stop.
            BudgetExhaustedError: What may be spent is spent: the run must stop.
        """
        started = time.monotonic()
        evidence = Evidence()
        try:
            finding = await self._find(pair, evidence)
        except tuple(_ENDS) as error:
            status, path = next(end for kind, end in _ENDS.items() if isinstance(error, kind))
            finding = _Finding(status=status, path=path, reason=str(error))
        return Annotation(
            query_id=pair.query.query_id,
            code_id=pair.code.code_id,
            recipe_id=self._recipe_id,
            demo=self._demo,
            calls=tuple(evidence.calls),
            executions=tuple(evidence.executions),
            seconds=time.monotonic() - started,
            **finding.model_dump(mode="json"),
        )

    async def close(self) -> None:
        """Close the model's connections."""
        await self._model.close()

    async def _find(self, pair: Pair, evidence: Evidence) -> _Finding:
        if not self._plan.screens:
            judgement = await self._agents.arbiter.read(pair, evidence)
            return _arbitrated(judgement, AnnotationPath.READ_ALONE)
        screening = await self._agents.screener.screen(pair, evidence)
        if screening.verdict == "unclear":
            return await self._examine(pair, evidence)
        return _Finding(
            status="labelled",
            path=AnnotationPath(screening.verdict),
            reason=screening.reason,
            label=1 if screening.verdict == "clear_match" else 0,
            decided_by="screener",
            grade="screened",
            judgements=1,
            agreeing=1,
        )

    async def _examine(self, pair: Pair, evidence: Evidence) -> _Finding:
        if not self._plan.writes:
            judgement = await self._agents.arbiter.read(pair, evidence)
            return _arbitrated(judgement, AnnotationPath.UNCLEAR_READ)
        draft = await self._agents.writer.write(pair, evidence)
        programs = await self._try(pair, draft, evidence)
        judgement = await self._agents.arbiter.judge(pair, programs, evidence)
        grade = _grade(programs) if self._plan.gated else "ungated"
        return _arbitrated(judgement, path_of(programs[-1]), grade, programs)

    async def _try(self, pair: Pair, draft: Draft, evidence: Evidence) -> tuple[Tested, ...]:
        if self._plan.runs == "nowhere":
            return (Tested(draft=draft),)
        if self._plan.runs == "imagination":
            result = await self._agents.simulator.run(pair, draft, evidence)
            return (Tested(draft=draft, result=result, imagined=True),)
        return await self._agents.laboratory.examine(pair, draft, evidence)


def _arbitrated(
    judgement: Judgement,
    path: AnnotationPath,
    grade: Grade = "screened",
    programs: Sequence[Tested] = (),
) -> _Finding:
    label: Literal[0, 1] = 1 if judgement.verdict == "answers" else 0
    said = [tested.standing is Standing.PASSED for tested in programs if tested.is_valid]
    return _Finding(
        status="labelled",
        path=path,
        reason=judgement.reason,
        label=label,
        decided_by="arbiter",
        grade=grade,
        judgements=1 + len(said),
        agreeing=1 + said.count(label == 1),
    )


def _grade(programs: Sequence[Tested]) -> Grade:
    """Return what a label rests on; a failure that no second program confirms is no oracle."""
    proven = programs[-1].is_valid and programs[-1].standing is Standing.PASSED
    return "valid_oracle" if proven or is_confirmed(programs) else "void_oracle"
