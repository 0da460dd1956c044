"""The client of embedding APIs: batched, cached, retried, within limits and budget.

Each vector is cached under the hash of model and text before it is used, so that none is paid for
twice.
"""

import asyncio
import base64
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.llm.ledger import Ledger
from agents.llm.litellm_transport import error_of_litellm, litellm_parameters, loaded_litellm
from agents.llm.price_list import prices_of
from agents.llm.reply import RawReply, TokenLimits, believable
from agents.llm.retry import Probe, RequestError, RetryClient
from infra.errors import LanguageModelError, TextsDeclinedError
from infra.identity import digest_of
from infra.records import Record
from infra.settings import EmbeddingModelSettings

Vectors = npt.NDArray[np.float32]

_TOKENIZER = (
    "text-embedding-3-large"  # OpenAI's cl100k, which litellm carries; near enough elsewhere
)
_MOST_TOKENS = 250_000  # in one request; OpenAI takes 300,000
_HARMLESS = "read a file"
_NUMBER = np.dtype("<f4")


class EmbeddingLimits(Record):
    """The limits of one request to an embedding API.

    Attributes:
        max_tokens: Tokens of a text; longer ones are cut.
        dimension: Numbers in a vector to ask for, None for the model's own.
        batch_size: Texts in a request.
        concurrency: Requests at once.
    """

    max_tokens: int
    dimension: int | None = None
    batch_size: int = 64
    concurrency: int = 4


class EmbeddingModel:
    """A client of one embedding model.

    Args:
        settings: Which model and how.
        limits: Those of a request.
        ledger: Cache of vectors, which are looked up before anything is paid for; has the limits
            and the budget that all workers share.

    Attributes:
        texts: Number of texts that were sent and answered.
        tokens: What was billed for them.
    """

    def __init__(
        self, settings: EmbeddingModelSettings, limits: EmbeddingLimits, ledger: Ledger
    ) -> None:
        self.texts = self.tokens = 0
        self._model = settings.model
        self._prices = prices_of(settings)
        self._limits = limits
        self._ledger = ledger
        self._size = limits.dimension or 0  # of a vector, once it is known
        self._parameters = {**litellm_parameters(settings), "encoding_format": "float"}
        if limits.dimension:
            self._parameters["dimensions"] = limits.dimension
        self._retries = RetryClient(settings)
        self._probe = Probe(lambda: self._retries.get(self._request, [_HARMLESS]))

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return (n, dimension) vectors in the order of the texts, not of unit length.

        Raises:
            ModelUnavailableError: No answer came after all retries.
            TextsDeclinedError: The API won't embed some of the texts; all others are cached.
            ModelRefusedError: The API would answer no such request: key, model, parameters.
            BudgetExhaustedError: The budget is spent.
        """
        different = list(dict.fromkeys(texts))
        found = await self._cached(different)
        self._size = self._size or next((vector.size for vector in found.values()), 0)
        missing = [text for text in different if text not in found]
        batches, failures = self._batches(missing), list[Exception]()
        declined: dict[str, RequestError] = {}

        async def work() -> None:
            for batch in batches:
                if failures:
                    return  # what is in flight is waited for: it will be billed
                try:
                    found.update(await self._embed_once(batch, declined))
                except (RequestError, LanguageModelError) as error:
                    failures.append(error)

        await asyncio.gather(*(work() for _ in range(self._limits.concurrency)))
        if failures and isinstance(failures[0], RequestError):
            self._retries.raise_for(failures[0])
        if failures:
            raise failures[0]
        if declined:
            error = next(iter(declined.values()))
            raise TextsDeclinedError(
                f"{self._model} won't embed {len(declined):,} of the texts "
                f"({error.status}: {error.message})",
                [*declined],
            )
        return np.stack([found[text] for text in texts])

    async def close(self) -> None:
        """Close the connections."""
        litellm = loaded_litellm()
        await self._ledger.close()
        await litellm.close_litellm_async_clients()
        litellm.in_memory_llm_clients_cache.flush_cache()  # it would hand out closed clients

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """Yield texts in batches that one request may hold."""
        batch: list[str] = []
        tokens = 0
        for text in texts:
            more = self._most_tokens(text)
            if batch and (len(batch) == self._limits.batch_size or tokens + more > _MOST_TOKENS):
                yield batch
                batch, tokens = [], 0
            batch.append(text)
            tokens += more
        if batch:
            yield batch

    async def _embed_once(
        self, texts: Sequence[str], declined: dict[str, RequestError]
    ) -> dict[str, Vectors]:
        """Return text → vector; vectors that others are paying for are not paid for again."""
        async with self._ledger.asking(self._cache_key(text) for text in texts):
            found = await self._cached(texts)
            missing = [text for text in texts if text not in found]
            if missing:
                found.update(await self._embed_all_but(declined, missing))
        return found

    async def _embed_all_but(
        self, declined: dict[str, RequestError], texts: Sequence[str]
    ) -> dict[str, Vectors]:
        """Return text → vector; add those that the API won't embed to ``declined``.

        A provider's firewall may refuse a request for one of its texts, with any status; a model
        may have no vector of numbers for a text. The others of a request are not paid for again.
        """
        try:
            found = await self._retries.get(self._request, texts)
        except RequestError as error:
            is_of_texts = error.kind in ("too_long", "filtered")
            if not is_of_texts and not (
                error.may_be_of_the_prompt and await self._probe.is_answered()
            ):
                raise
            if len(texts) == 1:
                declined[texts[0]] = error
                return {}
        else:
            rest = [text for text in texts if text not in found]
            return found | (await self._embed_all_but(declined, rest) if rest else {})
        half = len(texts) // 2
        found = await self._embed_all_but(declined, texts[:half])
        return found | await self._embed_all_but(declined, texts[half:])

    async def _request(self, texts: Sequence[str]) -> dict[str, Vectors]:
        """Return text → vector where it is usable, cached before anything else happens to it."""
        cut = [self._cut(text) for text in texts]
        limits = TokenLimits(prompt=sum(self._most_tokens(text) for text in cut), completion=0)
        most_usd = self._prices and self._prices.usd(*limits)
        async with self._ledger.reserved(limits.total, most_usd) as commit:
            started = time.monotonic()
            response = await self._ledger.wait_for(self._send(cut))
            seconds = time.monotonic() - started
            prompt_tokens = getattr(getattr(response, "usage", None), "prompt_tokens", None)
            cost = getattr(response, "_hidden_params", {}).get("response_cost")
            reply = RawReply(text="", prompt_tokens=prompt_tokens, cost_usd=cost, seconds=seconds)
            is_priced = reply.cost_usd or self._prices  # else 0 says that the price is unknown
            if reply.prompt_tokens is None or not is_priced:
                reply = reply.model_copy(update={"cost_usd": None})
            reply = believable(reply, limits)
            places = vectors_of(response, len(texts), self._size)
            self._size = next(iter(places.values())).size
            vectors = {texts[place]: vector for place, vector in places.items()}
            cached = {
                self._cache_key(text): reply.model_copy(
                    update={"text": base64.b64encode(vector.tobytes()).decode()}
                )
                for text, vector in vectors.items()
            }
            tokens = reply.tokens or limits.total
            self.texts, self.tokens = self.texts + len(vectors), self.tokens + tokens
            await commit(tokens, reply.cost_usd, cached.items())
        self._probe.note_answer()
        return vectors

    async def _send(self, texts: Sequence[str]) -> Any:  # noqa: ANN401 - litellm has no types
        litellm = loaded_litellm()
        try:
            return await litellm.aembedding(input=list(texts), **self._parameters)
        except tuple(litellm.LITELLM_EXCEPTION_TYPES) as error:
            raise error_of_litellm(
                error, self._parameters["api_key"]
            ) from None  # its chain may hold request headers

    def _cut(self, text: str) -> str:
        """Return a text of at most the model's tokens; a blank for an empty one."""
        most = self._limits.max_tokens
        if len(text.encode()) <= most:  # a token has a byte or more
            return text or " "
        litellm = loaded_litellm()
        tokens = litellm.encode(model=_TOKENIZER, text=text)
        return (
            str(litellm.decode(model=_TOKENIZER, tokens=tokens[:most]))
            if len(tokens) > most
            else text
        )

    def _most_tokens(self, text: str) -> int:
        """Return the most tokens that a text may take, cut as it is sent; one is a byte or more."""
        return min(len(text.encode()), self._limits.max_tokens)

    def _cache_key(self, text: str) -> str:
        limits = self._limits
        return digest_of(["embedding", self._model, limits.dimension, limits.max_tokens, text])

    async def _cached(self, texts: Iterable[str]) -> dict[str, Vectors]:
        """Return text → vector for those that are cached."""
        replies = {text: await self._ledger.find(self._cache_key(text)) for text in texts}
        return {
            text: np.frombuffer(base64.b64decode(reply.text), _NUMBER)
            for text, reply in replies.items()
            if reply is not None
        }


