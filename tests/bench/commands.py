"""Commands of the product, each in a process of its own whose memory is watched from outside."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

COSQA = str(Path(sys.executable).with_name("cosqa"))
# Else a command would keep its options for later ones in the folder at hand.
OWN_SETTINGS = {"COSQA_CONFIG": str(Path(__file__).with_name("no_settings.toml"))}


@dataclass(frozen=True)
class Finished:
    """A command that has ended: when it started and ended, in seconds since 1970, and its words."""

    started: float
    ended: float
    printed: str

    @property
    def seconds(self) -> float:
        """Wall time from the process's start to its end."""
        return self.ended - self.started


@dataclass
class Watch:
    """Bytes of memory over time, of a command's processes together (Ray's and Prefect's included).

    Of each process it takes the proportional set size, in which shared pages count once over all.

    Attributes:
        pause_s: Seconds between two looks.
        samples: Time of each look, and bytes.
    """

    pause_s: float = 0.5
    samples: list[tuple[float, int]] = field(default_factory=list)

    def run(
        self, words: Sequence[str], environment: Mapping[str, str], folder: Path | None = None
    ) -> Finished:
        """Run a command line to its end, sampling its memory.

        Raises:
            SystemExit: It failed; the message is what it printed.
        """
        started = time.time()
        with tempfile.TemporaryFile("w+") as printed:
            process = psutil.Popen(
                words, cwd=folder, env=OWN_SETTINGS | dict(environment), stdout=printed,
                stderr=subprocess.STDOUT,
            )  # fmt: skip
            while process.poll() is None:
                self.samples.append((time.time(), memory_of(process)))
                with contextlib.suppress(psutil.TimeoutExpired):
                    process.wait(self.pause_s)
            ended = time.time()
            printed.seek(0)
            text = printed.read()
        if process.returncode:
            raise SystemExit(f"{' '.join(words)}\n{text}")
        return Finished(started, ended, text)

    def peak(self, start: float, end: float) -> int:
        """Return the most bytes between two times, the last sample before them included."""
        before = [held for when, held in self.samples if when <= start][-1:]
        return max([held for when, held in self.samples if start < when <= end] + before, default=0)


def run_apart(module: str, **options: object) -> tuple[Any, float]:
    """Return the JSON that a module prints in a process of its own, and its most memory in GB.

    Args:
        module: Its dotted name.
        options: Of its command line; a list is a value each.

    Raises:
        SystemExit: It failed.
    """
    words = [sys.executable, "-m", module]
    for name, value in options.items():
        words += [f"--{name}", *map(str, value if isinstance(value, list) else [value])]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {process.returncode}")
    return json.loads(printed), usage.ru_maxrss / 1e6


def memory_of(process: psutil.Process) -> int:
    """Return the proportional set sizes of a process and of all below it, in bytes."""
    total = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        for each in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                total += each.memory_full_info().pss
    return total
