"""The languages whose code boxes run: of each the harness, the image and the contract.

To run a further one takes, beside its file in `infra.languages` with ``is_executed``:

- here a row, for a harness in ``sandbox/inside``; ``sandbox/image/LANGUAGE.Dockerfile``, which
  finds the folder ``sandbox/inside/LANGUAGE`` where there is one; and
  ``sandbox/contract/LANGUAGE.toml``, the behaviours that its boxes must show;
- a row of `agents.claims.executed`, which says what else agents need.

Begin with the contract, an image and a harness that reports anything: no program starts without the
contract, and ``cosqa sandbox check --language LANGUAGE``, once its option knows the name, makes the
image and shows behaviour by behaviour what the harness lacks. ``inside/javascript.js`` says what a
harness is given, ``inside/processes.py`` what it reports.
A test says what else a new row lacks (``tests/agents/claims/test_executed.py``).
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Harness(NamedTuple):
    """The program within a box that runs test programs of one language.

    Attributes:
        command: Its command line for a seed of random numbers and hashes, and for a box's memory in
            MB; () where it is the runner itself.
        is_compiled: Whether it makes executables.
    """

    command: Callable[[int, int], list[str]] = lambda *_: []
    is_compiled: bool = False


def _node(seed: int, memory_mb: int) -> list[str]:
    # A heap as large as the box: what exceeds its memory is stopped by the kernel, which counts it.
    flags = (f"--random-seed={seed + 1}", f"--hash-seed={seed + 1}", "--v8-pool-size=1")
    return ["node", *flags, f"--max-old-space-size={memory_mb}", "-e", _javascript()]


@cache
def _javascript() -> str:
    return (Path(__file__).with_name("inside") / "javascript.js").read_text("utf-8")


EXECUTED = {
    "python": Harness(),  # in the sandbox's own image, from which the others' are made
    "javascript": Harness(_node),
    # Its image has it: compiled, and nobody can read it.
    "go": Harness(lambda *_: ["/opt/go/harness"], is_compiled=True),
}
