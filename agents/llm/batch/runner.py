"""The runner of batches: submits the requests that wait, and keeps the replies when they come."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from agents.llm.batch.api import ENDED, WAY_OUT, NoBatchesError, PatientBatchApi, ProviderBatch
from agents.llm.batch.files import (
    BatchMessages,
    Incoming,
    Room,
    most_of,
    question_of,
    read_results,
    write_batch,
)
from agents.llm.batch.requests import BatchRequests, SentBatch
from agents.llm.cache import require_room
from agents.llm.client import LanguageModel
from agents.llm.question import UNSEEN_TOKENS
from agents.llm.rate_limit import SharedLimiter
from agents.llm.retry import RequestError, raise_for
from agents.llm.structured_output import ResponseFormat
from infra.budget import Budget
from infra.disk import OTHER_STORE, space_on
from infra.errors import ModelRefusedError, ModelUnavailableError
from infra.journal import Journal
from infra.settings import AnnotationSettings, LanguageModelSettings

_MAX_SILENT_POLLS = 10
_LONGEST_S = 36 * 3600.0
_TOKEN_LIMIT = "token limit"  # noqa: S105 - in the error of an account with too much in its queue
_MIN_REFUSED = 10  # requests; fewer may be of prompts that are refused for themselves

_log = logging.getLogger(__name__)

OnProgress = Callable[[int, int, str], None]


class Allowance(NamedTuple):
    """What people allow: whether to submit at all, and another budget than the settings'."""

    is_paused: bool = False
    budget_usd: float | None = None