def vectors_of(
    response: Any,  # noqa: ANN401 - litellm has no types
    number: int,
    size: int = 0,
) -> dict[int, Vectors]:
    """Return the usable vectors of a response, by the place of the text in the request.

    Args:
        response: The response.
        number: How many texts were in the request.
        size: Numbers in a vector, 0 where that is not known.

    Raises:
        RequestError: They are not as many as the texts, or not of one length, and another try may
            help; or none is usable, which may be because of the texts.
    """
    try:
        rows = {int(item["index"]): item["embedding"] for item in response.data}
        is_whole = len(response.data) == number and rows.keys() == set(range(number))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        message = f"an answer without usable vectors: {error!r}"
        raise RequestError(502, message, may_be_billed=True) from None
    found = {place: _usable(row, size) for place, row in rows.items()}
    vectors = {place: vector for place, vector in found.items() if vector is not None}
    if not is_whole or len({vector.size for vector in vectors.values()}) > 1:
        message = f"an answer without {number} vectors of one length"
        raise RequestError(502, message, may_be_billed=True)
    if not vectors:
        wanted = f" of {size} numbers" if size else ""
        raise RequestError(422, f"no usable vector{wanted} in the answer", may_be_billed=True)
    return vectors


def _usable(numbers: object, size: int) -> Vectors | None:
    """Return a vector, None for one of another size, zero or not finite, or for another object."""
    try:
        with np.errstate(over="ignore"):  # such a number is infinite
            vector = np.array(numbers, _NUMBER)
    except (TypeError, ValueError, OverflowError):
        return None
    is_vector = vector.ndim == 1 and vector.size == (size or vector.size)
    return vector if is_vector and np.isfinite(vector).all() and vector.any() else None
