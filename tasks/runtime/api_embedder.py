"""Embedding by an API: requests from this process, since no worker computes anything."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from agents.llm.embeddings import EmbeddingLimits, embedding_model
from infra.errors import EncoderError, TextsDeclinedError
from infra.settings import EncoderSettings, StoreSettings
from tasks.encoders import Kind, Vectors, encoders
from tasks.encoders._api import ApiSpec

_BATCH, _CONCURRENCY = 64, 4


def embed_batches_by_api(
    encoder: str,
    batches: Iterable[tuple[Kind, Sequence[str]]],
    settings: EncoderSettings,
    store: StoreSettings,
) -> Iterator[tuple[int, Vectors]]:
    """Yield (number of the batch, its vectors), one batch after the other.

    Batches with texts that the API won't embed are left out, and these texts told at the end.

    Args:
        encoder: Name of an encoder behind an API.
        batches: The texts of each batch, and whether they are queries or codes.
        settings: The API's key, limits and budget.
        store: Where paid vectors are kept and what is spent is counted.

    Raises:
        EncoderError: The API gave unusable vectors.
        TextsDeclinedError: It won't embed some texts; all others have been embedded and kept.
        LanguageModelError: It gave no answer, or the budget is spent.
    """
    factory = encoders.get(encoder)
    spec = factory.spec
    if not isinstance(spec, ApiSpec):
        raise EncoderError(f"encoder {encoder!r} is no API")
    limits = EmbeddingLimits(
        max_tokens=spec.max_length,
        dimension=spec.dimension if spec.shortened else None,
        batch_size=settings.batch_size or _BATCH,
        concurrency=settings.actors or _CONCURRENCY,
    )
    model = embedding_model(settings.of_api(spec.model), store, limits)
    with asyncio.Runner() as runner:
        by_api = factory(ask=lambda texts: runner.run(model.embed(texts)))  # type: ignore[call-arg]
        try:
            declined: list[TextsDeclinedError] = []
            for number, (kind, texts) in enumerate(batches):
                try:
                    vectors = by_api.encode(texts, kind, batch_size=len(texts))
                except TextsDeclinedError as error:
                    declined.append(error)
                else:
                    yield number, vectors
            if declined:
                texts = [text for error in declined for text in error.texts]
                raise TextsDeclinedError(str(declined[0]), texts)
        finally:
            runner.run(model.close())
