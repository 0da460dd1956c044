"""Labelling on the pages: queues of samples, blind votes, then evidence and revisions, programs.

An annotator first labels all items blind; while a browser labels so, no page shows it what others
say. Then the evidence is unlocked, and each label can be revised; both votes are kept. A vote is in
the store, committed, before the page says so. `tasks.browse.holders` says who labels where.
"""

import asyncio
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, get_args

from infra.errors import CosqaError, SourceError, StoreLockedError
from infra.identity import PairKey
from infra.records import Difficulty, ExecutionResult, GivenVote
from infra.settings import SandboxSettings
from infra.store import Database, samples
from infra.store.browsing import Snapshot, find_pair
from infra.store.samples import ShownItem
from infra.store.votes import record_votes
from tasks.browse.holders import HeldError, Holders, Place, SampleState, labels_under, read_state
from tasks.browse.pages import NoSuchPageError, Page, Parameters, evidence_of
from tasks.reports.document import Figure
from tasks.reports.labels import agreement_figure, answers_figure
from tasks.stages.label.results import LabelResults, disagreements, label_results
from tasks.stages.label.sheets import grades_of, guidelines
from tasks.stages.sandbox import run_programs

_MOST_NAME, _MOST_NOTE, _MOST_PROGRAM = 100, 10_000, 100_000
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)
_UNDECIDED = "undecided"
_PATIENCE_S = 2.0  # for the list of samples, while another process writes
_MOST_SHOWN = 20  # disagreements a page, with all evidence


class FormError(CosqaError):
    """A form has a value that cannot be; its page shows what was entered, and what is wrong."""


