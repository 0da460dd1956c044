"""Errors of embedding APIs in the terms of the error tree."""

from collections.abc import Mapping
from typing import NoReturn

from agents.llm.retry import RequestError
from infra.errors import ModelRefusedError, ModelUnavailableError, TextsDeclinedError
from infra.settings import EmbeddingModelSettings


def raise_declined(
    declined: Mapping[str, RequestError], settings: EmbeddingModelSettings
) -> NoReturn:
    """Raise the error of texts that an API won't embed, each with what it said."""
    error = next(iter(declined.values()))
    raise TextsDeclinedError(
        f"{settings.model} won't embed {len(declined):,} of the texts "
        f"({error.status}: {error.message})",
        [*declined],
    )


def raise_for_texts(error: Exception, settings: EmbeddingModelSettings) -> NoReturn:
    """Raise an error of the tree for a request without vectors after all retries."""
    if not isinstance(error, RequestError):
        raise error
    model, cause = settings.model, f"({error.status}: {error.message})"
    if error.kind == "transient":
        tries = settings.max_retries + 1
        raise ModelUnavailableError(f"{model} gave no vectors in {tries} tries {cause}") from None
    raise ModelRefusedError(
        f"{model} refused the request {cause}; check the model's name, the key in "
        "COSQA_ENCODER__API_KEY and, for a server of your own, COSQA_ENCODER__BASE_URL"
    ) from None
