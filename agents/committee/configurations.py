"""Configurations of the committee: the rows of the paper's ablation, and `spec`."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from agents.roles import Agent
from agents.roles.fix import CommandFixer, Fixer
from agents.roles.judge import Arbiter, GatedArbiter, QueryArbiter
from agents.roles.read import ExactJudge, HalfJudge, Screener, Simulator
from agents.roles.specify import ClaimsArbiter, SpecifiedScreener, Specifier, ValueReader
from agents.roles.write import BlindWriter, GatedWriter, Writer
from infra.records import Criterion
from infra.settings import AnnotationSettings, Evidence
from infra.settings import Configuration as ConfigurationName

# Raise it when the agents' order, the prompts' layout, the scaffolding or the mutants change:
# labels of another one are stale.
ALGORITHM = "cosqa-plus-6"

AgentType = type[Agent[Any]]


@dataclass(frozen=True)
class Configuration:
    """The agents that take part; without screener and writer every pair is judged by reading.

    Attributes:
        screener: Whether clear pairs are decided by reading alone.
        writer: Whether unclear pairs get a test program.
        executor: Whether the program is run in a box, simulated by a model, or not run.
        fixer: How programs that cannot be executed are repaired: not at all, by terminal commands
            as in the paper, or by single actions on program and packages.
        gates: Whether programs must pass the gates, and a failing one is confirmed by a second.
        scaffolding: Whether code under test gets the imports and stand-ins that it lacks, and
            programs the packages of the sandbox image.
        judge: Who judges by reading where no test program is written.
        criterion: The labelling guideline: a code meets the whole query, or half of its demands.
            Labels by one are never mixed with labels by the other.
        specification: Whether a query is specified once for all its candidates, and pairs are
            judged against that; see `agents.committee.specified`.
        evidence: Which pairs get a test program although reading leaves no doubt.
    """

    screener: bool = True
    writer: bool = True
    executor: Literal["none", "box", "simulated"] = "box"
    fixer: Literal["none", "commands", "actions"] = "none"
    gates: bool = False
    judge: type[ExactJudge] = ExactJudge
    scaffolding: bool = False
    criterion: Criterion = "exact"
    specification: bool = False
    evidence: Evidence = "read"

    @property
    def agents(self) -> tuple[AgentType, ...]:
        """The agents that ask a model, in order."""
        takes_part: dict[AgentType, bool] = {
            Specifier: self.specification,
            SpecifiedScreener: self.specification,
            ValueReader: self.specification,
            ClaimsArbiter: self.specification,
            Screener: self.screens,
            self.writer_type: self.writer,
            BlindWriter: self.gates,
            Simulator: self.executor == "simulated",
            CommandFixer: self.fixer == "commands",
            Fixer: self.fixer == "actions",
            self.arbiter_type: self.writer,
            QueryArbiter: self.specification,
            self.judge: not self.writer,
        }
        return tuple(agent for agent, taken in takes_part.items() if taken)

    @property
    def screens(self) -> bool:
        """True if a screener without a specification may spare a pair the test program."""
        return self.screener and not self.specification and self.evidence != "all"

    def wants_more(self, verdict: str, *, is_run: bool) -> bool:
        """Return True if a screener's verdict is not enough, on code that a box runs or not."""
        is_match = verdict == "clear_match" and self.evidence == "matches"
        return verdict.startswith("unclear") or (is_run and (is_match or self.evidence == "all"))

    @property
    def writer_type(self) -> type[Writer]:
        """The writer of a pair's first test program."""
        return GatedWriter if self.gates else Writer

    @property
    def arbiter_type(self) -> type[Arbiter]:
        """The arbiter that judges by test programs."""
        return GatedArbiter if self.gates else Arbiter


def _single(judge: type[ExactJudge], criterion: Criterion = "exact") -> Configuration:
    return Configuration(
        screener=False, writer=False, executor="none", judge=judge, criterion=criterion
    )


CONFIGURATIONS: dict[ConfigurationName, Configuration] = {
    "single": _single(ExactJudge),
    "arbiter": Configuration(writer=False, executor="none"),
    "writer": Configuration(executor="none"),
    "executor": Configuration(),
    "simulated": Configuration(executor="simulated"),
    "paper": Configuration(fixer="commands"),
    "spec": Configuration(
        fixer="actions", gates=True, scaffolding=True, specification=True, evidence="matches"
    ),
    "v1-exact": _single(ExactJudge),
    "v1-half": _single(HalfJudge, "half"),
}


# Agents who see a query and no code: one reply serves all candidates that ask for it.
OF_QUERIES = (Specifier.role, ValueReader.role)


def configuration_of(settings: AnnotationSettings) -> Configuration:
    """Return the configuration that the settings name, with their choices."""
    configuration = CONFIGURATIONS[settings.configuration]
    if settings.evidence != "auto" and configuration.writer:
        configuration = replace(configuration, evidence=settings.evidence)
    return configuration
