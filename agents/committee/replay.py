"""Replay of annotations from stored calls and executions, without model and engine.

Replies and runs are used in the order in which they were made. The rest is derived by the same code
as the first time: replies are read, programs are checked, mutants are made and counted, labels and
their support follow.
"""

from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from agents.claims.program import is_claims_program, is_same_run
from agents.committee.factory import committee_on
from agents.gates.gates import Gate
from agents.gates.validator import MAY_BE_EMPTY
from agents.llm.client import OnCall, ignore_call
from agents.llm.prompt import Prompt
from agents.llm.structured_output import ReplyType, read
from infra.errors import (
    BoxLostError,
    ModelUnavailableError,
    PromptDeclinedError,
    UnreadableReplyError,
)
from infra.languages.python.emptying import is_emptied
from infra.records import (
    Annotation,
    Execution,
    ExecutionResult,
    LanguageModelCall,
    OracleReport,
    Pair,
)
from infra.settings import Settings
from sandbox.base import CLOCK, NOT_SEPARABLE, Box, InstallResult, ShellResult


async def replayed(pair: Pair, annotation: Annotation, settings: Settings) -> Annotation:
    """Return the annotation as the algorithm derives it from the stored calls and executions.

    Args:
        pair: The pair that was judged.
        annotation: The stored annotation.
        settings: Configuration, rounds, gates and limits of the recipe.
    """
    model = RecordedModel(annotation.calls, settings.llm.max_code_characters)
    sandbox = RecordedSandbox(annotation.executions)
    return await committee_on(model, settings, annotation.recipe_id, sandbox).judge(pair)


class RecordedModel:
    """A model that gives the recorded replies, one after the other."""

    def __init__(self, calls: Sequence[LanguageModelCall], code_limit: int) -> None:
        self.code_limit = code_limit
        self._calls = deque(calls)

    async def ask(
        self,
        role: str,
        prompt: Prompt,  # noqa: ARG002 - the protocol's
        reply_type: type[ReplyType],
        on_call: OnCall = ignore_call,
    ) -> ReplyType:
        """Return the next reply; see ``LanguageModel.ask`` for the errors.

        Raises:
            ModelUnavailableError: No such reply is stored: judging ended early here, or the
                algorithm is another one.
        """
        while self._calls and self._calls[0].role == role:
            call = self._calls.popleft()
            on_call(call)
            if call.status == "refused":
                raise PromptDeclinedError(call.error)
            if call.status == "unavailable":
                raise ModelUnavailableError(call.error)
            try:
                return read(call.reply, reply_type)
            except ValueError as error:
                problem = str(error)
                if not (self._calls and self._calls[0].attempt > call.attempt):
                    raise UnreadableReplyError(problem) from None
        raise ModelUnavailableError(f"no reply of the {role} is stored")

    async def close(self) -> None:
        """Do nothing."""


class RecordedSandbox:
    """A sandbox whose boxes give the recorded results, of one pair, one box after the other."""

    def __init__(self, executions: Sequence[Execution]) -> None:
        self._recorded = RecordedBox(executions)

    async def check(self) -> str:
        """Return a name in place of engine and image."""
        return "recorded"

    def box(
        self,
        code: str,  # noqa: ARG002 - the protocol's
        *,
        bare: bool = False,  # noqa: ARG002 - the protocol's
    ) -> AbstractAsyncContextManager[Box]:
        """Return a box over the recorded runs."""
        return self._box()

    async def close(self) -> None:
        """Do nothing."""

    @asynccontextmanager
    async def _box(self) -> AsyncIterator[Box]:
        yield self._recorded  # a further box goes on where the one before ended


class RecordedBox:
    """A box that gives the recorded results, one after the other."""

    def __init__(self, executions: Sequence[Execution]) -> None:
        self._waiting = deque(executions)
        self._commands = deque(step for execution in executions for step in execution.repairs)
        self._last = ExecutionResult(outcome="killed")
        self._oracle = OracleReport()
        self._mutant_runs = self._emptied_runs = 0
        self._is_control_due = False

    async def install(self, requirements: Sequence[str]) -> InstallResult:
        """Succeed where a later run had the requirements."""
        had = {name for execution in self._waiting for name in execution.requirements}
        return InstallResult(ok=had.issuperset(requirements), installed=tuple(requirements))

    async def run(
        self,
        program: str,
        *,
        hash_seed: int = 0,
        clock: float = CLOCK,  # noqa: ARG002 - the protocol's
        code: str | None = None,
        timeout_s: float | None = None,
        apart: bool = False,
    ) -> ExecutionResult:
        """Return what the program did: at first, again, on the control, on a mutant, or apart.

        Raises:
            BoxLostError: That run is not recorded: the box failed, or the algorithm is another one.
        """
        if apart:
            return self._run_apart()
        if code is not None and timeout_s is not None:
            return self._run_emptied() if is_emptied(code) else self._next_mutant_run()
        if hash_seed:
            return self._run_again()
        if code is not None and self._is_control_due:
            self._is_control_due = False
            return self._last_unless(Gate.IGNORES_SPELLING)
        if not self._waiting or not is_same_run(self._waiting[0].program, program):
            if is_claims_program(program):  # of an algorithm that did not run them once more
                return ExecutionResult(outcome="killed", message="no such run is stored")
            raise BoxLostError("no such run is stored")
        execution = self._waiting.popleft()
        self._last, self._mutant_runs, self._emptied_runs = execution.result, 0, 0
        self._oracle = execution.oracle or OracleReport()
        return self._last

    async def shell(self, line: str) -> ShellResult:
        """Return what the commands gave.

        Raises:
            BoxLostError: These are not recorded: the box failed, or the algorithm is another one.
        """
        while self._commands:
            step = self._commands.popleft()
            if step.command == line:
                status = 0 if step.ok else 1
                return ShellResult(status=status, output=step.output, installed=step.installed)
        raise BoxLostError("no such command is stored")

    async def release(self) -> None:
        """Do nothing."""

    def _run_again(self) -> ExecutionResult:
        """Return what a repetition gave; a program that passes it meets the control next.

        By that the control is known: the code under test may be another one in other runs too.
        """
        repeated = self._last_unless(Gate.REPEATS)
        self._is_control_due = repeated is self._last and repeated.outcome == "passed"
        return repeated

    def _last_unless(self, gate: Gate) -> ExecutionResult:
        return ExecutionResult(outcome="killed") if gate in self._oracle.faults else self._last

    def _run_apart(self) -> ExecutionResult:
        if Gate.PASSES_APART in self._oracle.faults:
            return ExecutionResult(outcome="killed")
        if self._oracle.protection == "separate":
            return self._last
        reason = self._oracle.unprotected_because
        return ExecutionResult(outcome="raised", error_type=NOT_SEPARABLE, message=reason)

    def _run_emptied(self) -> ExecutionResult:
        """Return a run on code that returns nothing: where it is a fault, the first one passed."""
        self._emptied_runs += 1
        is_fault = MAY_BE_EMPTY in self._oracle.faults.values()
        return ExecutionResult(
            outcome="passed" if is_fault and self._emptied_runs == 1 else "raised"
        )

    def _next_mutant_run(self) -> ExecutionResult:
        if self._mutant_runs >= len(self._oracle.trials):
            raise BoxLostError("no such run against a mutant is stored")
        self._mutant_runs += 1
        return ExecutionResult(outcome=self._oracle.trials[self._mutant_runs - 1].outcome)
