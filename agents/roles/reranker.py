"""The re-ranker: puts the first results of a retrieval method into a better order."""

from collections.abc import Sequence

from agents.evidence import Evidence
from agents.llm.client import LanguageModel
from agents.llm.prompt import Prompt, fence, shorten, system_text
from agents.llm.structured_output import Reply
from infra.records import Code, Query


class Order(Reply):
    """Numbers of the functions, the best first."""

    order: list[int]


class Reranker:
    """Asks a language model for a permutation of a short list (Sun et al. 2023, RankGPT)."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    async def order(self, query: Query, codes: Sequence[Code], evidence: Evidence) -> list[int]:
        """Return positions in ``codes``, the best first.

        What the model repeats or invents is passed over; what it leaves out follows in the old
        order.

        Raises:
            LanguageModelError: The model failed.
        """
        limit = self._model.code_limit // max(len(codes), 1)
        fenced = [
            fence(f"function {number}", shorten(code.text, limit))
            for number, code in enumerate(codes, 1)
        ]
        user = "\n".join((fence("query", query.text), *fenced))
        prompt = Prompt(system=system_text("reranker"), user=user)
        reply = await self._model.ask("reranker", prompt, Order, evidence)
        chosen = [number - 1 for number in reply.order if 1 <= number <= len(codes)]
        return list(dict.fromkeys([*chosen, *range(len(codes))]))
