"""The test-program generator: a program whose run shows whether the code answers the query."""

from agents.evidence import Draft, Evidence
from agents.language_model import LanguageModel
from agents.prompting import Prompt, question_of, system_text
from agents.structure import Reply
from infra.records import Pair


class Composition(Reply):
    """One reading of the query and the program that tests it."""

    reading: str
    program: str


class Writer:
    """Writes the test program of an unclear pair (CoSQA+, Algorithm 1)."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    async def write(self, pair: Pair, evidence: Evidence) -> Draft:
        """Return a first program; ``LanguageModelError`` when the model fails."""
        user = question_of(pair, self._model.code_limit)
        prompt = Prompt(system=system_text("writer"), user=user)
        written = await self._model.ask("writer", prompt, Composition, evidence)
        return Draft(reading=written.reading, program=written.program)
