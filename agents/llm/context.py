"""Servers that drop a part of long prompts in silence, as those with a small context do.

Only their counts of prompt tokens tell. These are a reason to suspect it where two prompts have the
same number and none has more, where a prompt has fewer tokens than words, or a power of two. Then
a prompt of more words than that shows it: a word is a token or more.
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from itertools import cycle, islice

from agents.llm.reply import HARMLESS, Request
from agents.llm.retry import MORE_CONTEXT, RequestError
from infra.errors import PromptsCutError
from infra.settings import LanguageModelSettings

_SMALLEST = 256  # tokens; no server has such a context
_MARGIN = 1.25
_WORDS = ("file", "list", "text", "code", "line", "time", "path", "data", "name", "size")

_log = logging.getLogger(__name__)


class ContextCheck:
    """Checks that prompts are read whole, by the counts of their tokens.

    Args:
        settings: The model.
        count: Returns how many tokens the server counts in a request, None for no count.

    Attributes:
        error: The error of a server that cuts prompts; None until that is known.
        keys: Keys of the prompts of the most tokens.
    """

    def __init__(
        self,
        settings: LanguageModelSettings,
        count: Callable[[Request], Awaitable[int | None]],
    ) -> None:
        self.error: PromptsCutError | None = None
        self.keys: set[str] = set()
        self._model, self._variables = settings.model, settings.variables
        self._count = count
        self._most = 0
        self._known: float = 0  # so many tokens are read
        self._asking = asyncio.Lock()

    async def check(
        self, key: str, request: Request, tokens: int | None, *, is_kept: bool = False
    ) -> None:
        """Check a request by its prompt's tokens as the server counts them.

        A kept reply counts, and asks the server nothing: pairs are judged again without a model.

        Raises:
            PromptsCutError: The server cuts prompts.
        """
        if tokens is None or tokens < _SMALLEST:
            return
        words = sum(len(message["content"].split()) for message in request.messages)
        is_like_another = tokens == self._most and key not in self.keys
        if tokens > self._most:
            self._most, self.keys = tokens, set()
        if tokens == self._most:
            self.keys.add(key)
        is_suspect = is_like_another or tokens < words or tokens.bit_count() == 1
        if is_suspect and not is_kept:
            async with self._asking:
                if not self.error and self._known < max(tokens, words):
                    await self._probe(tokens, math.ceil(max(tokens, words) * _MARGIN))
        if self.error:
            raise self.error

    async def _probe(self, tokens: int, words: int) -> None:
        """Note whether the server reads a prompt of so many words."""
        self._known = words
        [system, user] = HARMLESS.messages
        text = f"{' '.join(islice(cycle(_WORDS), words))}\n{user['content']}"
        messages = (system, {**user, "content": text})
        try:
            few = await self._count(HARMLESS)
            read = await self._count(HARMLESS.model_copy(update={"messages": messages}))
        except RequestError as error:
            _log.warning(
                "several prompts for %s have %s tokens by its count; whether it reads more is "
                "unknown (%s: %s)", self._model, f"{tokens:,}", error.status, error.message,
            )  # fmt: skip
            return
        if few is None or read is None or few >= _SMALLEST or read >= words:
            return
        self.error = PromptsCutError(
            f"{self._model} reads only a part of long prompts: by its count the longest ones here "
            f"have {tokens:,} tokens, and one of {words:,} words has {read:,}. The rest is lost, "
            f"so that no label rests on them: {MORE_CONTEXT}; or cut code to fewer characters by "
            f"{self._variables}MAX_CODE_CHARACTERS. Then run the same command again",
            tokens,
        )
