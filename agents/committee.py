"""Algorithm 1 of CoSQA+ as a state machine for one pair; the agents and the box do the work."""

import time
from dataclasses import dataclass
from typing import Literal

from agents.arbiter import Arbiter
from agents.evidence import Draft, Evidence, Standing, standing_of
from agents.executor import Executor
from agents.fixer import Fixer
from agents.language_model import LanguageModel
from agents.paths import AnnotationPath, unclear_path
from agents.screener import Screener
from agents.writer import Writer
from infra.errors import (
    CosqaError,
    ModelUnavailableError,
    PromptDeclinedError,
    SandboxError,
    UnreadableReplyError,
)
from infra.records import Annotation, ExecutionResult, Pair, Record
from sandbox.base import Sandbox


@dataclass(frozen=True)
class Agents:
    """The five."""

    screener: Screener
    writer: Writer
    executor: Executor
    fixer: Fixer
    arbiter: Arbiter


class _Finding(Record):
    status: Literal["labelled", "undecided", "failed"]
    path: AnnotationPath
    reason: str
    label: Literal[0, 1] | None = None
    decided_by: Literal["screener", "arbiter"] | None = None


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
        sandbox: Where programs run; one box for each unclear pair.
        model: What the agents ask; closed with the committee.
        recipe_id: Goes into every annotation.
        max_try_time: Rounds of the fixer.
        demo: Whether the labels are demonstrations only.
    """

    def __init__(
        self,
        *,
        agents: Agents,
        sandbox: Sandbox,
        model: LanguageModel,
        recipe_id: str,
        max_try_time: int,
        demo: bool,
    ) -> None:
        self._agents = agents
        self._sandbox = sandbox
        self._model = model
        self._recipe_id = recipe_id
        self._max_try_time = max_try_time
        self._demo = demo

    async def judge(self, pair: Pair) -> Annotation:
        """Return the annotation, with all evidence, whatever became of the pair.

        Raises:
            ModelRefusedError: The provider refuses every request: the run must stop.
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
        screening = await self._agents.screener.screen(pair, evidence)
        if screening.verdict == "unclear":
            return await self._examine(pair, evidence)
        return _Finding(
            status="labelled",
            path=AnnotationPath(screening.verdict),
            reason=screening.reason,
            label=1 if screening.verdict == "clear_match" else 0,
            decided_by="screener",
        )

    async def _examine(self, pair: Pair, evidence: Evidence) -> _Finding:
        draft = await self._agents.writer.write(pair, evidence)
        draft, result = await self._execute(pair, draft, evidence)
        judgement = await self._agents.arbiter.judge(pair, draft, result, evidence)
        return _Finding(
            status="labelled",
            path=unclear_path(standing_of(result), mended=len(evidence.executions) > 1),
            reason=judgement.reason,
            label=1 if judgement.verdict == "answers" else 0,
            decided_by="arbiter",
        )

    async def _execute(
        self, pair: Pair, draft: Draft, evidence: Evidence
    ) -> tuple[Draft, ExecutionResult]:
        """Run the program, and mend and run it again while it cannot be executed."""
        agents = self._agents
        async with self._sandbox.box(pair.code.text) as box:
            result = await agents.executor.run(draft, box, evidence)
            for _ in range(self._max_try_time):
                if standing_of(result) is not Standing.NOT_EXECUTED:
                    break
                mended = await agents.fixer.mend(pair, draft, result, box, evidence)
                if mended is None:
                    break
                if not mended.runs_like(draft):
                    result = await agents.executor.run(mended, box, evidence)
                draft = mended
        return draft, result
