"""The probe that tells a refusal of one prompt from one of every request."""

import asyncio
from collections.abc import Awaitable, Callable

from agents.llm.retry import RequestError


class Probe:
    """Asks whether a provider answers a harmless request now, once for all who want to know.

    Args:
        ask: Makes the harmless request.
    """

    def __init__(self, ask: Callable[[], Awaitable[object]]) -> None:
        self._ask = ask
        self._answers = 0
        self._asking = asyncio.Lock()

    def note_answer(self) -> None:
        """Note that the provider has answered a request, whichever."""
        self._answers += 1

    async def is_answered(self) -> bool:
        """Return whether the provider answers.

        Raises:
            RequestError: It cannot be told: no answer came.
        """
        before = self._answers
        async with self._asking:
            if self._answers > before:
                return True
            try:
                await self._ask()
            except RequestError as error:
                if error.kind == "transient":
                    raise
                return False
            return True