class BatchRunner:
    """Answers all requests that wait, by as many batches as it takes.

    Args:
        llm: The model.
        annotation: How often to look, and how many requests a batch may have.
        journal: Has the replies, what was spent and the batches; it is closed at the end.
        on_progress: Gets the number of finished requests, that of all, and what is awaited.
        allowed: What holds now; it is asked before each batch.
        run: The budget of the run, see `SharedLimiter`.
    """

    def __init__(
        self,
        llm: LanguageModelSettings,
        annotation: AnnotationSettings,
        journal: Journal,
        on_progress: OnProgress,
        run: Budget | None = None,
    ) -> None:
        self._llm = llm
        self._poll_s = annotation.batch_poll_s
        self._most = annotation.batch_requests
        self._folder = journal.file.parent
        self._journal = journal
        self._limiter = SharedLimiter(journal, llm, run)
        self._requests = BatchRequests(self._limiter)
        self._model = LanguageModel(llm, journal, run=run)
        self._messages = BatchMessages(llm)
        self._api = PatientBatchApi(llm, self._messages.base_url, self._messages.key)
        self._on_progress = on_progress
        self._form: ResponseFormat | None = None
        self._must_wait = False
        self._silent_polls = 0
        self._seen_at: dict[str, float] = {}
        self._done = self._total = 0

    async def answer_all(self) -> bool:
        """Return once no request waits and no batch is in flight: whether there was any.

        Replies are kept, for the model that asks again. A request that batches fail to answer is
        left to that model, to be sent by itself.

        Raises:
            ModelRefusedError: The provider takes no batches, refuses this one, or it was cancelled.
            ModelUnavailableError: The provider does not answer; batches go on, and a later run
                finds them.
            BudgetExhaustedError: The budget has no room for a request.
            UnrecordableError: A reply, or what is spent, cannot be kept.
            StoreLockedError: Another run is at it.
        """
        try:
            with self._requests.alone():
                for left in self._folder.glob("batch-*.jsonl"):  # by runs that were killed
                    left.unlink(missing_ok=True)
                await self._find_lost()
                waiting = sum(self._requests.roles_waiting().values())
                self._total = waiting + sum(batch.requests for batch in self._sent())
                while await self._submit_waiting() or self._sent():
                    await self._look()
            return self._total > 0
        finally:
            await self._api.close()
            await self._model.close()

    def _sent(self) -> list[SentBatch]:
        return self._requests.sent()

    async def _find_lost(self) -> None:
        """Find the batches of a run that was killed while it submitted them."""
        for batch in self._sent():
            if batch.provider_id is not None:
                continue
            try:
                found = await self._api.find(batch.mark)
            except NoBatchesError:
                _log.warning(
                    "%s cannot tell whether a batch of %s requests was submitted when a run was "
                    "killed: it is submitted again, and what is reserved for it stays so",
                    self._messages.base_url, f"{batch.requests:,}",
                )  # fmt: skip
                self._requests.end(batch).result()
                continue
            if found:
                self._requests.submitted(batch.mark, found.batch_id).result()
            else:
                self._withdraw(batch)

    def _withdraw(self, batch: SentBatch) -> None:
        """Let the requests of a batch that nothing came of wait for another."""
        self._requests.end(batch, took=(0.0, 0.0)).result()

    async def _submit_waiting(self) -> bool:
        """Submit what waits, as far as budget and provider allow now; return whether any was."""
        before = self._done
        while not self._must_wait and self._requests.roles_waiting():
            if self._form is None:
                await self._find_format()
                continue
            if not await self._submit_one(self._form):
                break
        return self._done > before

    async def _find_format(self) -> None:
        """Send one request by itself: it shows key and model to be right, and the format."""
        request = next(self._requests.waiting())
        question = question_of(request.question)
        try:
            self._form = await self._model.request(question, request.key)
        except RequestError as error:
            if error.kind != "declined":
                raise_for(error, self._llm)
            self._requests.answer(request.key, "direct").result()
        else:
            self._requests.answer(request.key).result()
        self._done += 1

    async def _submit_one(self, form: ResponseFormat) -> bool:
        """Submit one batch; return whether the budget had room for it."""
        require_room(self._journal)
        mark = secrets.token_hex(10)
        file = self._folder / f"batch-{mark}.jsonl"
        try:
            room = Room(self._most, *self._limiter.left())
            with space_on(self._folder, OTHER_STORE):
                batch = await asyncio.to_thread(
                    write_batch, file, self._requests.waiting(), room, self._llm,
                    (self._messages, form),
                )  # fmt: skip
            if self._sent() and (batch.tokens > room.tokens or (batch.usd or 0.0) > room.usd):
                return False  # until what is in flight is settled
            begun = self._requests.begin(mark, batch.keys, batch.tokens, batch.usd)
            await self._submit_file(begun.result(), file)
        finally:
            file.unlink(missing_ok=True)
        return True

    async def _submit_file(self, batch: SentBatch, file: Path) -> None:
        try:
            file_id = await self._api.upload(file)
            created = await self._api.create(file_id, batch.mark)
        except ModelRefusedError:
            self._withdraw(batch)
            raise
        self._requests.submitted(batch.mark, created.batch_id).result()
        _log.info("batch %s of %s requests is submitted", created.batch_id, f"{batch.requests:,}")

    async def _look(self) -> None:
        """Look at the batches in flight; keep what has come, or wait."""
        running: list[str] = []
        done = ended = 0
        for batch in self._sent():
            try:
                state = await self._state_of(batch)
                if state and state.status in ENDED:
                    await self._take(batch, state)
                    ended += 1
                elif state:
                    since = self._seen_at.setdefault(batch.mark, time.monotonic())
                    _refuse_endless(self._llm.model, state, time.monotonic() - since)
                    running.append(state.status)
                    done += min(state.done, batch.requests)
            except NoBatchesError as error:
                _log.warning("%s; its requests without a reply are submitted again", error)
                # What is reserved for it stays: it may be billed.
                lost = self._requests.keys_of(batch.mark)
                self._done += self._requests.end(batch, failed=lost).result()
                ended += 1
        awaited = running
        self._on_progress(self._done + done, self._total, ", ".join(awaited))
        if awaited and not ended:
            await asyncio.sleep(self._poll_s)

    async def _state_of(self, batch: SentBatch) -> ProviderBatch | None:
        """Return the state of a batch; None where the provider is silent, which may pass."""
        try:
            state = await self._api.retrieve(str(batch.provider_id))
        except ModelUnavailableError as error:
            self._silent_polls += 1
            if self._silent_polls >= _MAX_SILENT_POLLS:
                raise
            _log.warning("%s; batches go on, looking again in %g s", error, self._poll_s)
            await asyncio.sleep(self._poll_s)
            return None
        self._silent_polls = 0
        return state

    async def _take(self, batch: SentBatch, state: ProviderBatch) -> None:
        """Take what has come of a batch that has ended."""
        if state.status == "failed" and not state.files:
            self._withdraw(batch)
            self._wait_or_refuse(batch, state)
            return
        incoming, is_whole = await self._read(batch, state)
        # Of a batch that is not completed, what has no result was only too late; where a file is
        # gone or a line is strange, what has none may be answered there, and billed.
        is_lost = state.status == "completed" or not is_whole or incoming.strange > 0
        lost = [*incoming.missing] if is_lost else []
        untold = most_of(self._requests.asked([*incoming.uncounted, *lost]), self._llm)
        took = _believable(incoming, batch, untold) if is_whole else None
        ended = self._requests.end(
            batch, incoming.replies, [*incoming.failed, *lost], incoming.refused, took
        )
        answered = await asyncio.wrap_future(ended)
        self._done += answered + len(incoming.refused)
        self._must_wait = False
        _log.info("batch %s: %s, %s replies, %s unanswered %s", state.batch_id, state.status,
                  f"{answered:,}", f"{batch.requests - answered:,}", incoming.problem)  # fmt: skip
        if state.status == "failed" and not answered:
            self._wait_or_refuse(batch, state)
        elif is_whole:
            _refuse_hopeless(self._llm.model, batch, state, incoming)

    async def _read(self, batch: SentBatch, state: ProviderBatch) -> tuple[Incoming, bool]:
        """Return what came of a batch, and whether that is all: no file of it is gone.

        Raises:
            NoBatchesError: None was there.
        """
        files = [self._folder / f"batch-{batch.mark}-{place}.jsonl" for place in range(2)]
        try:
            with space_on(self._folder, OTHER_STORE):
                is_whole = await self._api.download_all(state, files)
            there = [file for file in files if file.exists()]
            keys = self._requests.keys_of(batch.mark)
            incoming = await asyncio.to_thread(read_results, there, keys, self._messages)
        finally:
            for file in files:
                file.unlink(missing_ok=True)
        return incoming, is_whole

    def _wait_or_refuse(self, batch: SentBatch, state: ProviderBatch) -> None:
        """Let the requests of a batch that failed wait: for others to end, or a smaller one."""
        _refuse_failed(self._llm.model, batch, state)
        self._must_wait = bool(self._sent())
        if not self._must_wait:
            self._most = batch.requests // 2
        then = "waiting for others" if self._must_wait else f"{self._most:,} requests next"
        _log.info("the account's queue has no room for batch %s: %s", state.batch_id, then)


