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
        self._logged: tuple[RepairStep, ...] = ()
        self.model = TracedModel(model, self.calls, language)

    def add_execution(
        self, draft: Draft, result: ExecutionResult, report: OracleReport | None
    ) -> None:
        """Add the run of a program, with what the gates found and what was repaired before it."""
        known = len(self._logged) if draft.repairs[: len(self._logged)] == self._logged else 0
        self._logged = draft.repairs
        execution = Execution(
            round=len(self.executions),
            program=draft.program,
            beside=draft.beside,
            requirements=draft.requirements,
            result=result,
            oracle=report,
            repairs=draft.repairs[known:],
        )
        self.executions.append(execution)


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
        """Put a section before each user message inside the ``with``, for every agent."""
        self._section = f"{section}\n"
        try:
            yield
        finally:
            self._section = ""

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
