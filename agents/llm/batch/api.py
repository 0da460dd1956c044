"""OpenAI's batch protocol: files are uploaded, batches made of them, results downloaded.

https://platform.openai.com/docs/guides/batch: ``POST /files`` (purpose ``batch``), ``POST
/batches``, ``GET /batches/{id}``, ``GET /batches`` and ``GET /files/{id}/content``.
"""

import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agents.llm.answers import read_object
from agents.llm.bounds import bounded
from agents.llm.openai_transport import open_session
from agents.llm.retry import RequestError, raise_for, retrying
from infra.errors import ModelRefusedError, ModelUnavailableError
from infra.records import Record
from infra.secrets import without_secrets_in
from infra.settings import LanguageModelSettings

if TYPE_CHECKING:
    import aiohttp

ENDPOINT = "/v1/chat/completions"
ENDED = ("completed", "failed", "expired", "cancelled")
WAY_OUT = "leave out --batch (COSQA_ANNOTATION__BATCH=false) to send request by request"

_WINDOW = "24h"
_PAGE = 100
_MAX_PAGES = 100
_NO_BATCHES = (404, 405, 501)
_TOO_MANY = 429
_NOT_TOLD = 405  # as by a server that lists no batches
_CHUNK = 2**20
_LONGEST_FILE = 4 * 2**30  # twenty times what a batch's file may have
_FILE_S = 3600.0
_MAX_MESSAGE = 600
_SHORT = 100  # of what cannot be read
_MARK = "cosqa"
_ORGANIZATION = {
    "OPENAI_ORGANIZATION": "OpenAI-Organization",
    "OPENAI_ORG_ID": "OpenAI-Organization",
    "OPENAI_PROJECT_ID": "OpenAI-Project",
}

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")


class ProviderBatch(Record):
    """A batch as the provider describes it.

    Attributes:
        batch_id: Its name.
        status: validating, in_progress, finalizing, completed, failed, expired, cancelling,
            cancelled, or what else a provider says; nothing more will come after one of `ENDED`.
        done: Number of requests that are finished, failed ones included.
        files: The files of replies and of errors that there are.
        problem: Why it failed.
        mark: Our name of it.
    """

    batch_id: str
    status: str
    done: int = 0
    files: tuple[str, ...] = ()
    problem: str = ""
    mark: str = ""


