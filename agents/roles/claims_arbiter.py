"""The arbiter of pairs for which reading and running do not agree."""

from collections.abc import Mapping, Sequence

from agents.claims.claim import Claim
from agents.claims.program import ClaimRun
from agents.gates.beside import usable
from agents.llm.prompt import fence, pair_section, shorten
from agents.roles.base import Agent, Judgement, beside_section
from agents.roles.specified_screener import SpecifiedScreening
from agents.roles.specifier import Specification
from infra.records import Pair

_TOLD = {"held": "gave that", "failed": "gave", "not_run": "could not be run:"}


class ClaimsArbiter(Agent[Judgement]):
    """Judges by the specification, the first reading, and what the code gave for each claim."""

    role = "claims_arbiter"
    reply_type = Judgement

    async def judge(
        self,
        pair: Pair,
        specification: Specification,
        screening: SpecifiedScreening,
        runs: Sequence[ClaimRun],
        read: Mapping[Claim, str],
        problem: str,
    ) -> Judgement:
        """Return the judgement; ``LanguageModelError`` when the model fails.

        Args:
            pair: The pair.
            specification: The query's.
            screening: The first reading, with the adapter by which the claims were run.
            runs: What the code gave for each claim.
            read: For claims that it did not hold, the value that a reader without code demands.
            problem: Why no claim was run, "" where some were.
        """
        limit = self._model.code_limit
        lines = "\n".join(_line(run, read.get(run.claim, "")) for run in runs)
        parts = (
            specification.section(limit, examples=False),
            pair_section(pair, limit),
            fence("first reading", f"{screening.verdict}: {screening.reason}"),
            fence("adapter", shorten(screening.adapter, limit)),
            *beside_section(usable(screening.beside, pair.code.text)),
            fence("calls", shorten(lines or problem, limit)),
        )
        return await self._ask("\n".join(parts))


def _line(run: ClaimRun, read: str) -> str:
    told = " ".join(f"{_TOLD[run.outcome]} {run.gave}".splitlines()).strip()  # none begins another
    line = f"{run.claim} | the code {told}"
    return (
        f"{line} | a reader who saw no code demands {' '.join(read.splitlines())}" if read else line
    )
