"""The command line: all commands together, and how errors end a run."""

import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from threading import Event, Thread
from time import sleep
from traceback import print_exception
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import commands, tools
from flows.cli.help import Group
from flows.cli.output import drop_tracebacks, hide_tracebacks, print_error
from flows.runtime import when_stopped
from infra.working_folder import refuse_prefect_settings

if TYPE_CHECKING:
    from typer._click import Context

_TRACEBACK = "--traceback"
_STOPPED = 130  # exit status after Ctrl-C, by convention
_STOPPED_MESSAGE = "stopped: what is finished is kept; the same command goes on\n"
_STOPPING_S = 4.0
# Undoes settings that a user made for other work: flows tried again without a condition, results as
# pickles in the store, errors in place of log lines.
_PREFECT = {
    "PREFECT_FLOWS_DEFAULT_RETRIES": "0",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
}
_HELP = (
    "Build, maintain and evaluate multi-choice code-search benchmarks.\n\n"
    "Seven commands are all that most need: benchmark, which is collect, annotate, publish and "
    "evaluate in one; leaderboard; and server.\n\n"
    "Settings that have no option here are read from cosqa.toml and from the environment, such as "
    "COSQA_LLM__API_KEY; `cosqa settings` prints them all."
)


_ORDER = (
    "benchmark", "collect", "check-model", "annotate", "publish", "generate", "label", "evaluate",
    "leaderboard", "diff", "estimate", "train", "server", "pair", "browse", "store", "sandbox",
    "settings", "list", "study", "study-kape", "study-training", "compare-annotators", "suite",
    "challenge",
)  # fmt: skip


class _Cosqa(Group):
    def list_commands(self, ctx: "Context") -> list[str]:
        """Return the commands' names in their order, groups among them."""
        return sorted(super().list_commands(ctx), key=_ORDER.index)

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Take ``--traceback`` wherever it stands on the line."""
        rest = [word for word in args if word != _TRACEBACK]
        return super().parse_args(ctx, [_TRACEBACK, *rest] if len(rest) < len(args) else args)


app = typer.Typer(
    name="cosqa",
    cls=_Cosqa,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for _group, _name, _panel in (
    (commands.app, None, None),
    (tools.app, None, None),
    (tools.label_app, "label", "Build"),
    (tools.store_app, "store", "Run"),
    (tools.sandbox_app, "sandbox", "Run"),
    (tools.suite_app, "suite", "Papers"),
    (commands.challenge_app, "challenge", "Papers"),
):
    app.add_typer(_group, name=_name, rich_help_panel=_panel)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"cosqa {version('cosqa-plus')}")
        raise typer.Exit


@app.callback(help=_HELP)
def cosqa(
    *,
    traceback: Annotated[
        bool, typer.Option(_TRACEBACK, help="Show where in the program an error came from.")
    ] = False,
    version: Annotated[  # noqa: ARG001 - its callback does everything
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Read the options before a command's name."""
    if not traceback:
        hide_tracebacks()


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
                os.write(2, _STOPPED_MESSAGE.encode())
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
        refuse_prefect_settings(Path.cwd())
        with ended_soon_after_signals():
            app()
    except Exception as error:  # noqa: BLE001 - any ends the command
        (print_exception if _TRACEBACK in sys.argv else print_error)(error)
        drop_tracebacks(error)
        sys.exit(1)
    except BaseException as error:  # by now Ctrl-C is Typer's exit
        status = error.code if isinstance(error, SystemExit) else _STOPPED
        if status != _STOPPED or _TRACEBACK in sys.argv:
            raise
        sys.stderr.write(_STOPPED_MESSAGE)
        sys.stderr.flush()
        if is_terminated.is_set() or not isinstance(error, SystemExit):
            # Ray may have been ended too, and would abort at exit.
            os._exit(_STOPPED)
        raise


if __name__ == "__main__":
    main()
