"""The check of an engine: its boxes must show all behaviours before one is given out.

The behaviours that an engine has shown are persisted on this machine, for the engine as it is
(version, kernel, runtime, image) and the sources of this package. A run asks for the others.
"""

import asyncio
import functools
import json
import logging
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from infra.errors import BoxLostError, SandboxError
from infra.files import atomic_write
from infra.identity import digest
from infra.settings import SandboxSettings
from sandbox.backends import make_sandbox
from sandbox.base import CLOCK, Box, Identified, Sandbox
from sandbox.contract import BEHAVIOURS, BEHAVIOURS_OF_ALL_LANGUAGES, Behaviour
from sandbox.machine_slots import MachineSlots, own_folder

_log = logging.getLogger(__name__)

_SOURCES = Path(__file__).parents[1]
_AT_ONCE = 4
_LIMITS = ("memory_mb", "processes", "cpus", "timeout_s", "output_kb", "tmp_mb")
_OTHER_CLOCK = CLOCK - 400 * 86_400
_ENDLESS_S = 2.0  # of programs that run to their time limit, whatever it is


class CheckResult(NamedTuple):
    """The result of checking a behaviour of a box, with the problem where it failed."""

    name: str
    ok: bool
    detail: str


class CheckedSandbox:
    """A sandbox that gives out no box before its engine has shown all behaviours.

    Args:
        sandbox: The sandbox, which is closed with this one.
        settings: Its settings.
        behaviours: The behaviours, those of each language required before its first box.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        settings: SandboxSettings,
        behaviours: Collection[Behaviour] = BEHAVIOURS_OF_ALL_LANGUAGES,
    ) -> None:
        self._sandbox = sandbox
        self._settings = settings
        self._behaviours = behaviours
        self._checked: set[str] = set()

    async def check(self) -> str:
        """Return engine and image; see `Sandbox.check`."""
        return await self._sandbox.check()

    @asynccontextmanager
    async def box(
        self, code: str, *, bare: bool = False, language: str = "python"
    ) -> AsyncIterator[Box]:
        """Yield a fresh box; see `Sandbox.box`. Entering it raises as `require_behaviours`."""
        if language not in self._checked:
            required = [one for one in self._behaviours if one.language == language]
            await require_behaviours(self._sandbox, self._settings, behaviours=required)
            self._checked.add(language)
        async with self._sandbox.box(code, bare=bare, language=language) as box:
            yield box

    async def close(self) -> None:
        """Remove everything that is still there."""
        await self._sandbox.close()


async def require_behaviours(
    sandbox: Sandbox,
    settings: SandboxSettings,
    log: Callable[[str], None] = _log.info,
    behaviours: Collection[Behaviour] = BEHAVIOURS,
) -> None:
    """Ask an engine for the behaviours that it has not shown yet, one process at a time.

    A backend that names no engine runs nothing of its own, and is not asked.

    Raises:
        SandboxError: The engine does not show a behaviour that ``settings.accept_without`` does
            not name; the message names each. Or it failed.
    """
    if not isinstance(sandbox, Identified):
        return
    key = await _key(sandbox)
    required = [each for each in behaviours if each.name not in settings.accept_without]
    if _names_shown(key).issuperset(each.name for each in required):
        return
    lock = await MachineSlots(key, 1).acquire()
    try:
        shown = _names_shown(key)
        missing = [each for each in required if each.name not in shown]
        if not missing:
            return
        log(f"checking {len(missing)} behaviours of the engine's boxes, once: under a minute")
        results = await check_engine(settings, missing)
    finally:
        lock.release()
    if problems := "".join(f"\n- {each.name}: {each.detail}" for each in results if not each.ok):
        raise SandboxError(
            f"boxes of this engine do not show what they must, so nothing is run:{problems}\n"
            "Use an engine that does, or name these behaviours in sandbox.accept_without if you "
            "trust all code that is run. `cosqa sandbox check` checks all again."
        )


async def check_engine(
    settings: SandboxSettings, behaviours: Collection[Behaviour]
) -> list[CheckResult]:
    """Return the results of behaviours in boxes of the default limits, and persist them.

    Raises:
        SandboxError: The sandbox failed.
    """
    default = SandboxSettings()
    limits = {name: getattr(default, name) for name in _LIMITS}
    sandbox = make_sandbox(settings.model_copy(update=limits))
    try:
        results = await self_check(sandbox, behaviours)
        if isinstance(sandbox, Identified):
            key, ok = await _key(sandbox), {result.name: result.ok for result in results}
            others = _names_shown(key) - ok.keys()
            _persist(key, {*others, *(name for name, is_shown in ok.items() if is_shown)})
    finally:
        await sandbox.close()
    return results


async def self_check(
    sandbox: Sandbox, behaviours: Collection[Behaviour] = BEHAVIOURS
) -> list[CheckResult]:
    """Return a result for each behaviour, in order; a program that ends its box shows none.

    Some are checked at once. Those that fail are checked again alone, since a busy machine may have
    been too slow.

    Raises:
        SandboxError: The sandbox failed, which says nothing about the behaviour.
    """
    places = asyncio.Semaphore(_AT_ONCE)

    async def check(behaviour: Behaviour) -> CheckResult:
        async with places:
            return await _check(sandbox, behaviour)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(check(behaviour)) for behaviour in behaviours]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    results = [task.result() for task in tasks]
    return [
        result if result.ok else await _check(sandbox, behaviour)
        for behaviour, result in zip(behaviours, results, strict=True)
    ]


async def _check(sandbox: Sandbox, behaviour: Behaviour) -> CheckResult:
    async with sandbox.box(behaviour.code, language=behaviour.language) as box:
        try:
            problem = await _problem(box, behaviour)
        except BoxLostError as error:
            problem = f"the box was lost, twice: {error}"
    return CheckResult(behaviour.name, not problem, problem)


async def _problem(box: Box, behaviour: Behaviour) -> str:
    """Return the result's difference from the behaviour, "" without one."""
    if behaviour.before:
        await box.run(behaviour.before, code=behaviour.before_code, timeout_s=_ENDLESS_S)
    is_endless = "timeout" in _alternatives(behaviour.expects.get("outcome"))
    result = await box.run(behaviour.program, timeout_s=_ENDLESS_S if is_endless else None)
    problems = []
    for name, value in behaviour.expects.items():
        actual, allowed = getattr(result, name), _alternatives(value)
        if actual not in allowed:
            problems.append(f"{name} is {actual!r}, not {' or '.join(map(repr, allowed))}")
    if problems:
        return "; ".join(problems) + (f" ({result.message})" if result.message else "")
    if behaviour.again:
        seed, clock = (0, CLOCK) if behaviour.again == "same" else (1, _OTHER_CLOCK)
        again = await box.run(behaviour.program, hash_seed=seed, clock=clock)
        if (result.stdout == again.stdout) != (behaviour.again == "same"):
            return f"printed {result.stdout!r}, then {again.stdout!r} with {behaviour.again} seeds"
    return ""


def _alternatives(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


async def _key(sandbox: Identified) -> str:
    return digest("behaviours", await sandbox.identity(), _sources_digest())


@functools.cache
def _sources_digest() -> str:
    files = sorted(
        file
        for file in _SOURCES.rglob("*.*")
        if file.is_file() and file.suffix != ".md" and file.parent.name != "__pycache__"
    )
    texts = ((file.name, file.read_text("utf-8", "replace")) for file in files)
    return digest(*(part for text in texts for part in text))


def _names_shown(key: str) -> set[str]:
    """Return the names of the behaviours that were shown; none where nothing can be read."""
    try:
        names = json.loads(_file(key).read_text("utf-8"))
    except (OSError, ValueError):
        return set()
    return {str(name) for name in names} if isinstance(names, list) else set()


def _persist(key: str, names: Collection[str]) -> None:
    try:
        with atomic_write(_file(key)) as file:
            file.write_text(json.dumps(sorted(names)), "utf-8")
    except OSError as error:
        _log.warning("the check of the engine cannot be persisted for the next run: %s", error)


def _file(key: str) -> Path:
    return own_folder() / key / "shown.json"
