"""The batch API with repetition: errors that may pass are waited out."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from agents.llm.batch.api import BatchApi, ProviderBatch
from agents.llm.batch.messages import WAY_OUT, BatchMessages
from agents.llm.retry import RequestError, raise_for, retrying
from infra.errors import ModelRefusedError, ModelUnavailableError
from infra.settings import LanguageModelSettings

_NO_BATCHES = (404, 405, 501)
_TOO_MANY = 429

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")


class NoBatchesError(ModelRefusedError):
    """The server does not know an address of the batch API."""


class PatientBatchApi:
    """The batch API of a model's provider; see `agents.llm.batch.api`.

    Every request may raise ``ModelUnavailableError`` (no answer after all retries),
    ``ModelRefusedError`` (it will never be accepted) and, as one of these, `NoBatchesError`.

    Args:
        settings: The model, its retries and time-out.
        messages: Know the server's address and the key.
    """

    def __init__(self, settings: LanguageModelSettings, messages: BatchMessages) -> None:
        self._settings = settings
        self._base_url = messages.base_url
        self._api = BatchApi(messages.base_url, messages.key, settings.timeout_s)

    async def upload(self, file: Path) -> str:
        """Upload a file of requests; return the provider's name of it."""
        return await self._repeated(partial(self._api.upload, file))

    async def create(self, file_id: str, mark: str) -> ProviderBatch:
        """Make a batch of an uploaded file, once."""
        return await self._repeated(partial(self._create_once, file_id, mark))

    async def retrieve(self, batch_id: str) -> ProviderBatch:
        """Return the state of a batch."""
        return await self._repeated(partial(self._api.retrieve, batch_id))

    async def find(self, mark: str) -> ProviderBatch | None:
        """Return the batch of our name, None where there is none."""
        return await self._repeated(partial(self._api.find, mark))

    async def download_all(self, batch: ProviderBatch, to: Sequence[Path]) -> bool:
        """Write a batch's files of results, those that are there; return whether all of them are.

        Raises:
            NoBatchesError: None is.
        """
        gone: list[NoBatchesError] = []
        for file_id, file in zip(batch.files, to, strict=False):
            try:
                await self._repeated(partial(self._api.download, file_id, file))
            except NoBatchesError as error:
                gone.append(error)
        if gone and len(gone) == len(batch.files):
            raise gone[0]
        for absence in gone:
            _log.warning("a file of batch %s is gone, the others are read: %s",
                         batch.batch_id, absence)  # fmt: skip
        return not gone

    async def close(self) -> None:
        """Close the connections."""
        await self._api.close()

    async def _create_once(self, file_id: str, mark: str) -> ProviderBatch:
        """Make a batch; where the answer is lost, find out whether it was made."""
        try:
            return await self._api.create(file_id, mark)
        except RequestError as error:
            if error.kind != "transient" or error.status == _TOO_MANY:
                raise
            try:
                found = await self._api.find(mark)
            except RequestError as unknown:
                raise ModelUnavailableError(
                    f"{self._settings.model}: it cannot be told whether a batch was made "
                    f"({unknown.status}: {unknown.message}): run the same command again, which "
                    f"looks for it, or {WAY_OUT}"
                ) from None
            if found:
                return found
            raise

    async def _repeated(self, step: Callable[[], Awaitable[_Result]]) -> _Result:
        try:
            return await retrying(self._settings)(step)
        except RequestError as error:
            if error.status in _NO_BATCHES:
                raise NoBatchesError(
                    f"the server at {self._base_url} has no batch API, or not this batch "
                    f"({error.status}: {error.message}): {WAY_OUT}"
                ) from None
            raise_for(error, self._settings)
