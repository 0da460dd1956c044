"""The writer of answers to queries that no code of a collection answers."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from agents.llm.prompt import fence, shorten
from agents.llm.structured_output import Reply
from agents.roles.base import Agent
from infra.records import Query

_FENCE = re.compile(r"\A```[\w+-]*\n(.*?)\n?```\Z", re.DOTALL)


class WrittenCode(Reply):
    """An answer to the query."""

    code: str


class RefusedCode(NamedTuple):
    """An earlier answer, and what was wrong with it."""

    code: str
    reason: str


class CodeWriter(Agent[WrittenCode]):
    """Writes code that answers a query (arXiv 2406.11589v1, generation of missing code)."""

    role = "code_writer"
    reply_type = WrittenCode

    async def write(
        self, query: Query, refused: Sequence[RefusedCode] = (), *, snippets: bool = False
    ) -> str:
        """Return code that is to answer the query, without marks of Markdown around it.

        Args:
            query: The query.
            refused: Answers that were written before, oldest first.
            snippets: Say that it need be no function.

        Raises:
            LanguageModelError: The model failed.
        """
        limit = self._model.code_limit
        parts = [fence("query", query.text)]
        for earlier in refused:
            parts.append(fence("answer that was refused", shorten(earlier.code, limit)))
            parts.append(fence("why it was refused", shorten(earlier.reason, limit)))
        if snippets:
            parts.append("A snippet without a function will do too.")
        if refused:
            parts.append("Write a better answer.")
        reply = await self._ask("\n".join(parts))
        return _FENCE.sub(r"\1", reply.code.strip())
