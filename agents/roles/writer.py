"""The test-program generator: a program whose run shows whether the code answers the query."""

from agents.evidence import Draft, Evidence
from agents.llm.client import Model
from agents.llm.prompt import Prompt, fence, question_of, shorten, system_text
from agents.llm.structured_output import Reply
from infra.languages.python.signature import signature_of
from infra.records import Pair, Role


class Composition(Reply):
    """One reading of the query and the program that tests it."""

    reading: str
    program: str


class Writer:
    """Writes the test program of an unclear pair (CoSQA+, Algorithm 1)."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def write(self, pair: Pair, evidence: Evidence) -> Draft:
        """Return a first program; ``LanguageModelError`` when the model fails."""
        return await self._compose("writer", question_of(pair, self._model.code_limit), evidence)

    async def write_blind(self, pair: Pair, evidence: Evidence) -> Draft:
        """Return a program by the query and the code's signature alone.

        Whoever has not read the code cannot take its mistakes for what is wanted.
        """
        signature = shorten(signature_of(pair.code.text), self._model.code_limit)
        user = "\n".join((fence("query", pair.query.text), fence("signature", signature)))
        return await self._compose("blind_writer", user, evidence)

    async def rewrite(self, pair: Pair, draft: Draft, reason: str, evidence: Evidence) -> Draft:
        """Return another program in place of one that proves nothing.

        Args:
            pair: The pair under test.
            draft: The program; what was installed for it stays installed.
            reason: What is wrong with it, surviving mutants included.
            evidence: Gets the call.
        """
        limit = self._model.code_limit
        parts = (
            question_of(pair, limit),
            fence("program that proves nothing", shorten(draft.program, limit)),
            fence("why it proves nothing", shorten(reason, limit)),
            "Write a better program.",
        )
        written = await self._compose("writer", "\n".join(parts), evidence)
        return written.model_copy(update={"requirements": draft.requirements})

    async def _compose(self, role: Role, user: str, evidence: Evidence) -> Draft:
        prompt = Prompt(system=system_text(role), user=user)
        written = await self._model.ask(role, prompt, Composition, evidence)
        return Draft(reading=written.reading, program=written.program)
