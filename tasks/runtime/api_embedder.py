"""Embedding by an API: requests from this process, since no worker computes anything."""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from agents.llm.embeddings import EmbeddingLimits, EmbeddingModel
from agents.llm.ledger import journal_ledger
from infra.errors import EncoderError, TextsDeclinedError
from infra.settings import EncoderSettings, StoreSettings
from infra.summaries import NO_EFFORT, EncodingEffort
from tasks.encoders import ApiSpec, Kind, encoders
from tasks.runtime.vector_writer import EmbeddedBatch

_BATCH, _CONCURRENCY = 64, 4
_SHOWN_TEXTS, _SHOWN_CHARACTERS = 20, 60  # in a message


def embed_batches_by_api(
    encoder: str,
    batches: Iterable[tuple[Kind, Sequence[str]]],
    settings: EncoderSettings,
    store: StoreSettings,
) -> Iterator[EmbeddedBatch]:
    """Yield batches with their unit vectors, one after the other.

    Batches with texts that the API won't embed are left out, and an error names these at the end.

    Raises:
        EncoderError: The encoder is no API.
        TextsDeclinedError: It won't embed some texts; all others have been embedded and stored.
        LanguageModelError: It gave no answer, or the budget is spent.
    """
    spec = encoders.get(encoder).spec
    if not isinstance(spec, ApiSpec):
        raise EncoderError(f"encoder {encoder!r} is no API")
    limits = EmbeddingLimits(
        max_tokens=spec.max_length,
        dimension=spec.dimension if spec.shortened else None,
        batch_size=settings.batch_size or _BATCH,
        concurrency=settings.actors or _CONCURRENCY,
    )
    api = settings.of_api(spec.model)
    model = EmbeddingModel(api, limits, journal_ledger(store, api))
    declined: list[TextsDeclinedError] = []
    with asyncio.Runner() as runner:
        try:
            for number, (_, texts) in enumerate(batches):
                texts_before, tokens_before = model.texts, model.tokens
                started = time.monotonic()
                try:
                    vectors = runner.run(model.embed(texts)).astype(np.float64)
                except TextsDeclinedError as error:
                    declined.append(error)
                else:
                    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
                    effort = EncodingEffort(
                        texts=model.texts - texts_before,
                        seconds=time.monotonic() - started,
                        tokens=model.tokens - tokens_before,
                        machines=frozenset({"API"}),
                    )
                    is_asked = effort.texts > 0  # else all were cached
                    yield EmbeddedBatch(
                        number,
                        vectors.astype(np.float32),
                        effort if is_asked else NO_EFFORT,
                    )
        finally:
            runner.run(model.close())
    if declined:
        texts = [text for error in declined for text in error.texts]
        named = ", ".join(repr(text[:_SHOWN_CHARACTERS]) for text in texts[:_SHOWN_TEXTS])
        raise TextsDeclinedError(
            f"{declined[0]}: {named}. All others are embedded and stored: leave these out of "
            "their source and run the same command again, or take another encoder",
            texts,
        )
