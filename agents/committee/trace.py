"""The trace of a pair: all model calls and executions while it is judged, in their order."""

from collections.abc import Iterator
from contextlib import contextmanager

from agents.evidence import Draft
from agents.llm.client import LanguageModel
from agents.llm.prompt import Prompt
from agents.llm.structured_output import ReplyType
from infra.records import Execution, ExecutionResult, LanguageModelCall, OracleReport, RepairStep
from sandbox.base import Box


class Trace:
    """Calls and executions of one pair, also where an error ends judging; agents ask ``model``."""

    def __init__(self, model: LanguageModel, language: str = "Python") -> None:
        self.calls: list[LanguageModelCall] = []
        self.executions: list[Execution] = []
        self.model = TracedModel(model, self.calls, language)

    def add_execution(
        self, draft: Draft, result: ExecutionResult, report: OracleReport | None
    ) -> None:
        """Add the run of a program, with what the gates found and what was repaired before it."""
        execution = Execution(
            round=len(self.executions),
            program=draft.program,
            beside=draft.support_code,
            requirements=draft.requirements,
            result=result,
            oracle=report,
            repairs=self._new_repairs(draft),
        )
        self.executions.append(execution)

    def add_repairs(self, draft: Draft) -> None:
        """Add to the last execution what was tried in vain after it."""
        last = self.executions[-1]
        repairs = (*last.repairs, *self._new_repairs(draft))
        self.executions[-1] = last.model_copy(update={"repairs": repairs})

    @property
    def failed_installations(self) -> tuple[RepairStep, ...]:
        """The installations that failed, which are tried again in no box of the pair."""
        repairs = (step for run in self.executions for step in run.repairs)
        return tuple(step for step in repairs if not step.ok and step.command.startswith("install"))

    def _new_repairs(self, draft: Draft) -> tuple[RepairStep, ...]:
        """Return the repairs of a draft that no execution has; those alike are told apart."""
        known = {id(step) for run in self.executions for step in run.repairs}
        return tuple(step for step in draft.repairs if id(step) not in known)


class TracedModel:
    """A model whose calls are added to a list, also those of requests that fail."""

    def __init__(
        self, model: LanguageModel, calls: list[LanguageModelCall], language: str = "Python"
    ) -> None:
        self.language = language
        self._model = model
        self._calls = calls
        self._box: Box | None = None
        self._section = ""

    @contextmanager
    def with_section(self, section: str) -> Iterator[None]:
        """Put a section, if any, before each user message inside the ``with``, for every agent."""
        before = self._section
        self._section = f"{before}{section}\n" if section else before
        try:
            yield
        finally:
            self._section = before

    @contextmanager
    def releasing(self, box: Box) -> Iterator[None]:
        """Release a box before each call inside the ``with``: none is held while a model thinks."""
        self._box = box
        try:
            yield
        finally:
            self._box = None

    @property
    def code_limit(self) -> int:
        """Longest code in a prompt, in characters."""
        return self._model.code_limit

    async def ask(self, role: str, prompt: Prompt, reply_type: type[ReplyType]) -> ReplyType:
        """Return the model's reply; see ``LanguageModel.ask`` for the errors."""
        if self._box is not None:
            await self._box.release()
        if self._section:
            prompt = prompt.model_copy(update={"user": self._section + prompt.user})
        return await self._model.ask(role, prompt, reply_type, self._calls.append)
