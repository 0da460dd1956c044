"""A provider that keeps its own bill, and a transport to it, both in this process.

It answers, fails, lies about its counts, hangs up after it has billed and takes its time, all drawn
from a seed. What it bills is true, whatever it tells.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from random import Random
from types import SimpleNamespace
from typing import Any

from agents.llm.litellm_transport import raw_reply
from agents.llm.reply import RawReply, TokenLimits
from agents.llm.retry import RequestError
from infra.identity import digest_of

PROMPT_USD, COMPLETION_USD = 1e-6, 2e-6  # a token
MAX_TOKENS = 200

_FREE = ((429, "slow down"), (500, "oops"), (503, ""), (413, "long"))
_ABSURD: tuple[Any, ...] = (
    0,
    2**70,
    -5,
    None,
    "12 tokens",
    0.5,
    float("nan"),
    float("inf"),
    True,
    [3],
)


class BillingProvider:
    """Answers by chance and bills what it answers.

    Args:
        random: Draws what happens.
        look: Called whenever something was billed, with this provider.
        is_priced: Whether clients know its price before they ask.
        faults: The share of requests that end otherwise than by a plain reply.
    """

    def __init__(
        self,
        random: Random,
        look: Callable[["BillingProvider"], None],
        *,
        is_priced: bool,
        faults: float,
    ) -> None:
        self.usd = 0.0
        self.billed: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()  # billed without a reply that arrived
        self.on_the_wire: dict[int, str] = {}  # number of a bill, not known to be kept → key
        self.is_priced = is_priced
        self._random = random
        self._look = look
        self.faults = faults

    def price_of(self, limits: TokenLimits) -> float | None:
        """Return the price as clients know it."""
        return price(*limits) if self.is_priced else None

    async def answer(self, messages: Sequence[dict[str, str]]) -> RawReply:
        """Return a reply, or raise what a client sees.

        Raises:
            RequestError: No reply arrived; it may have been billed all the same.
        """
        draw = self._random
        key = key_of(messages)
        await self._pass_time()
        if draw.random() < self.faults / 2:
            status, message = draw.choice(_FREE)
            raise RequestError(status, message)
        size = sum(len(message["content"].encode()) for message in messages)
        prompt = draw.choice((size, draw.randint(1, size)))  # of digits, each one a token
        completion = draw.choice((MAX_TOKENS, draw.randint(1, MAX_TOKENS)))
        number = self.bill(key, prompt, completion)
        self.on_the_wire[number] = key
        await self._pass_time()
        if draw.random() < self.faults / 2:
            self.lost[self.on_the_wire.pop(number)] += 1
            raise RequestError(draw.choice((408, 502)), "lost", may_be_billed=True)
        return self._told(number, prompt, completion)

    def die(self, kept: Collection[int]) -> list[str]:
        """Count as lost what is not kept when the clients have ended; return its keys."""
        gone = [key for number, key in self.on_the_wire.items() if number not in kept]
        self.lost.update(gone)
        self.on_the_wire.clear()
        return gone

    def _told(self, number: int, prompt: int, completion: int) -> RawReply:
        """Return the reply with counts that are true, or cannot be."""
        draw = self._random
        counts = told_counts(draw, self.faults, prompt, completion)
        message = SimpleNamespace(content=told_reply(draw, self.faults, number))
        response = SimpleNamespace(
            choices=[SimpleNamespace(message=message)],
            usage=SimpleNamespace(prompt_tokens=counts[0], completion_tokens=counts[1]),
            _hidden_params={"response_cost": told_price(*counts)},
        )
        return raw_reply(response)

    def bill(self, key: str, prompt: int, completion: int, share: float = 1.0) -> int:
        """Bill a request, at a share of the price; return the number of the bill."""
        self.usd += share * price(prompt, completion)
        self.billed[key] += 1
        self._look(self)
        return self.billed.total()

    async def _pass_time(self) -> None:
        for _ in range(self._random.randint(1, 6)):
            await asyncio.sleep(0)


class BilledTransport:
    """The transport of one client to the provider."""

    def __init__(self, provider: BillingProvider) -> None:
        self._provider = provider

    async def request(
        self, messages: Sequence[dict[str, str]], schema: object, form: object
    ) -> RawReply:
        """Return the provider's reply."""
        return await self._provider.answer(messages)

    def price_of(self, limits: TokenLimits) -> float | None:
        """Return the provider's price."""
        return self._provider.price_of(limits)

    async def close(self) -> None:
        """Do nothing."""


def key_of(messages: Sequence[dict[str, str]]) -> str:
    """Return what a request is known by; the system's text has the form of the reply in it."""
    return digest_of(list(messages[1:]))


def told_counts(draw: Random, faults: float, prompt: int, completion: int) -> list[Any]:
    """Return the counts that are told, of which one cannot be true by chance."""
    counts: list[Any] = [prompt, completion]
    if draw.random() < faults:
        counts[draw.randrange(2)] = draw.choice(_ABSURD)
    return counts


def told_reply(draw: Random, faults: float, number: int) -> str:
    """Return a reply with the number of its bill, which is unreadable by chance."""
    verdict = '{"verdict": "yes"}' if draw.random() > faults / 4 else "well..."
    return f"bill {number}:</think>{verdict}"


def price(prompt: float, completion: float) -> float:
    """Return the US dollars for so many tokens."""
    return prompt * PROMPT_USD + completion * COMPLETION_USD


def told_price(prompt: Any, completion: Any) -> float | None:
    """Return the price that comes of counts that were told, None where none does."""
    try:
        return price(prompt, completion)
    except TypeError:
        return None
