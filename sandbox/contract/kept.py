"""What an engine has shown, kept on this machine: a run asks for no behaviour twice.

A result holds for the engine as it is (its version, kernel, runtime, image) and for the sandbox of
this release. Where something of these changes, all behaviours are asked for anew, once: other
processes wait. What an engine did not show is asked for again by each run.
"""

import asyncio
import functools
import json
import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from infra.atomic import atomic_write
from infra.errors import SandboxError
from infra.identity import digest
from infra.settings import SandboxSettings
from sandbox.backends import make_sandbox
from sandbox.base import Box, Identified, Sandbox
from sandbox.contract.behaviour import Behaviour
from sandbox.contract.behaviours import BEHAVIOURS
from sandbox.contract.self_check import OF_ALL_LANGUAGES, CheckResult, self_check
from sandbox.machine_slots import MachineSlots, own_folder

_log = logging.getLogger(__name__)

_SOURCES = Path(__file__).parents[1]
_FORMS = ("*.py", "*.js", "*.go", "*.Dockerfile")
_FILE = "shown.json"
_STEP = 20  # behaviours between two messages
_AT_ONCE = 4
_LIMITS = ("memory_mb", "processes", "cpus", "timeout_s", "output_kb", "tmp_mb")

Say = Callable[[str], None]