@dataclass
class Labelling:
    """The browsers that label samples, each with its person and sample.

    Attributes:
        database: The store, which votes are written to.
        sandbox: Settings of the boxes that people's programs run in.
    """

    database: Database
    sandbox: SandboxSettings
    _states: dict[str, SampleState] = field(default_factory=dict)
    _queues: dict[tuple[str, str, int], list[ShownItem]] = field(default_factory=dict)
    _results: dict[str, tuple[object, LabelResults]] = field(default_factory=dict)
    _since: dict[tuple[str, str, int], float] = field(default_factory=dict)
    _ran: dict[tuple[str, str, int], tuple[str, ExecutionResult]] = field(default_factory=dict)
    _writes: threading.Lock = field(default_factory=threading.Lock)
    _runs: dict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))

    def __post_init__(self) -> None:
        """Read who has labelled before."""
        self._holders = Holders(self.database.settings.folder)

    def samples_page(self, snapshot: Snapshot) -> Page:
        """Return the list of samples, those that were drawn since the copy included."""
        found = None
        if not snapshot.is_current():
            settings = self.database.settings.model_copy(update={"lock_timeout_s": _PATIENCE_S})
            with suppress(StoreLockedError):
                found = samples.samples_in(Database(settings, self.database.store_id))
        if found is None:
            found = samples.samples_in(snapshot)
        done = {each.sample_id: self._state(snapshot, each.sample_id).progress for each in found}
        return Page("samples", {"samples": found, "progress": done})

    def sample_page(
        self, snapshot: Snapshot, browser: str, sample_id: str, held: HeldError | None = None
    ) -> Page:
        """Return who labels a sample, how far they are, and how far those who are done agree.

        ``held`` says why the reader cannot label it under a name.
        """
        state = self._state(snapshot, sample_id)
        done = [name for name, one in state.progress.items() if one.is_done]
        results = self._result(snapshot, state) if len(done) > 1 else None
        drawn: list[Figure] = []
        if results and results.agreement:
            drawn.append(agreement_figure(results.agreement))
        if results and results.right and results.right[0].by_annotator:
            right = {each.method: each.by_annotator for each in results.right}
            drawn.append(answers_figure(right, results.right[0].queries))
        differing = disagreements(state.sample, state.progress.values(), state.votes)
        return Page(
            "sample",
            {
                "sample": state.sample,
                "progress": list(state.progress.values()),
                "results": results,
                "drawn": drawn,
                "differing": differing,
                "name": self._names(browser).get(sample_id, ""),
                "guidelines": guidelines(state.sample),
                "held": held,
            },
        )

    def disagreements_page(self, snapshot: Snapshot, asked: Parameters) -> Page:
        """Return the items on which people differ, with their votes and the agents' evidence."""
        state = self._state(snapshot, asked.get("sample", ""))
        found = disagreements(state.sample, state.progress.values(), state.votes)
        first = int(asked["first"]) if asked.get("first", "").isdecimal() else 0
        chosen = found[first : first + _MOST_SHOWN]
        texts = samples.show(self._source(snapshot, state), [each.item for each in chosen])
        evidence = [_evidence(snapshot, each.item.key) for each in chosen]
        return Page(
            "disagreements",
            {
                "sample": state.sample,
                "differing": found,
                "shown": list(zip(chosen, texts, evidence, strict=True)),
                "further": first + _MOST_SHOWN if first + _MOST_SHOWN < len(found) else None,
                "grades": grades_of(state.sample),
            },
        )

    def overview_page(self, snapshot: Snapshot, browser: str, asked: Parameters) -> Page:
        """Return all items of an annotator, with the own labels."""
        place = self._place(snapshot, browser, asked)
        own = place.votes
        rows = [(item, own.get(item.position, {})) for item in place.items]
        sample = place.state.sample
        drawn = {item.position: item for item in sample.items}
        return Page("overview", {"place": place, "sample": sample, "rows": rows, "drawn": drawn})

    def _result(self, snapshot: Snapshot, state: SampleState) -> LabelResults:
        """Return the results, which take a second, anew only when somebody has voted."""
        votes = [(vote.annotator, *vote.key, vote.phase, vote.relevance) for vote in state.votes]
        known = self._results.get(state.sample.sample_id)
        if known is None or known[0] != votes:
            known = (votes, label_results(self._source(snapshot, state), state.sample))
            self._results[state.sample.sample_id] = known
        return known[1]

    def _state(self, snapshot: Snapshot, sample_id: str) -> SampleState:
        known = self._states.get(sample_id)
        if known is None or known.read_at < snapshot.taken_at:
            try:
                known = read_state(snapshot, sample_id, snapshot.taken_at)
            except SourceError:  # it may have been drawn since
                known = read_state(self.database, sample_id, datetime.now(UTC))
            self._states[sample_id] = known
        return known

    def begin(self, snapshot: Snapshot, browser: str, form: Mapping[str, str]) -> None:
        """Let a browser label a sample under a name.

        A third person is given the items on which the others are in conflict.

        Raises:
            FormError: The name is none.
            HeldError: Another browser labels under it, and this is not asked to go on.
        """
        sample_id, name = form.get("sample", ""), " ".join(form.get("annotator", "").split())
        if not name or len(name) > _MOST_NAME or not name.isprintable():
            raise FormError(f"a name has 1 to {_MOST_NAME} printable characters")
        with self._writes:
            self._refresh(sample_id)
            state = self._states[sample_id]
            labelled, here = labels_under(state, name), bool(form.get("here"))
            if self._holders.take(browser, sample_id, name, labelled, here=here):
                for known in [each for each in self._ran if each[:2] == (sample_id, name)]:
                    del self._ran[known]
            if name not in state.progress:
                disputed: tuple[int, ...] = ()
                if form.get("conflicts"):
                    disputed = self._result(snapshot, state).conflicts
                samples.assign(self.database, state.sample, name, disputed)
                self._refresh(sample_id)

    def leave(self, browser: str, sample_id: str) -> None:
        """Let a browser label a sample no more."""
        self._holders.leave(browser, sample_id)

    def _names(self, browser: str) -> dict[str, str]:
        """Return sample → the name under which a browser labels it."""
        held = self._holders.of(browser).items()
        return {sample_id: hold.annotator for sample_id, hold in held if not hold.is_lost}

    def samples_of(self, browser: str) -> set[str]:
        """Return the samples that a browser itself has labelled, and not left."""
        held = self._holders.of(browser).items()
        return {sample_id for sample_id, hold in held if not (hold.is_lost or hold.elsewhere)}

    def blind_sample(self, snapshot: Snapshot, browser: str) -> str:
        """Return the sample that a browser labels blind, "" where it labels none so."""
        for sample_id, name in self._names(browser).items():
            one = self._state(snapshot, sample_id).progress.get(name)
            if one and not one.is_done:
                return sample_id
        return ""

    def item_page(
        self,
        snapshot: Snapshot,
        browser: str,
        asked: Parameters,
        entered: Mapping[str, str] | None = None,
        problem: str = "",
    ) -> Page:
        """Return an item to label: the one that is asked for, else the next without a label.

        Args:
            snapshot: The copy of the store.
            browser: Whose queue it is.
            asked: ``sample`` and maybe ``position``.
            entered: What was entered in the form, where that could not be stored.
            problem: Why it could not.
        """
        place = self._place(snapshot, browser, asked)
        self._since.setdefault(place.label, time.monotonic())
        votes = place.votes.get(place.shown.position, {})
        last = votes.get("revised") or votes.get("blind")
        evidence: list[dict[str, Any]] = []
        if not place.is_blind and place.state.sample.kind != "preference":
            evidence = _evidence(snapshot, place.item.key)
        return Page(
            "item",
            {
                "place": place,
                "sample": place.state.sample,
                "blind": votes.get("blind"),
                "entered": entered or _as_entered(last, place),
                "grades": grades_of(place.state.sample),
                "guidelines": guidelines(place.state.sample),
                "difficulties": DIFFICULTIES,
                "ran": self._ran.get(place.label),
                "evidence": evidence,
                "problem": problem,
            },
        )

    def _place(self, snapshot: Snapshot, browser: str, asked: Parameters) -> Place:
        sample_id = asked.get("sample", "")
        state = self._state(snapshot, sample_id)
        hold = self._holders.of(browser).get(sample_id)
        if hold and hold.is_lost:
            name = hold.annotator
            told = f"{name} goes on with this sample in another browser"
            raise HeldError(told, sample_id, name)
        if hold is None or hold.annotator not in state.progress:
            raise NoSuchPageError("say under which name you label this sample first")
        given = state.progress[hold.annotator].positions
        queue = (state.sample.sample_id, hold.annotator, len(given))
        if queue not in self._queues:
            source = self._source(snapshot, state)
            self._queues[queue] = samples.items_for(source, state.sample, hold.annotator)
        items = self._queues[queue]
        labelled = labels_under(state, hold.annotator)
        wanted = asked.get("position", "")
        places = [index for index, one in enumerate(items) if str(one.position) == wanted]
        waiting = (n for n, one in enumerate(items) if one.position not in labelled)
        return Place(state, hold, items, places[0] if places else next(waiting, 0))

    def _place_of_form(self, snapshot: Snapshot, browser: str, form: Mapping[str, str]) -> Place:
        place = self._place(snapshot, browser, form)
        if form.get("position") != str(place.shown.position):
            raise FormError("the form is of no item that you were given: label the one below")
        return place

    def _source(self, snapshot: Snapshot, state: SampleState) -> Database:
        """Return what has a sample as it was read: the copy, or the store where that is older."""
        return self.database if state.read_at > snapshot.taken_at else snapshot

    def vote(self, snapshot: Snapshot, browser: str, form: Mapping[str, str]) -> dict[str, object]:
        """Store a vote; return the parameters of the next item's page.

        Raises:
            FormError: A value cannot be.
            StoreLockedError: Another process has the store for too long; nothing is stored.
        """
        place = self._place_of_form(snapshot, browser, form)
        sample, position = place.state.sample, place.shown.position
        program = _text(form, "program", _MOST_PROGRAM)
        ran, since = self._ran.get(place.label), self._since.get(place.label)
        vote = GivenVote(
            query_id=place.item.query_id,
            code_id=place.item.code_id,
            annotator=place.annotator,
            origin=sample.origin,
            phase="blind" if place.is_blind else "revised",
            relevance=_relevance(form.get("grade", ""), place),
            note=_text(form, "note", _MOST_NOTE),
            notes=tuple(name for name in DIFFICULTIES if form.get(f"is_{name}")),
            minutes=None if since is None else round((time.monotonic() - since) / 60, 3),
            program=program,
            execution=ran[1] if ran and ran[0] == program else None,
        )
        with self._writes:
            with self.database.transaction() as tx:
                record_votes(tx, sample.collection, [vote])
            self._refresh(sample.sample_id)
            self._holders.labelled_here(browser, sample.sample_id, position)
        self._since.pop(place.label, None)
        if place.is_blind:
            return {"sample": sample.sample_id}
        following = place.items[min(place.index + 1, len(place.items) - 1)]
        return {"sample": sample.sample_id, "position": following.position}

    def run(self, snapshot: Snapshot, browser: str, form: Mapping[str, str]) -> None:
        """Run an annotator's program on the item's code in a box, and keep how it ended.

        Raises:
            FormError: There is none, it is too long, or another one of the annotator runs.
            SandboxError: The box, not the program, failed.
        """
        place = self._place_of_form(snapshot, browser, form)
        program = _text(form, "program", _MOST_PROGRAM)
        if not program.strip():
            raise FormError(
                "there is no program: write one that begins with `from target import …`"
            )
        turn = self._runs[place.annotator]
        if not turn.acquire(blocking=False):
            raise FormError("a program of yours is running: wait for its end")
        try:
            pair = (program, place.shown.codes[0].text)
            [result] = asyncio.run(run_programs(self.sandbox, [pair]))
        finally:
            turn.release()
        self._ran[place.label] = (program, result)

    def _refresh(self, sample_id: str) -> None:
        now = datetime.now(UTC)
        self._states[sample_id] = read_state(self.database, sample_id, now)


