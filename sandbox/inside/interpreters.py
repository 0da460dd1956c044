"""New interpreters: for another hash seed, for isolated code, and for other languages."""

from __future__ import annotations

import json
import marshal
import os
import socket
import sys
from collections.abc import Mapping

from sandbox.inside.child import CASES, package_folders
from sandbox.inside.instrumentation import instrument
from sandbox.inside.processes import enter
from sandbox.inside.proxy import ALONE, CHANNEL, GIVEN_UP
from sandbox.inside.seccomp import restrict_system_calls

TYPE_CHECKING = False  # see `sandbox.inside`
if TYPE_CHECKING:
    from sandbox.inside import Codes, Job

_SERVICE_FILES = (1, 2, 3)


def become_interpreter(job: Job, codes: Codes) -> None:
    """Become a new interpreter, with the job's hash seed and the job as its stdin.

    Args:
        job: The argument of the last module's ``prepare``.
        codes: Name and code of each module, the last of which has ``prepare``.
    """
    _give(marshal.dumps((codes, job)))
    arguments = [*sys.orig_argv[: sys.orig_argv.index("runner")], "child"]
    os.execve(sys.executable, arguments, os.environ)  # noqa: S606 - our own interpreter


def become_harness(job: Job, parts: Mapping[str, object], executable: int | None = None) -> None:
    """Become the harness of another language, or what it has made, with a job as its stdin.

    The executable cannot be read, so that the kernel hides the process from others of its user: one
    such process has the program and the report, another the code.

    Args:
        job: The job as it came from the host.
        parts: What the process works on: ``program`` and ``token``, or ``code``; of what is to be
            compiled, as of `Builds`.
        executable: The file of what the harness has made of it.
    """
    common = {"clock": job["clock"], "on_copies": job["isolated"] == "on_copies", "cases": CASES}
    _give(json.dumps({**common, "given_up": GIVEN_UP, "alone": ALONE, **parts}).encode())
    restrict_system_calls()
    command = job["harness"]
    if executable is None:
        os.execvpe(command[0], command, os.environ)  # noqa: S606 - the image's
    os.set_inheritable(executable, False)
    os.execve(f"/proc/self/fd/{executable}", ["box"], os.environ)  # noqa: S606 - of this box


def _give(data: bytes) -> None:
    """Make data this process's stdin, also after it became another program."""
    file = os.memfd_create("job", 0)
    with open(file, "wb", closefd=False) as opened:
        opened.write(data)
    os.lseek(file, 0, os.SEEK_SET)
    os.dup2(file, 0)
    os.close(file)


def start_service(job: Job, codes: Codes, *executables: int) -> int:
    """Start the process of the code under test; return the program's end of the socket to it.

    It is a new interpreter, which gets the code and nothing of the program. It loads the code when
    it is asked to, which a program does once its own process is hidden from others.

    Args:
        job: The job of the program.
        codes: The modules that the process needs.
        executables: The file of what a harness has made of the code, where it is compiled.
    """
    ends = socket.socketpair()
    here, there = (end.detach() for end in ends)
    if os.fork():
        os.close(there)
        return here
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        environment = dict(job["environment"])
        files = (*_SERVICE_FILES, CHANNEL)[: len(_SERVICE_FILES) + len(executables)]
        enter([null, null, there, *executables], files, environment)
        if job.get("harness"):
            become_harness(job, {"code": job["code"]}, CHANNEL if executables else None)
        os.environ["PYTHONHASHSEED"] = str(job["hash_seed"])
        made = instrument({"code": job["code"], "program": ""})
        own = {key: job[key] for key in ("hash_seed", "clock", "memory")}
        texts = {"text": job["code"], "code": made["code"], "called": made["names"][0]}
        become_interpreter({**own, **texts, "packages": package_folders(job)}, codes)
    finally:
        os._exit(1)
