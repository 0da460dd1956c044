"""What can break in a run, and the order of it that follows from a seed.

To add a break, write a function of a `RunningSystem` that does it and returns whether it could, and
register it, saying whether it may cost requests: those whose reply nobody could keep.
"""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psutil

from tests.chaos.running_system import RunningSystem

_MOST_BREAKS = 4
_HOLDS = """
import sys, time
import duckdb
while True:
    try:
        held = duckdb.connect(sys.argv[1])
        break
    except duckdb.IOException:
        time.sleep(0.01)
sys.stdin.read()
"""


class Kind(NamedTuple):
    """A kind of break.

    Attributes:
        act: Does it; returns whether there was anything to break yet.
        loses: Whether replies on the wire can be lost with it.
        needs: What must be had for it: "", "root" or "engine".
    """

    act: Callable[[RunningSystem, "Break"], bool]
    loses: bool
    needs: str = ""


KINDS: dict[str, Kind] = {}


@dataclass(frozen=True)
class Break:
    """One break.

    Attributes:
        kind: Its name in `KINDS`.
        at_share: Share of all requests after which it happens; None for ``at_s``.
        at_s: Seconds after the start of a command.
        lasts_s: How long what is broken stays so, where it comes back by itself.
    """

    kind: str
    at_share: float | None
    at_s: float
    lasts_s: float

    def __str__(self) -> str:
        when = f"{self.at_s:.1f} s" if self.at_share is None else f"{self.at_share:.0%}"
        return f"{self.kind} at {when}"


def schedule(seed: int, kinds: Sequence[str] = ()) -> list[Break]:
    """Return the breaks of a seed, in the order of their moments; the same on every machine.

    Args:
        seed: The first of the breaks walks through the kinds, so that consecutive seeds meet all.
        kinds: The kinds to choose from; none given, from all.
    """
    kinds = kinds or list(KINDS)
    draw = random.Random(seed)
    names = [kinds[seed % len(kinds)]]
    names += draw.choices(kinds, k=draw.randrange(_MOST_BREAKS))
    breaks = [
        Break(
            kind=name,
            at_share=draw.uniform(0.01, 0.95) if draw.random() < 0.8 else None,
            at_s=draw.uniform(0.0, 10.0),
            lasts_s=draw.uniform(0.2, 8.0),
        )
        for name in names
    ]
    return sorted(breaks, key=lambda one: one.at_share or 0.0)


def _kind(
    name: str, *, loses: bool, needs: str = ""
) -> Callable[[Callable[[RunningSystem, Break], bool]], Callable[[RunningSystem, Break], bool]]:
    def register(
        act: Callable[[RunningSystem, Break], bool],
    ) -> Callable[[RunningSystem, Break], bool]:
        KINDS[name] = Kind(act, loses, needs)
        return act

    return register


@_kind("flow", loses=True)
def _flow(system: RunningSystem, _: Break) -> bool:
    return system.run.send(signal.SIGKILL)


@_kind("shard", loses=True)
def _shard(system: RunningSystem, _: Break) -> bool:
    return _kill_busiest(system, "ray::annotate-shard")


@_kind("journal's owner", loses=True)
def _owner(system: RunningSystem, _: Break) -> bool:
    return _kill_busiest(system, "ray::LedgerActor")


@_kind("raylet", loses=True)
def _raylet(system: RunningSystem, _: Break) -> bool:
    return _kill_busiest(system, "raylet")


@_kind("Ray head", loses=True)
def _head(system: RunningSystem, _: Break) -> bool:
    return _kill_busiest(system, "gcs_server")


@_kind("dockerd", loses=False, needs="engine")
def _dockerd(system: RunningSystem, order: Break) -> bool:
    assert system.engine is not None
    system.engine.kill()
    system.later(order.lasts_s, system.engine.start)
    return True


@_kind("model server", loses=True)
def _model(system: RunningSystem, order: Break) -> bool:
    system.model.kill()
    system.later(order.lasts_s, system.model.start)
    return True


@_kind("Prefect server", loses=False)
def _prefect(system: RunningSystem, order: Break) -> bool:
    system.prefect.kill()
    system.later(order.lasts_s, system.prefect.start)
    return True


@_kind("disk", loses=True, needs="root")
def _disk(system: RunningSystem, order: Break) -> bool:
    system.disk.fill()
    system.later(order.lasts_s, system.disk.empty)
    return True


@_kind("held store", loses=False)
def _held_store(system: RunningSystem, order: Break) -> bool:
    """Another program opens the store's file, and keeps it open for a while."""
    command = [sys.executable, "-c", _HOLDS, str(system.disk.folder / "cosqa.duckdb")]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE)
    system.later(order.lasts_s, holder.communicate)
    return True


@_kind("second flow", loses=False)
def _second(system: RunningSystem, _: Break) -> bool:
    system.start_rival()
    return True


@_kind("power", loses=True)
def _power(system: RunningSystem, order: Break) -> bool:
    """All processes but the model's and the engine's end at the same moment."""
    system.run.kill_all()
    system.prefect.kill()
    system.later(order.lasts_s, system.prefect.start)
    return True


@_kind("Ctrl-C", loses=True)
def _interrupt(system: RunningSystem, _: Break) -> bool:
    return system.run.send(signal.SIGINT)


def _kill_busiest(system: RunningSystem, title: str) -> bool:
    """Kill the process of a run whose title begins so, of several the busiest."""
    found = [one for one in system.run.processes() if title_of(one).startswith(title)]
    for victim in sorted(found, key=seconds_of, reverse=True):
        victim.kill()
        return True
    return False


def title_of(process: psutil.Process) -> str:
    """Return a process's title, or its program's name."""
    try:
        words = process.cmdline() or [""]
    except psutil.Error:
        return ""
    return words[0] if words[0].startswith("ray::") else Path(words[0]).name


def seconds_of(process: psutil.Process) -> float:
    """Return how long a process has computed; 0 for one that has just ended."""
    try:
        return float(process.cpu_times().user)
    except psutil.Error:
        return 0.0


def missing_here(*, has_engine: bool) -> dict[str, str]:
    """Return kind of break → why it cannot be had here.

    Args:
        has_engine: Whether there is a Docker engine to be killed.
    """
    lacks = {
        "root": "" if os.geteuid() == 0 else "only root can mount a disk",
        "engine": "" if has_engine else "there is no Docker engine to be killed",
    }
    return {name: lacks[kind.needs] for name, kind in KINDS.items() if lacks.get(kind.needs)}
