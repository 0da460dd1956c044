"""The self-check of a sandbox backend: runs the behaviours of ``behaviours.py``."""

from collections.abc import AsyncIterator, Iterable
from typing import NamedTuple

from infra.records import ExecutionResult
from sandbox.base import CLOCK, Box, Sandbox
from sandbox.contract.behaviour import Behaviour
from sandbox.contract.behaviours import BEHAVIOURS

_OTHER_CLOCK = CLOCK - 400 * 86_400


class CheckResult(NamedTuple):
    """Whether a backend has a behaviour, and if not, the problem."""

    name: str
    ok: bool
    detail: str


async def self_check(
    sandbox: Sandbox, behaviours: Iterable[Behaviour] = BEHAVIOURS
) -> AsyncIterator[CheckResult]:
    """Yield a result for each behaviour, in order.

    Raises:
        SandboxError: The sandbox failed, which says nothing about the behaviour.
    """
    for behaviour in behaviours:
        async with sandbox.box(behaviour.code) as box:
            detail = await _fault(box, behaviour)
        yield CheckResult(behaviour.name, not detail, detail)


async def _fault(box: Box, behaviour: Behaviour) -> str:
    """Return how the result differs from the behaviour, "" where it does not."""
    if behaviour.before:
        await box.run(behaviour.before)
    result = await box.run(behaviour.program)
    faults = [
        f"{name} is {getattr(result, name)!r}, not {_listed(value)}"
        for name, value in behaviour.expects.items()
        if getattr(result, name) not in _allowed(value)
    ]
    if not faults and behaviour.again:
        seed, clock = (0, CLOCK) if behaviour.again == "same" else (1, _OTHER_CLOCK)
        again = await box.run(behaviour.program, hash_seed=seed, clock=clock)
        faults = _compared(result, again, behaviour)
    return "; ".join(faults) + (f" ({result.message})" if faults and result.message else "")


def _compared(first: ExecutionResult, second: ExecutionResult, behaviour: Behaviour) -> list[str]:
    if (first.stdout == second.stdout) == (behaviour.again == "same"):
        return []
    return [f"printed {first.stdout!r} and then {second.stdout!r} with {behaviour.again} seeds"]


def _allowed(value: object) -> frozenset[object]:
    return value if isinstance(value, frozenset) else frozenset({value})


def _listed(value: object) -> str:
    return " or ".join(sorted(repr(alternative) for alternative in _allowed(value)))
