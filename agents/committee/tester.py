"""The tester, which runs, repairs, validates and confirms the test programs of a pair."""

from dataclasses import dataclass
from functools import partial

from agents.committee.configurations import Configuration
from agents.committee.trace import Trace
from agents.evidence import (
    Attempt,
    Draft,
    RunEvidence,
    RunOutcome,
    evidence_of,
    missing_requirement,
    was_executed,
)
from agents.gates.gates import can_be_improved, reason_of
from agents.gates.validator import OracleValidator
from agents.roles.fix import CommandFixer, Fixer, install, run_commands
from agents.roles.write import BlindWriter
from infra.languages import Language
from infra.records import Pair
from sandbox.base import Box, Sandbox

_MOST_INSTALLATIONS = 20  # of missing modules, one after the other, for one program


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
                return await self._test(pair, draft, box, trace)

    async def _test(self, pair: Pair, draft: Draft, box: Box, trace: Trace) -> tuple[Attempt, ...]:
        first, reason = await self._attempt(pair, draft, box, trace), ""
        if first.report and can_be_improved(first.report):
            reason = reason_of(first.report)
        elif first.outcome is RunOutcome.STOPPED and first.result:
            reason = f"{first.result.outcome}: {first.result.message}; test smaller values"
        if reason:
            writer = self.configuration.writer_type(trace.model)
            better = await writer.rewrite(pair, first.draft, reason)
            if better.program:
                first = await self._attempt(pair, better, box, trace)
        if not first.is_valid_failure:
            return (first,)
        blind = await BlindWriter(trace.model, self.language).write(pair, first.draft.support_code)
        if not blind.program:
            return (first,)
        second = await self._attempt(pair, blind.in_the_box_of(first.draft), box, trace)
        return first, second

    async def _attempt(self, pair: Pair, draft: Draft, box: Box, trace: Trace) -> Attempt:
        """Run a program; repair it and run it again while it cannot be executed."""
        known = trace.failed_installations
        draft = draft.model_copy(update={"repairs": (*known, *draft.repairs)})
        attempt = await self._repair(pair, draft, box, trace)
        trace.add_repairs(attempt.draft)
        return attempt

    async def _repair(self, pair: Pair, draft: Draft, box: Box, trace: Trace) -> Attempt:
        attempt = await self._run(pair, draft, box, trace)
        if self.language.name != "python":  # nothing is installed
            return attempt
        if self.configuration.fixer == "commands":
            return await self._repair_by_commands(pair, attempt, box, trace)
        if self.configuration.fixer == "actions":
            return await self._repair_by_actions(pair, attempt, box, trace)
        return attempt

    async def _repair_by_commands(
        self, pair: Pair, attempt: Attempt, box: Box, trace: Trace
    ) -> Attempt:
        """Prepare the box and run the same program again while it ends by an error.

        Missing modules are installed directly, outside the rounds (stage 1); for other errors the
        fixer gives commands, in at most ``max_try_time + 1`` rounds (stage 2).
        """
        fixer = CommandFixer(trace.model)
        attempt = await self._install_missing(pair, attempt, box, trace)
        for _ in range(self.max_try_time + 1):
            if attempt.result is None or was_executed(attempt.result):
                break
            commands = await fixer.propose(attempt.draft, attempt.result)
            if not commands:
                break
            draft = await run_commands(attempt.draft, commands, box)
            attempt = await self._run(pair, draft, box, trace, is_fixed=True)
            attempt = await self._install_missing(pair, attempt, box, trace)
        return attempt

    async def _install_missing(
        self, pair: Pair, attempt: Attempt, box: Box, trace: Trace
    ) -> Attempt:
        """Install what the program lacks, and run it again, as long as that gets on."""
        for _ in range(_MOST_INSTALLATIONS):
            if attempt.result is None or was_executed(attempt.result):
                break
            requirement = missing_requirement(attempt.draft, attempt.result)
            if requirement is None:
                break
            draft = await install(requirement, attempt.draft, box, command="pip install")
            attempt = await self._run_changed(pair, attempt, draft, box, trace)
        return attempt

    async def _repair_by_actions(
        self, pair: Pair, attempt: Attempt, box: Box, trace: Trace
    ) -> Attempt:
        """Repair the program or install what it lacks, one action a round, and run it again."""
        fixer = Fixer(trace.model)
        for _ in range(self.max_try_time):
            if attempt.result is None or not attempt.is_repairable:
                break
            draft = await fixer.fix(pair, attempt.draft, attempt.result, box)
            if draft is None:
                break
            attempt = await self._run_changed(pair, attempt, draft, box, trace)
        return attempt

    async def _run_changed(
        self, pair: Pair, attempt: Attempt, draft: Draft, box: Box, trace: Trace
    ) -> Attempt:
        """Run a repaired program, if the repair changed what would run."""
        if draft.runs_like(attempt.draft):
            return attempt.model_copy(update={"draft": draft})
        return await self._run(pair, draft, box, trace, is_fixed=True)

    async def _run(
        self, pair: Pair, draft: Draft, box: Box, trace: Trace, *, is_fixed: bool = False
    ) -> Attempt:
        """Run a program and, if it was executed, validate it; the run is traced in any case."""
        if draft.support_code:
            box = OtherCode(box, self._module_of(pair, draft.support_code))
        result, outcome, report = await box.run(draft.program), None, None
        try:
            if self.validator:
                rules, code = self.validator.rules, pair.code.text
                outcome = rules.outcome_of(result, draft.program, code, draft.support_code)
                if evidence_of(result, outcome) is not RunEvidence.NOT_EXECUTED:
                    report = await self.validator.validate(pair, draft, result, box)
        finally:
            trace.add_execution(draft, result, report)
        return Attempt(
            draft=draft, result=result, report=report, outcome=outcome, is_fixed=is_fixed
        )

    def _module_of(self, pair: Pair, stubs: str) -> str:
        scaffolding = self.configuration.scaffolding
        return self.language.with_support_code(pair.code.text, stubs, scaffolding=scaffolding)


class OtherCode:
    """A box whose programs get another code under test where a run names none."""

    def __init__(self, box: Box, code: str) -> None:
        self.install, self.shell, self.release = box.install, box.shell, box.release
        self.run = partial(box.run, code=code)
