"""Requests about several items at once, by a model that writes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from infra.errors import LanguageModelError, SettingsError
from infra.settings import LanguageModelSettings

Item = TypeVar("Item")


def require_writer(llm: LanguageModelSettings) -> None:
    """Refuse recorded replies, which are of their own pairs alone."""
    if llm.is_recorded:
        raise SettingsError(f"{llm.model} cannot write anything: name a model with --model")


async def ask_each(
    items: Iterable[Item],
    ask: Callable[[Item], Awaitable[None]],
    at_once: int,
    advance: Callable[[int], None],
) -> None:
    """Ask about items, several at once; call ``advance`` after each.

    Raises:
        LanguageModelError: The first that was raised; by then those in flight have ended.
    """
    queue, errors = iter(items), list[LanguageModelError]()

    async def take() -> None:
        for item in queue:
            try:
                await ask(item)
            except LanguageModelError as error:
                errors.append(error)
            if errors:
                return
            advance(1)

    await asyncio.gather(*(take() for _ in range(at_once)))
    if errors:
        raise errors[0]