def _evidence(snapshot: Snapshot, key: PairKey) -> list[dict[str, Any]]:
    pair = find_pair(snapshot, key)
    return evidence_of(snapshot, pair) if pair else []


def _relevance(grade: str, place: Place) -> float | None:
    if grade == _UNDECIDED:
        return None
    if grade not in grades_of(place.state.sample):
        raise FormError("choose a grade, or undecided")
    if place.state.sample.kind != "preference":
        return float(grade)
    return place.item.relevance_by(prefers_second=grade == "2")


def _as_entered(vote: GivenVote | None, place: Place) -> dict[str, str]:
    """Return the fields of a form that say what a vote says."""
    if vote is None:
        return {}
    grade = _UNDECIDED
    if vote.relevance is not None:
        same = [g for g in grades_of(place.state.sample) if _relevance(g, place) == vote.relevance]
        grade = same[0] if same else ""
    notes = {f"is_{name}": "on" for name in vote.notes}
    return {"grade": grade, "note": vote.note, "program": vote.program, **notes}


def _text(form: Mapping[str, str], name: str, most: int) -> str:
    text = form.get(name, "").replace("\r\n", "\n")
    if len(text) > most:
        raise FormError(f"the {name} has {len(text):,} characters; {most:,} are allowed")
    return text
