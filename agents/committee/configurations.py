"""Which of the agents take part: the rows of the paper's ablation, and the gates on top."""

from dataclasses import dataclass
from typing import Literal

from infra.records import Role
from infra.settings import Configuration


@dataclass(frozen=True)
class Plan:
    """What is done with a pair; without screening the arbiter judges every pair by reading.

    Attributes:
        screens: Clear pairs are settled by reading alone.
        writes: Unclear pairs get a test program.
        runs: Where the program runs: nowhere, in a box, or in a model's imagination.
        mends: Programs that cannot be executed are mended.
        gated: Programs must prove themselves, and a failure is confirmed by a second program.
    """

    screens: bool = True
    writes: bool = True
    runs: Literal["nowhere", "box", "imagination"] = "box"
    mends: bool = False
    gated: bool = False

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles in which models are asked, in order."""
        takes_part: dict[Role, bool] = {
            "screener": self.screens,
            "writer": self.writes,
            "blind_writer": self.gated,
            "simulator": self.runs == "imagination",
            "fixer": self.mends,
            "arbiter": self.writes,
            "judge": not self.writes,
        }
        return tuple(role for role, taken in takes_part.items() if taken)


PLANS: dict[Configuration, Plan] = {
    "single": Plan(screens=False, writes=False, runs="nowhere"),
    "arbiter": Plan(writes=False, runs="nowhere"),
    "writer": Plan(runs="nowhere"),
    "executor": Plan(),
    "simulated": Plan(runs="imagination"),
    "paper": Plan(mends=True),
    "gated": Plan(mends=True, gated=True),
}
