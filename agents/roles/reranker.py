"""The re-ranker, which re-orders the first results of a retrieval method."""

from collections.abc import Sequence

from agents.llm.prompt import fence, shorten
from agents.llm.structured_output import Reply
from agents.roles.base import Agent
from infra.records import Code, Query


class Order(Reply):
    """Numbers of the codes, the best first."""

    order: list[int]


class Reranker(Agent[Order]):
    """Asks a language model for a permutation of a short list (Sun et al. 2023, RankGPT)."""

    role = "reranker"
    reply_type = Order

    async def order(self, query: Query, codes: Sequence[Code]) -> list[int]:
        """Return positions in ``codes``, the best first.

        Numbers that the model repeats or invents are skipped; those that it leaves out follow in
        the old order. Fewer than two codes have one order, for which no model is asked.

        Raises:
            LanguageModelError: The model failed.
        """
        if len(codes) < 2:
            return list(range(len(codes)))
        limit = self._model.code_limit // len(codes)
        fenced = [
            fence(f"code {number}", shorten(code.text, limit))
            for number, code in enumerate(codes, 1)
        ]
        reply = await self._ask("\n".join((fence("query", query.text), *fenced)))
        chosen = [number - 1 for number in reply.order if 1 <= number <= len(codes)]
        return list(dict.fromkeys([*chosen, *range(len(codes))]))
