"""The self-check of a sandbox backend: runs the behaviours of ``behaviours.py``."""

from collections.abc import AsyncIterator, Iterable
from typing import NamedTuple

from infra.errors import BoxLostError
from infra.records import ExecutionResult
from sandbox.base import CLOCK, Box, Sandbox
from sandbox.contract.behaviour import Behaviour
from sandbox.contract.behaviours import BEHAVIOURS
from sandbox.contract.go import GO
from sandbox.contract.javascript import JAVASCRIPT

OF_ALL_LANGUAGES = (*BEHAVIOURS, *JAVASCRIPT, *GO)
_OTHER_CLOCK = CLOCK - 400 * 86_400
_ENDLESS_S = 2.0  # of programs that run to their time limit, whatever it is


class CheckResult(NamedTuple):
    """Whether a backend has a behaviour, and if not, the problem."""

    name: str
    ok: bool
    detail: str


async def self_check(
    sandbox: Sandbox, behaviours: Iterable[Behaviour] = BEHAVIOURS
) -> AsyncIterator[CheckResult]:
    """Yield a result for each behaviour, in order; a program that ends its box shows none.

    Raises:
        SandboxError: The sandbox failed, which says nothing about the behaviour.
    """
    for behaviour in behaviours:
        async with sandbox.box(behaviour.code, language=behaviour.language) as box:
            try:
                detail = await _fault(box, behaviour)
            except BoxLostError as error:
                detail = f"the box was lost, twice: {error}"
        yield CheckResult(behaviour.name, not detail, detail)


async def _fault(box: Box, behaviour: Behaviour) -> str:
    """Return how the result differs from the behaviour, "" where it does not."""
    if behaviour.before:
        await box.run(behaviour.before, code=behaviour.before_code, timeout_s=_ENDLESS_S)
    is_endless = "timeout" in _allowed(behaviour.expects.get("outcome"))
    result = await box.run(behaviour.program, timeout_s=_ENDLESS_S if is_endless else None)
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


async def core_dump_handler(sandbox: Sandbox) -> str:
    """Return the program that the engine's kernel starts, as root, at each crash; "" for none.

    It gets the memory of programs that crash, whatever limit a box sets on core dumps.
    """
    async with sandbox.box("") as box:
        result = await box.run("print(open('/proc/sys/kernel/core_pattern').read())")
    pattern = result.stdout.strip()
    return pattern.removeprefix("|") if pattern.startswith("|") else ""


def _allowed(value: object) -> frozenset[object]:
    return value if isinstance(value, frozenset) else frozenset({value})


def _listed(value: object) -> str:
    return " or ".join(sorted(repr(alternative) for alternative in _allowed(value)))
