"""Configurations of the committee: the rows of the paper's ablation, and the gated one."""

from dataclasses import dataclass
from typing import Any, Literal

from agents.roles.arbiter import Arbiter
from agents.roles.base import Agent
from agents.roles.fixer import Fixer
from agents.roles.judge import ExactJudge, HalfJudge, Judge
from agents.roles.screener import Screener
from agents.roles.simulator import Simulator
from agents.roles.writer import BlindWriter, Writer
from infra.settings import Configuration as ConfigurationName

# Raise it when the agents' order, the prompts' layout, the scaffolding or the mutants change.
ALGORITHM = "cosqa-plus-3"
_SIMULATED_ALGORITHM = "cosqa-plus-4"  # since its reports have no made-up counts
_STEPWISE_ALGORITHM = "cosqa-plus-5"  # since a single model reasons in three steps


AgentType = type[Agent[Any]]


@dataclass(frozen=True)
class Configuration:
    """Which agents take part; without screener and writer every pair is judged by reading.

    Attributes:
        screener: Whether clear pairs are decided by reading alone.
        writer: Whether unclear pairs get a test program.
        executor: Whether the program is run in a box, simulated by a model, or not run.
        fixer: Whether programs that cannot be executed are repaired.
        gates: Whether programs must pass the gates, and a failing one is confirmed by a second.
        judge: Who judges by reading where no test program is written.
        algorithm: The version of the algorithm; labels of another one are stale.
    """

    screener: bool = True
    writer: bool = True
    executor: Literal["none", "box", "simulated"] = "box"
    fixer: bool = False
    gates: bool = False
    judge: type[Judge | ExactJudge] = Judge
    algorithm: str = ALGORITHM

    @property
    def agents(self) -> tuple[AgentType, ...]:
        """The agents that ask a model, in order."""
        takes_part: dict[AgentType, bool] = {
            Screener: self.screener,
            Writer: self.writer,
            BlindWriter: self.gates,
            Simulator: self.executor == "simulated",
            Fixer: self.fixer,
            Arbiter: self.writer,
            self.judge: not self.writer,
        }
        return tuple(agent for agent, taken in takes_part.items() if taken)


def _single(judge: type[ExactJudge]) -> Configuration:
    return Configuration(
        screener=False, writer=False, executor="none", judge=judge, algorithm=_STEPWISE_ALGORITHM
    )


CONFIGURATIONS: dict[ConfigurationName, Configuration] = {
    "single": _single(ExactJudge),
    "arbiter": Configuration(writer=False, executor="none"),
    "writer": Configuration(executor="none"),
    "executor": Configuration(),
    "simulated": Configuration(executor="simulated", algorithm=_SIMULATED_ALGORITHM),
    "paper": Configuration(fixer=True),
    "gated": Configuration(fixer=True, gates=True),
    "tested": Configuration(screener=False, fixer=True, gates=True),
    "v1-exact": _single(ExactJudge),
    "v1-half": _single(HalfJudge),
}
