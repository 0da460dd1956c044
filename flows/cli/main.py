"""The process of a command: what it hears of signals, and how errors end it.

All else is imported when signals are heard: a Ctrl-C of the first second shows no traceback.
"""

import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock, Thread
from time import sleep
from traceback import print_exception

from flows import when_stopped
from flows.cli import TRACEBACK

_STOPPED = 130  # exit status after Ctrl-C, by convention
_STOPPED_MESSAGE = "stopped: what is finished is kept; the same command goes on\n"
_STOPPING_S = 4.0
# Undoes settings that a user made for other work: flows tried again without a condition, results as
# pickles in the store, errors in place of log lines.
_PREFECT = {
    "PREFECT_FLOWS_DEFAULT_RETRIES": "0",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
    # As in prefect.yaml: by its signs of life a server knows that a command goes on.
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
}
_told = Lock()


def app() -> None:
    """Run the command that the line names."""
    from flows.runtime.working_folder import refuse_prefect_settings  # noqa: PLC0415 - see above

    refuse_prefect_settings(Path.cwd())
    from flows.cli.app import app as line  # noqa: PLC0415 - takes a second

    line()


def tell_stopped() -> None:
    """Say once that a signal ends the command, and what comes of its work."""
    if _told.acquire(blocking=False):
        os.write(2, _STOPPED_MESSAGE.encode())


def ask_loopback_directly() -> None:
    """Except this machine from the environment's proxies, here and in all that is started."""
    known = os.environ.get("no_proxy") or os.environ.get("NO_PROXY", "")
    if known != "*":
        direct = ",".join(filter(None, (known, "localhost,127.0.0.1,::1")))
        os.environ |= dict.fromkeys(("no_proxy", "NO_PROXY"), direct)


def keep_working_folder_off_module_paths() -> None:
    """Let all that is started look for modules elsewhere: whoever made the folder may have some.

    Python puts it before all else for ``-m`` and ``-c``. Other folders that the user has named stay
    those of this folder, in whichever a child works.
    """
    os.environ["PYTHONSAFEPATH"] = "1"
    for name in ("PREFECT_HOME", "PYTHONPATH"):
        if named := os.environ.get(name):
            parts = (Path(part).expanduser().absolute() for part in named.split(os.pathsep))
            os.environ[name] = os.pathsep.join(map(str, parts))


@contextmanager
def ended_soon_after_signals() -> Iterator[None]:
    """End this process seconds after Ctrl-C or SIGTERM in the ``with``, whatever it waits for.

    That is Ray, which starts and notices a lost worker in half a minute. It ends with this process,
    and so does a private Prefect server, which hears at once that the run is cancelled; what was
    finished is kept as after a crash.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer)

    def end() -> None:
        while number := os.read(reader, 1):
            if number[0] in (signal.SIGINT, signal.SIGTERM):
                for call in when_stopped:
                    Thread(target=call, daemon=True).start()
                sleep(_STOPPING_S)
                tell_stopped()
                os._exit(_STOPPED)
        os.close(reader)

    Thread(target=end, name="end", daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writer)


def main() -> None:
    """Run the command line; an error is one message and exit status 1, a signal status 130."""
    logging.captureWarnings(capture=True)
    os.environ.setdefault("DO_NOT_TRACK", "1")  # else Prefect first prints a notice of usage data
    ask_loopback_directly()
    os.environ |= _PREFECT
    keep_working_folder_off_module_paths()
    is_terminated = Event()

    def terminate(*_: object) -> None:
        is_terminated.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, terminate)
    try:
        with ended_soon_after_signals():
            app()
    except Exception as error:  # noqa: BLE001 - any ends the command
        from flows.cli.output import drop_tracebacks, print_error  # noqa: PLC0415 - see above

        (print_exception if TRACEBACK in sys.argv else print_error)(error)
        drop_tracebacks(error)
        sys.exit(1)
    except BaseException as error:  # by now Ctrl-C is Typer's exit
        status = error.code if isinstance(error, SystemExit) else _STOPPED
        if status != _STOPPED or TRACEBACK in sys.argv:
            raise
        sys.stderr.flush()
        tell_stopped()
        if is_terminated.is_set() or not isinstance(error, SystemExit):
            # Ray may have been ended too, and would abort at exit.
            os._exit(_STOPPED)
        raise


if __name__ == "__main__":
    main()
