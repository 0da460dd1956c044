"""The runner of batches: submits the requests that wait, and keeps the replies when they come."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from agents.llm.batch.api import ProviderBatch
from agents.llm.batch.endings import believable, refuse_endless, refuse_failed, refuse_hopeless
from agents.llm.batch.incoming import Incoming, kept_and_lost, read_results
from agents.llm.batch.messages import BatchMessages, question_of
from agents.llm.batch.money import BatchMoney
from agents.llm.batch.outgoing import Allowance, Room, most_of, write_batch
from agents.llm.batch.patient_api import NoBatchesError, PatientBatchApi
from agents.llm.batch.records import SentBatch
from agents.llm.batch.requests import BatchRequests, alone
from agents.llm.cache import ReplyCache
from agents.llm.client import LanguageModel
from agents.llm.rate_limit import SharedLimiter
from agents.llm.retry import RequestError, raise_for
from agents.llm.structured_output import ResponseFormat
from infra.disk import OTHER_STORE, space_on
from infra.errors import ModelRefusedError, ModelUnavailableError
from infra.settings import AnnotationSettings, LanguageModelSettings, StoreSettings

_MAX_SILENT_POLLS = 10

_log = logging.getLogger(__name__)

OnProgress = Callable[[int, int, str], None]


class BatchRunner:
    """Answers all requests that wait, by as many batches as it takes.

    Args:
        llm: The model.
        annotation: How often to look, and how many requests a batch may have.
        store: The folders of replies and of what was spent.
        on_progress: Gets the number of finished requests, that of all, and what is awaited.
        allowed: What holds now; it is asked before each batch.
    """

    def __init__(
        self,
        llm: LanguageModelSettings,
        annotation: AnnotationSettings,
        store: StoreSettings,
        on_progress: OnProgress,
        allowed: Callable[[], Allowance] = Allowance,
    ) -> None:
        self._llm = llm
        self._poll_s = annotation.batch_poll_s
        self._most = annotation.batch_requests
        self._folder = store.replies
        self._requests = BatchRequests(store.replies, llm)
        self._cache = ReplyCache(store.replies)
        self._limiter = SharedLimiter(store.ledgers, llm)
        self._money = BatchMoney(self._limiter, self._requests)
        self._model = LanguageModel(llm, self._cache, self._limiter)
        self._messages = BatchMessages(llm)
        self._api = PatientBatchApi(llm, self._messages)
        self._on_progress = on_progress
        self._allowed = allowed
        self._is_paused = False
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
            with alone(self._folder):
                for left in self._folder.glob("batch-*.jsonl"):  # by runs that were killed
                    left.unlink(missing_ok=True)
                self._money.finish()
                await self._find_lost()
                waiting = sum(self._requests.roles_waiting().values())
                self._total = waiting + sum(batch.requests for batch in self._sent())
                while await self._submit_waiting() or self._sent() or self._is_paused:
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
                self._requests.end(batch.mark)
                continue
            if found:
                self._requests.submitted(batch.mark, found.batch_id)
            else:
                self._withdraw(batch)

    def _withdraw(self, batch: SentBatch) -> None:
        """Let the requests of a batch that nothing came of wait for another."""
        self._requests.end(batch.mark, change=self._money.settlement(batch, 0.0, 0.0))
        self._money.finish()

    async def _submit_waiting(self) -> bool:
        """Submit what waits, as far as budget and provider allow now; return whether any was."""
        before, self._is_paused = self._done, False
        while not self._must_wait and self._requests.roles_waiting():
            self._is_paused, budget_usd = self._allowed()
            self._limiter.limit(None, budget_usd)
            if self._is_paused:
                break
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
            self._requests.refuse(request.key)
        else:
            self._requests.answer(request.key)
        self._done += 1

    async def _submit_one(self, form: ResponseFormat) -> bool:
        """Submit one batch; return whether the budget had room for it."""
        self._cache.require_room()
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
            ticket = self._money.reserve(mark, len(batch.keys), batch.tokens, batch.usd)
            sent = SentBatch(mark=mark, requests=len(batch.keys), ticket=ticket)
            self._requests.begin(sent, batch.keys)
            await self._submit_file(sent, file)
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
        self._requests.submitted(batch.mark, created.batch_id)
        _log.info("batch %s of %s requests is submitted", created.batch_id, f"{batch.requests:,}")

    async def _look(self) -> None:
        """Look at the batches in flight; keep what has come, or wait."""
        running: list[str] = []
        done = ended = 0
        for batch in self._sent():
            try:
                state = await self._state_of(batch)
                if state and state.has_ended:
                    await self._take(batch, state)
                    ended += 1
                elif state:
                    since = self._seen_at.setdefault(batch.mark, time.monotonic())
                    refuse_endless(self._llm.model, state, time.monotonic() - since)
                    running.append(state.status)
                    done += min(state.done, batch.requests)
            except NoBatchesError as error:
                _log.warning("%s; its requests without a reply are submitted again", error)
                keys = self._requests.keys_of(batch.mark)
                kept, lost = await asyncio.to_thread(kept_and_lost, keys, self._cache)
                # What is reserved for it stays: it may be billed.
                self._requests.end(batch.mark, answered=kept, failed=lost)
                self._done += len(kept)
                ended += 1
        awaited = ["paused: no more are submitted"] * self._is_paused + running
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
        if is_whole:
            # Of a batch that is not completed, what has no result was only too late.
            lost = [*incoming.missing] if state.status == "completed" else []
            untold = most_of(self._requests.asked([*incoming.uncounted, *lost]), self._llm)
            bill = self._money.settlement(batch, *believable(incoming, batch, untold))
        else:  # what has no result may be in the files that are gone: answered, and billed
            kept, lost = await asyncio.to_thread(kept_and_lost, incoming.missing, self._cache)
            incoming.answered += kept
            bill = None
        failed = [*incoming.failed, *lost]
        self._requests.end(batch.mark, incoming.answered, failed, incoming.refused, bill)
        self._money.finish()
        self._done += len(incoming.answered) + len(incoming.refused)
        self._must_wait = False
        unanswered = batch.requests - len(incoming.answered)
        _log.info("batch %s: %s, %s replies, %s unanswered %s", state.batch_id, state.status,
                  f"{len(incoming.answered):,}", f"{unanswered:,}", incoming.problem)  # fmt: skip
        if state.status == "failed" and not incoming.answered:
            self._wait_or_refuse(batch, state)
        elif is_whole:
            refuse_hopeless(self._llm.model, batch, state, incoming)

    async def _read(self, batch: SentBatch, state: ProviderBatch) -> tuple[Incoming, bool]:
        """Keep the replies of a batch; return what came, and whether that is all.

        It is not where a file is gone, or where an earlier release let a run with another address
        of the model have some of the batch's requests.

        Raises:
            NoBatchesError: None was there.
        """
        files = [self._folder / f"batch-{batch.mark}-{place}.jsonl" for place in range(2)]
        try:
            with space_on(self._folder, OTHER_STORE):
                is_whole = await self._api.download_all(state, files)
            there = [file for file in files if file.exists()]
            keys = self._requests.keys_of(batch.mark)
            incoming = await asyncio.to_thread(
                read_results, there, keys, self._messages, self._cache
            )
        finally:
            for file in files:
                file.unlink(missing_ok=True)
        return incoming, is_whole and len(keys) == batch.requests

    def _wait_or_refuse(self, batch: SentBatch, state: ProviderBatch) -> None:
        """Let the requests of a batch that failed wait: for others to end, or a smaller one."""
        refuse_failed(self._llm.model, batch, state)
        self._must_wait = bool(self._sent())
        if not self._must_wait:
            self._most = batch.requests // 2
        then = "waiting for others" if self._must_wait else f"{self._most:,} requests next"
        _log.info("the account's queue has no room for batch %s: %s", state.batch_id, then)