class CheckedSandbox:
    """A sandbox that gives out no box before its engine has shown all behaviours.

    Args:
        sandbox: The sandbox, which is closed with this one.
        settings: Its settings.
        behaviours: What is asked for, of each language before its first box.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        settings: SandboxSettings,
        behaviours: Collection[Behaviour] = OF_ALL_LANGUAGES,
    ) -> None:
        self._sandbox = sandbox
        self._settings = settings
        self._behaviours = behaviours
        self._asking = asyncio.Lock()
        self._has_shown: set[str] = set()

    async def check(self) -> str:
        """Return engine and image; see `Sandbox.check`."""
        return await self._sandbox.check()

    def box(
        self, code: str, *, bare: bool = False, language: str = "python"
    ) -> AbstractAsyncContextManager[Box]:
        """Return a fresh box; see `Sandbox.box`. Entering it raises as `require_behaviours`."""
        return self._box(code, bare=bare, language=language)

    async def close(self) -> None:
        """Remove everything that is still there."""
        await self._sandbox.close()

    @asynccontextmanager
    async def _box(self, code: str, *, bare: bool, language: str) -> AsyncIterator[Box]:
        async with self._asking:
            if language not in self._has_shown:
                wanted = [one for one in self._behaviours if one.language == language]
                await require_behaviours(self._sandbox, self._settings, behaviours=wanted)
                self._has_shown.add(language)
        async with self._sandbox.box(code, bare=bare, language=language) as box:
            yield box


async def require_behaviours(
    sandbox: Sandbox,
    settings: SandboxSettings,
    say: Say = _log.info,
    behaviours: Collection[Behaviour] = BEHAVIOURS,
) -> None:
    """Make sure that an engine shows all behaviours; ask only for those that it has not shown yet.

    A backend that names no engine runs nothing of its own, and is not asked.

    Args:
        sandbox: The sandbox.
        settings: Its settings, of which ``accept_without`` names what need not be shown. Limits are
            the default ones, so that the result holds for all.
        say: Takes what a person should know while this takes its time.
        behaviours: What is asked for.

    Raises:
        SandboxError: The engine does not show a behaviour; the message names each. Or it failed.
    """
    if not isinstance(sandbox, Identified):
        return
    wanted = [one for one in behaviours if one.name not in settings.accept_without]
    key = await _key(sandbox)
    if not _missing(wanted, key):
        return
    async with _alone(key, say):
        missing = _missing(wanted, key)  # others may have asked meanwhile
        if not missing:
            return
        say(
            f"asking the engine, once, for {len(missing)} behaviours that boxes must have: well "
            "under a minute; `cosqa sandbox check` shows each"
        )
        findings = await _findings(settings, missing, say)
        _keep(key, {*_shown(key), *(finding.name for finding in findings if finding.ok)})
    if failed := [finding for finding in findings if not finding.ok]:
        raise SandboxError(_refusal(failed))
    say(f"the engine shows all {len(behaviours)} behaviours")


async def keep_findings(sandbox: Sandbox, findings: Iterable[CheckResult]) -> None:
    """Keep what an engine has shown, and forget what it showed of the same before."""
    if isinstance(sandbox, Identified):
        key, found = await _key(sandbox), {finding.name: finding.ok for finding in findings}
        former = _shown(key) - found.keys()
        _keep(key, {*former, *(name for name, is_shown in found.items() if is_shown)})


async def _findings(
    settings: SandboxSettings, behaviours: Collection[Behaviour], say: Say
) -> list[CheckResult]:
    """Ask for behaviours, some at once, and again for those that a busy machine was too slow for.

    Raises:
        SandboxError: The sandbox failed.
    """
    default = SandboxSettings()
    limits = {name: getattr(default, name) for name in _LIMITS}
    sandbox = make_sandbox(settings.model_copy(update=limits))
    places = asyncio.Semaphore(_AT_ONCE)
    findings = list[CheckResult]()

    async def ask(behaviour: Behaviour) -> None:
        async with places:
            findings.extend([finding async for finding in self_check(sandbox, [behaviour])])
        if len(findings) % _STEP == 0:
            say(f"{len(findings)} of {len(behaviours)} behaviours were asked for")

    try:
        async with asyncio.TaskGroup() as group:
            for behaviour in behaviours:
                group.create_task(ask(behaviour))
        shown = {finding.name for finding in findings if finding.ok}
        failed = [behaviour for behaviour in behaviours if behaviour.name not in shown]
        again = [finding async for finding in self_check(sandbox, failed)]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    finally:
        await sandbox.close()
    return [finding for finding in findings if finding.ok] + again


def _refusal(failed: Collection[CheckResult]) -> str:
    problems = "".join(f"\n- {finding.name}: {finding.detail}" for finding in failed)
    return (
        f"boxes of this engine do not show what they must, so nothing is run:{problems}\n"
        "Use an engine that does, or name these behaviours in sandbox.accept_without if you trust "
        "all code that is run. `cosqa sandbox check` asks for all anew."
    )


async def _key(sandbox: Identified) -> str:
    return digest("behaviours", await sandbox.identity(), _release())


@functools.cache
def _release() -> str:
    """Return the digest of this package's sources."""
    files = sorted(file for form in _FORMS for file in _SOURCES.rglob(form))
    return digest(*(part for file in files for part in (file.name, file.read_text("utf-8"))))


@asynccontextmanager
async def _alone(key: str, say: Say) -> AsyncIterator[None]:
    """Let one process of this user ask an engine; the next waits."""
    turns = MachineSlots(key, 1)
    turn = turns.try_take()
    if turn is None:
        say("another process asks the engine for its behaviours; waiting for it")
        turn = await turns.take()
    try:
        yield
    finally:
        turn.release()


def _missing(wanted: Iterable[Behaviour], key: str) -> list[Behaviour]:
    shown = _shown(key)
    return [behaviour for behaviour in wanted if behaviour.name not in shown]


def _shown(key: str) -> set[str]:
    """Return the names of the behaviours that were shown; none where nothing can be read."""
    try:
        names = json.loads((own_folder() / key / _FILE).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return set()
    return {str(name) for name in names} if isinstance(names, list) else set()


def _keep(key: str, names: Iterable[str]) -> None:
    try:
        with atomic_write(own_folder() / key / _FILE) as file:
            file.write_text(json.dumps(sorted(names)), "utf-8")
    except OSError as error:
        _log.warning("what the engine has shown cannot be kept for the next run: %s", error)
