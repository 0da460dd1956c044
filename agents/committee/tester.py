"""The tester, which runs, repairs, validates and confirms the test programs of a pair."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from agents.committee.configurations import Configuration
from agents.committee.trace import Trace
from agents.evidence import (
    Attempt,
    Draft,
    RunEvidence,
    RunOutcome,
    missing_requirement,
    was_executed,
)
from agents.gates import can_be_improved, reason_of
from agents.gates.validator import OracleValidator
from agents.roles.fix import CommandFixer, Fixer, install, run_commands
from agents.roles.write import BlindWriter
from infra.languages import Language
from infra.records import Pair
from sandbox.base import Box, Sandbox

_MOST_INSTALLATIONS = 20  # of missing modules, one after the other, for one program


@dataclass(frozen=True)
class PairRunner:
    """Runs the programs of one pair in its box; without a validator they are only run."""

    pair: Pair
    box: Box
    trace: Trace
    validator: OracleValidator | None

    async def run_and_validate(
        self, draft: Draft, claims_ran: Callable[[Attempt], bool] | None = None
    ) -> Attempt:
        """Run a program, and validate it if its run is evidence; runs are traced in any case.

        One of claims is evidence where any of them ran. What it lacks is installed, as long as that
        gets on, and the tests that fail by stubs are found.
        """
        box, trace, report = self.box, self.trace, None
        result = await box.run(draft.program)
        for _ in range(_MOST_INSTALLATIONS if claims_ran else 0):
            if not (requirement := missing_requirement(draft, result)):
                break
            before, draft = draft, await install(requirement, draft, box)
            if not draft.repairs[-1].ok:
                break
            trace.add_execution(before, result, None)
            result = await box.run(draft.program)
        attempt = Attempt(draft=draft, result=result)
        try:
            if self.validator:
                code, stubs = self.pair.code.text, draft.support_code
                outcome = self.validator.rules.outcome_of(result, draft.program, code, stubs)
                given = self.pair, draft, result, box
                by_stubs = await self.validator.failures_by_stubs(*given) if claims_ran else None
                found = {"outcome": outcome, "by_stubs": by_stubs or frozenset()}
                attempt = attempt.model_copy(update=found)
                is_executed = attempt.evidence is not RunEvidence.NOT_EXECUTED
                if claims_ran(attempt) if claims_ran else is_executed:
                    report = await self.validator.validate(*given, by_stubs)
        finally:
            trace.add_execution(draft, result, report)
        return attempt.model_copy(update={"report": report})


@dataclass(frozen=True)
class Tester:
    """Tests unclear pairs, each in a box of its own (the executor of CoSQA+, Algorithm 1).

    Each program has ``max_try_time`` rounds of repair, by commands one more, as in the paper.
    Without a validator a program is evidence because it was executed.
    """

    sandbox: Sandbox
    language: Language
    configuration: Configuration
    max_try_time: int
    validator: OracleValidator | None

    async def test(self, pair: Pair, draft: Draft, trace: Trace) -> tuple[Attempt, ...]:
        """Return the test programs on which the pair is to be judged, in their last form.

        Under the gates a program that is no evidence is written once more, with the reason, if
        another could do better; a failing assertion brings in a second program, by a writer that
        has not seen the code.
        """
        bare = not self.configuration.scaffolding
        module, language = self._module_of(pair, ""), self.language.name
        async with self.sandbox.box(module, bare=bare, language=language) as box:
            with trace.model.releasing(box):
                return await self._test(draft, PairRunner(pair, box, trace, self.validator))

    async def _test(self, draft: Draft, runner: PairRunner) -> tuple[Attempt, ...]:
        pair, model = runner.pair, runner.trace.model
        first, reason = await self._attempt(draft, runner), ""
        if first.report and can_be_improved(first.report):
            reason = reason_of(first.report)
        elif first.outcome is RunOutcome.STOPPED and first.result:
            reason = f"{first.result.outcome}: {first.result.message}; test smaller values"
        if reason:
            better = await self.configuration.writer_type(model).rewrite(pair, first.draft, reason)
            if better.program:
                first = await self._attempt(better, runner)
        if not first.is_valid_failure:
            return (first,)
        blind = await BlindWriter(model, self.language).write(pair, first.draft.support_code)
        if not blind.program:
            return (first,)
        return first, await self._attempt(blind.inherit_installations(first.draft), runner)

    async def _attempt(self, draft: Draft, runner: PairRunner) -> Attempt:
        """Run a program; repair it and run it again while it cannot be executed."""
        known = runner.trace.failed_installations
        draft = draft.model_copy(update={"repairs": (*known, *draft.repairs)})
        attempt = await self._run(draft, runner)
        if self.language.name == "python":  # in others nothing is installed
            if self.configuration.fixer == "commands":
                attempt = await self._repair_by_commands(attempt, runner)
            elif self.configuration.fixer == "actions":
                attempt = await self._repair_by_actions(attempt, runner)
        runner.trace.add_repairs(attempt.draft)
        return attempt

    async def _repair_by_commands(self, attempt: Attempt, runner: PairRunner) -> Attempt:
        """Prepare the box and run the same program again while it ends by an error.

        Missing modules are installed directly, outside the rounds (stage 1); for other errors the
        fixer gives commands, in at most ``max_try_time + 1`` rounds (stage 2).
        """
        fixer = CommandFixer(runner.trace.model)
        attempt = await self._install_missing(attempt, runner)
        for _ in range(self.max_try_time + 1):
            if attempt.result is None or was_executed(attempt.result):
                break
            commands = await fixer.propose(attempt.draft, attempt.result)
            if not commands:
                break
            draft = await run_commands(attempt.draft, commands, runner.box)
            attempt = await self._run(draft, runner, is_fixed=True)
            attempt = await self._install_missing(attempt, runner)
        return attempt

    async def _install_missing(self, attempt: Attempt, runner: PairRunner) -> Attempt:
        """Install what the program lacks, and run it again, as long as that gets on."""
        for _ in range(_MOST_INSTALLATIONS):
            if attempt.result is None or was_executed(attempt.result):
                break
            requirement = missing_requirement(attempt.draft, attempt.result)
            if requirement is None:
                break
            draft = await install(requirement, attempt.draft, runner.box, command="pip install")
            attempt = await self._run_changed(attempt, draft, runner)
        return attempt

    async def _repair_by_actions(self, attempt: Attempt, runner: PairRunner) -> Attempt:
        """Repair the program or install what it lacks, one action a round, and run it again."""
        fixer = Fixer(runner.trace.model)
        for _ in range(self.max_try_time):
            if attempt.result is None or not attempt.is_repairable:
                break
            draft = await fixer.fix(runner.pair, attempt.draft, attempt.result, runner.box)
            if draft is None:
                break
            attempt = await self._run_changed(attempt, draft, runner)
        return attempt

    async def _run_changed(self, attempt: Attempt, draft: Draft, runner: PairRunner) -> Attempt:
        """Run a repaired program, if the repair changed what would run."""
        if draft.runs_like(attempt.draft):
            return attempt.model_copy(update={"draft": draft})
        return await self._run(draft, runner, is_fixed=True)

    async def _run(self, draft: Draft, runner: PairRunner, *, is_fixed: bool = False) -> Attempt:
        if draft.support_code:
            module = self._module_of(runner.pair, draft.support_code)
            runner = replace(runner, box=OtherCode(runner.box, module))
        attempt = await runner.run_and_validate(draft)
        return attempt.model_copy(update={"is_fixed": is_fixed})

    def _module_of(self, pair: Pair, stubs: str) -> str:
        scaffolding = self.configuration.scaffolding
        return self.language.with_support_code(pair.code.text, stubs, scaffolding=scaffolding)


class OtherCode:
    """A box whose programs get another code under test where a run names none."""

    def __init__(self, box: Box, code: str) -> None:
        self.install, self.shell, self.release = box.install, box.shell, box.release
        self.run = partial(box.run, code=code)