class BatchApi:
    """The batch API of one server; each request is tried once and raises `RequestError`.

    Args:
        base_url: The server's address.
        key: The key, None for a server that needs none.
        timeout_s: Longest silence of the server, and longest answer but for files, of an hour each.
    """

    def __init__(self, base_url: str, key: str | None, timeout_s: float) -> None:
        self._base_url = base_url.rstrip("/")
        self._key = key
        self._timeout_s = timeout_s
        self._headers = {
            header: os.environ[name] for name, header in _ORGANIZATION.items() if name in os.environ
        }
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._session: aiohttp.ClientSession | None = None

    async def upload(self, file: Path) -> str:
        """Upload a file of requests; return the provider's name of it."""
        import aiohttp  # noqa: PLC0415 - a tenth of a second, only where batches are used

        with file.open("rb") as stream:
            form = aiohttp.FormData()
            form.add_field("purpose", "batch")
            form.add_field("file", stream, filename=file.name)
            return self._text(await self._send("POST", "/files", data=form), "id")

    async def create(self, file_id: str, mark: str) -> ProviderBatch:
        """Make a batch of an uploaded file, with our name of it."""
        body = {
            "input_file_id": file_id,
            "endpoint": ENDPOINT,
            "completion_window": _WINDOW,
            "metadata": {_MARK: mark},
        }
        return self._batch(await self._send("POST", "/batches", json=body))

    async def retrieve(self, batch_id: str) -> ProviderBatch:
        """Return the state of a batch."""
        return self._batch(await self._send("GET", f"/batches/{batch_id}"))

    async def find(self, mark: str) -> ProviderBatch | None:
        """Return the batch of our name, None where there is none.

        Raises:
            RequestError: It cannot be told, as where the list has no end.
        """
        after: dict[str, str] = {}
        for _ in range(_MAX_PAGES):
            answer = await self._send("GET", "/batches", params={"limit": str(_PAGE), **after})
            listed = answer.get("data")
            several = listed if isinstance(listed, list) else []
            rows = [row for row in several if isinstance(row, dict)]
            for row in rows:  # those of others may be of any kind
                if _mark(row) == mark:
                    return self._batch(row)
            if not answer.get("has_more"):
                return None
            after = {"after": self._text(rows[-1] if rows else {}, "id")}
        raise RequestError(_NOT_TOLD, f"there are more than {_PAGE * _MAX_PAGES:,} batches")

    async def download(self, file_id: str, to: Path) -> None:
        """Write a file of results."""
        async with self._answer("GET", f"/files/{file_id}/content") as response:
            with to.open("wb") as stream:
                async for chunk in response.content.iter_chunked(_CHUNK):
                    if stream.tell() > _LONGEST_FILE:
                        raise RequestError(422, f"the results {file_id} have more than 4 GB")
                    stream.write(chunk)

    async def close(self) -> None:
        """Close the connections."""
        if self._session:
            await self._session.close()
            self._session = None

    async def _send(self, method: str, path: str, **options: Any) -> dict[str, Any]:  # noqa: ANN401 - aiohttp's
        async with self._answer(method, path, **options) as response:
            status, content = await bounded(response.status, response.content.iter_any())
        answer = read_object(content) if status == response.status else None
        if answer is None:
            shown = self._shown(repr(content))[:_SHORT]
            raise RequestError(502, f"{path} was answered by {shown}, not a JSON object")
        return answer

    @asynccontextmanager
    async def _answer(
        self,
        method: str,
        path: str,
        **options: Any,  # noqa: ANN401 - aiohttp's
    ) -> AsyncIterator["aiohttp.ClientResponse"]:
        import aiohttp  # noqa: PLC0415 - a tenth of a second, only where batches are used

        url = f"{self._base_url}{path}"
        session = self._session = self._session or open_session(url)
        total_s = _FILE_S if path.startswith("/files") else self._timeout_s
        patience = aiohttp.ClientTimeout(
            total=total_s, sock_connect=self._timeout_s, sock_read=self._timeout_s
        )
        options |= {"headers": self._headers, "timeout": patience, "allow_redirects": False}
        try:
            async with session.request(method, url, **options) as response:
                if response.status >= 300:
                    status, content = await bounded(response.status, response.content.iter_any())
                    retry_after = response.headers.get("Retry-After")
                    message = self._shown(f"{method} {path}: {content.decode(errors='replace')}")
                    raise RequestError(status, message, retry_after=retry_after)
                yield response
        except TimeoutError:
            message = f"{method} {path}: no answer in {self._timeout_s:g} s"
            raise RequestError(408, message) from None
        except aiohttp.ClientError as error:
            raise RequestError(503, self._shown(f"{method} {path}: {error}")) from None

    def _shown(self, message: str) -> str:
        """Return a message without secrets."""
        return without_secrets_in(message, self._key)[:_MAX_MESSAGE]

    def _batch(self, answer: Mapping[str, Any]) -> ProviderBatch:
        counts = _mapping(answer.get("request_counts"))
        errors = _mapping(answer.get("errors")).get("data")
        problems = [_mapping(error) for error in errors] if isinstance(errors, list) else []
        files = [answer.get(name) for name in ("output_file_id", "error_file_id")]
        return ProviderBatch(
            batch_id=self._text(answer, "id"),
            status=self._text(answer, "status"),
            done=sum(_count(counts.get(name)) for name in ("completed", "failed")),
            files=tuple(file for file in files if isinstance(file, str) and file),
            problem=self._shown(
                "; ".join(f"{item.get('code')}: {item.get('message')}" for item in problems)
            ),
            mark=_mark(answer),
        )

    def _text(self, answer: Mapping[str, Any], name: str) -> str:
        value = answer.get(name)
        if not isinstance(value, str) or not value:
            shown = self._shown(str(answer))[:_SHORT]
            raise RequestError(502, f"an answer without {name}: {shown}")
        return value


class NoBatchesError(ModelRefusedError):
    """The server does not know an address of the batch API."""


class PatientBatchApi:
    """The batch API of a model's provider, with errors waited out that may pass.

    Every request may raise ``ModelUnavailableError`` (no answer after all retries),
    ``ModelRefusedError`` (it will never be accepted) and, as one of these, `NoBatchesError`.

    Args:
        settings: The model, its retries and time-out.
        base_url: The server's address.
        key: The key.
    """

    def __init__(self, settings: LanguageModelSettings, base_url: str, key: str | None) -> None:
        self._settings = settings
        self._base_url = base_url
        self._api = BatchApi(base_url, key, settings.timeout_s)

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


def _mark(answer: Mapping[str, Any]) -> str:
    return str(_mapping(answer.get("metadata")).get(_MARK, ""))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int:
    return max(0, value) if isinstance(value, int) else 0