def _refuse_endless(model: str, state: ProviderBatch, seen_s: float) -> None:
    """Raise where a batch goes on for longer than any may, since this run looked at it first."""
    if seen_s > _LONGEST_S:
        raise ModelUnavailableError(
            f"batch {state.batch_id} of {model} has been {state.status} for "
            f"{_LONGEST_S / 3600:.0f} hours, though it may take 24: cancel it at the provider and "
            f"run the same command again, or {WAY_OUT}"
        )


def _refuse_failed(model: str, batch: SentBatch, state: ProviderBatch) -> None:
    """Raise where a batch failed, but not because the account's queue had no room for it."""
    is_too_much = _TOKEN_LIMIT in state.problem.lower().replace("_", " ")
    if not is_too_much or batch.requests == 1:
        raise ModelRefusedError(
            f"{model}: the provider refused batch {state.batch_id} ({state.problem}): remove the "
            f"cause and run the same command again, or {WAY_OUT}"
        )


def _refuse_hopeless(
    model: str, batch: SentBatch, state: ProviderBatch, incoming: Incoming
) -> None:
    """Raise where another batch would end alike."""
    told = f"batch {state.batch_id} of {model}"
    if state.status == "cancelled":
        raise ModelRefusedError(
            f"{told} was cancelled at the provider: the replies that had come are kept; run "
            f"the same command again to submit the others, or {WAY_OUT}"
        )
    if incoming.replies:
        return
    if state.status == "expired":
        raise ModelUnavailableError(
            f"{told} expired with none of its {batch.requests:,} requests answered: run the "
            f"same command again later, or {WAY_OUT}"
        )
    if len(incoming.missing) >= _MIN_REFUSED:
        raise ModelUnavailableError(
            f"{told} has ended without a result of {len(incoming.missing):,} of its "
            f"{batch.requests:,} requests, and without a reply: look at it at the provider, "
            f"then run the same command again, which submits them anew, or {WAY_OUT}"
        )
    if len(incoming.refused) >= _MIN_REFUSED:
        raise ModelRefusedError(
            f"{told}: all of its {batch.requests:,} requests were refused, the last with "
            f"{incoming.problem}; {WAY_OUT}"
        )


def _believable(
    incoming: Incoming, batch: SentBatch, untold: tuple[float, float | None]
) -> tuple[float, float | None]:
    """Return the tokens and the price of a batch; as reserved where so much cannot be true.

    Args:
        incoming: What has come of it.
        batch: The batch.
        untold: The most that the requests took which do not tell it.
    """
    if incoming.tokens > batch.ticket.tokens + UNSEEN_TOKENS * batch.requests:
        return batch.ticket.tokens, None
    tokens, usd = untold
    known = usd is not None and incoming.usd is not None
    return incoming.tokens + tokens, (incoming.usd or 0.0) + (usd or 0.0) if known else None
