"""The batch API of the provider that keeps its own bill, in this process.

Batches end in any way, lines are lost or spoilt after they were billed, requests to the API fail
before or after they had their effect, all drawn from a seed.
"""

import asyncio
import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from agents.llm.batch.api import ENDED, ProviderBatch
from agents.llm.question import TokenLimits
from agents.llm.retry import RequestError
from tests.fakes.billing import (
    MAX_TOKENS,
    BillingProvider,
    key_of,
    told_counts,
    told_price,
    told_reply,
)

SHARE = 0.5  # of the usual price

_PASSING = ((429, "slow down"), (500, "oops"), (503, ""))
_UNKNOWN = (404, 405)
_SPOILT = (b"", b"{\n", b"\xff\xfe\n")


class BillingBatches:
    """Files and batches; what is answered is billed at once, whether anybody fetches it or not.

    Args:
        provider: Has the bill and the price.
        random: Draws what happens.
        pass_by: Called before and after each effect; it may end the process.
    """

    def __init__(
        self, provider: BillingProvider, random: Random, pass_by: Callable[[], None]
    ) -> None:
        self._provider = provider
        self._random = random
        self._pass_by = pass_by
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, ProviderBatch] = {}  # by our name of them
        self._requests: dict[str, list[dict[str, Any]]] = {}
        self._bills: dict[str, dict[int, str]] = {}  # of batches that are not denied: bill → key
        self._of_replies: set[str] = set()  # files
        self._numbers = count(1)

    def price_of(self, model: str, limits: TokenLimits) -> float | None:
        """Return the price of a request as clients know it."""
        usd = self._provider.price_of(limits)
        return None if usd is None else SHARE * usd

    def price_of_usage(self, model: str, usage: Any) -> float | None:
        """Return the price that comes of what a reply tells."""
        usd = told_price(usage.prompt_tokens, usage.completion_tokens)
        return SHARE * usd if self._provider.is_priced and usd is not None else None

    async def upload(self, file: Path) -> str:
        """Take a file."""
        self._may_fail()
        name = self._keep(await asyncio.to_thread(file.read_bytes))
        self._may_lose_the_answer()
        return name

    async def create(self, file_id: str, mark: str) -> ProviderBatch:
        """Make a batch."""
        self._may_fail()
        assert mark not in self._batches, "one batch is made twice"
        rows = [json.loads(line) for line in self._files[file_id].splitlines()]
        name = f"batch-{next(self._numbers)}"
        self._requests[mark] = rows
        self._bills[mark] = {}
        self._batches[mark] = ProviderBatch(batch_id=name, status="validating", mark=mark)
        self._may_lose_the_answer()
        return self._batches[mark]

    async def retrieve(self, batch_id: str) -> ProviderBatch:
        """Return the state of a batch, which ends by chance."""
        mark = next(mark for mark, one in self._batches.items() if one.batch_id == batch_id)
        self._may_fail(mark)
        batch = self._batches[mark]
        if batch.status not in ENDED and self._random.random() < 0.6:
            self._batches[mark] = self._ended(batch)
        self._may_lose_the_answer()
        return self._batches[mark]

    async def find(self, mark: str) -> ProviderBatch | None:
        """Return the batch of our name."""
        self._may_fail(mark)
        return self._batches.get(mark)

    async def download(self, file_id: str, to: Path) -> None:
        """Write a file of results."""
        marks = (mark for mark, one in self._batches.items() if file_id in one.files)
        self._may_fail(next(marks), is_lost=file_id in self._of_replies)
        content = self._files[file_id]
        is_cut = self._is_faulty(4)
        part = content[: len(content) // 2] if is_cut else content
        await asyncio.to_thread(to.write_bytes, part)
        if is_cut:
            raise RequestError(503, "cut off")

    def arrived(self) -> set[int]:
        """Return the numbers of the bills whose replies can be fetched."""
        return {number for bills in self._bills.values() for number in bills}

    async def close(self) -> None:
        """Do nothing."""

    def _ended(self, batch: ProviderBatch) -> ProviderBatch:
        if self._is_faulty(4):
            problem = self._random.choice(("token_limit_exceeded: full", "invalid: no model"))
            batch = batch.model_copy(update={"status": "failed", "problem": problem})
            return self._with_files(batch, "failed") if self._random.random() < 0.5 else batch
        status = "completed"
        if self._is_faulty(3):
            status = self._random.choice(("expired", "cancelled"))
        return self._with_files(batch, status)

    def _with_files(self, batch: ProviderBatch, status: str) -> ProviderBatch:
        files = [b"", b""]
        for row in self._requests[batch.mark]:
            line, is_error = self._line(row, batch.mark, is_complete=status == "completed")
            files[is_error] += line
        names = tuple(self._keep(content) for content in files if content)
        self._of_replies.update(names[: bool(files[0])])
        return batch.model_copy(update={"status": status, "files": names})

    def _line(self, row: dict[str, Any], mark: str, *, is_complete: bool) -> tuple[bytes, bool]:
        """Return a line of results, and whether it is an error's; bill what is answered."""
        draw, key = self._random, row["custom_id"]
        if not is_complete and draw.random() < 0.5:
            error = {"code": "batch_expired", "message": "too late"}
            return _line(key, None, error), True
        if self._is_faulty(4):
            status = draw.choice((400, 429, 500))
            return _line(key, {"status_code": status, "body": {"error": {}}}), True
        return self._answer(key, row["body"]["messages"], mark), False

    def _answer(self, name: str, messages: list[dict[str, str]], mark: str) -> bytes:
        draw, faults, key = self._random, self._provider.faults, key_of(messages)
        size = sum(len(message["content"].encode()) for message in messages[1:])
        prompt, completion = draw.randint(1, size), draw.randint(1, MAX_TOKENS)
        number = self._provider.bill(key, prompt, completion, SHARE)
        content = told_reply(draw, faults, number)
        counts = told_counts(draw, faults, prompt, completion)
        usage = dict(zip(("prompt_tokens", "completion_tokens"), counts, strict=True))
        body: dict[str, Any] = {
            "choices": [{"index": 0, "message": {"role": "assistant", "content": content}}],
            "usage": usage,
        }
        if self._is_faulty(8):
            self._provider.lost[key] += 1
            unreadable = _line(name, {"status_code": 200, "body": {"choices": []}})
            return draw.choice((*_SPOILT, unreadable))
        self._bills[mark][number] = key
        return _line(name, {"status_code": 200, "body": body})

    def _keep(self, content: bytes) -> str:
        name = f"file-{next(self._numbers)}"
        self._files[name] = content
        return name

    def _is_faulty(self, part: int) -> bool:
        return self._random.random() < self._provider.faults / part

    def _may_fail(self, mark: str = "", *, is_lost: bool = True) -> None:
        """Fail by chance without any effect; replies that are denied may be paid for again."""
        self._pass_by()
        if self._is_faulty(4):
            raise RequestError(*self._random.choice(_PASSING))
        if mark and self._is_faulty(20):
            if is_lost:
                self._provider.lost.update(self._bills.get(mark, {}).values())
                self._bills[mark] = {}
            raise RequestError(self._random.choice(_UNKNOWN), "no such batch")

    def _may_lose_the_answer(self) -> None:
        self._pass_by()
        if self._is_faulty(4):
            raise RequestError(self._random.choice((408, 503)), "lost")


def _line(key: str, response: object, error: object = None) -> bytes:
    return json.dumps({"custom_id": key, "response": response, "error": error}).encode() + b"\n"
