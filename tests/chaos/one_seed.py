"""One seed from start to end: the run, its breaks, the same command again, and the laws."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.chaos.breaks import KINDS, Break, title_of
from tests.chaos.harness import IN_FLIGHT, Harness
from tests.chaos.laws import (
    files_as_undisturbed,
    labels_as_scripted,
    replies_paid_once,
    rows_as_undisturbed,
)
from tests.chaos.running_system import RunningSystem
from tests.flows.world import World

_FAILED = "SELECT query_id FROM annotations WHERE status = 'failed'"
_TICK_S = 0.05
_WHOLE_S = 1_200.0
_PAUSE_S = 1.0
_MOST_RUNS = 15
_RUN_S = 600.0
_CHILDREN_S = 240.0  # Ray's agents look for their head once a minute
_DEAD_S = 240.0  # a run without a sign of life is taken for dead after three minutes
_CONTAINERS_S = 30.0


@dataclass
class Outcome:
    """How a seed ended.

    Attributes:
        seed: The seed.
        plan: What was to break.
        done: What broke, and at which second.
        runs: How often the command was started.
        asked_again: Replies that were asked for more than once.
        seconds: From the first start to the last end.
        faults: The laws that did not hold, in words.
    """

    seed: int
    plan: list[Break]
    done: list[tuple[Break, float]] = field(default_factory=list)
    runs: int = 0
    asked_again: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)

    @property
    def broken(self) -> str:
        """What broke and when, in words."""
        words = [f"{one} ({second:.1f} s)" for one, second in self.done]
        words += [f"{one} (not reached)" for one in self.plan if one not in dict(self.done)]
        return "; ".join(words)


def run_seed(harness: Harness, seed: int, plan: Sequence[Break]) -> Outcome:
    """Run a seed with its breaks and return how it ended; the harness stays whole.

    Args:
        harness: Where it is run.
        seed: The seed.
        plan: Its breaks.
    """
    outcome = Outcome(seed, list(plan))
    with harness.system() as (world, system):
        try:
            _annotate(world, system, harness.pairs.requests(), outcome)
            system.do_due(all_of_it=True)
            if not outcome.faults:
                _judge(harness, world, system, outcome)
            if outcome.faults:
                outcome.faults.append(f"the runs said: {system.run.log.read_text()[-8_000:]}")
        finally:
            system.do_due(all_of_it=True)
    return outcome


def _annotate(world: World, system: RunningSystem, requests: int, outcome: Outcome) -> None:
    """Give the command again and again, as a user does, until no pair is left or has failed."""
    started = time.monotonic()
    open_breaks = list(outcome.plan)
    while outcome.runs < _MOST_RUNS:
        outcome.runs += 1
        system.start()
        while (status := system.run.poll()) is None:
            system.do_due()
            at = time.monotonic() - started
            for order in [one for one in open_breaks if _is_due(one, system, requests)]:
                if KINDS[order.kind].act(system, order):
                    open_breaks.remove(order)
                    outcome.done.append((order, at))
            if at > _WHOLE_S:
                outcome.faults.append(f"no end in {_WHOLE_S:.0f} s")
                return
            time.sleep(_TICK_S)
        outcome.seconds = time.monotonic() - started
        if status == 0 and not world.rows(_FAILED):
            return
        system.do_due()
        time.sleep(_PAUSE_S)
    outcome.faults.append(f"no success in {outcome.runs} runs")


def _is_due(order: Break, system: RunningSystem, requests: int) -> bool:
    if order.at_share is None:
        return time.monotonic() - system.run.started >= order.at_s
    return system.model_calls() >= order.at_share * requests


def _judge(harness: Harness, world: World, system: RunningSystem, outcome: Outcome) -> None:
    """Look whether all laws hold."""
    faults = outcome.faults
    losing = sum(KINDS[one.kind].loses for one, _ in outcome.done)
    requests = harness.pairs.requests()
    outcome.asked_again, paid_twice = replies_paid_once(system.calls, requests, losing * IN_FLIGHT)
    faults += paid_twice
    faults += _next_run_has_nothing_to_do(system)
    for rival in system.rivals:
        faults += _has_ended_with_a_word(rival.wait(_DEAD_S), rival.printed())
    left = [title_of(one) for one in system.processes_left(_CHILDREN_S)]
    faults += [f"processes left: {', '.join(left)}"] if left else []
    faults += labels_as_scripted(world, harness.pairs.expected())
    if harness.reference:
        faults += rows_as_undisturbed(world, harness.reference)
        faults += files_as_undisturbed(world, harness.reference)
    faults += _containers_left(harness)


def _next_run_has_nothing_to_do(system: RunningSystem) -> list[str]:
    """A further run starts, finds nothing to do and asks the model nothing."""
    before = system.model_calls()
    run = system.start()
    status = run.wait(_RUN_S)
    if status is None:
        return [f"the next run did not end in {_RUN_S:.0f} s: something is stuck"]
    if status or "Nothing was left to do" not in run.printed():
        return ["the next run found something to do"]
    more = system.model_calls() - before
    return [f"the next run asked the model {more} times"] if more else []


def _has_ended_with_a_word(status: int | None, printed: str) -> list[str]:
    """A flow beside another has done its part, or has been refused in words."""
    if status is None:
        return ["the second flow did not end"]
    if status and "Traceback" in printed:
        return [f"the second flow ended with a traceback: {printed[-1000:]}"]
    return []


def _containers_left(harness: Harness) -> list[str]:
    deadline = time.monotonic() + _CONTAINERS_S
    while left := harness.containers():
        if time.monotonic() > deadline:
            return [f"containers left: {len(left)}"]
        time.sleep(0.5)
    return []
