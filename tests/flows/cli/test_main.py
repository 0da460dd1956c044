"""Laws of the command line's end: an error is a message with exit status 1 and no traceback.

Covers `flows.cli.output` too.
"""

import logging
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from urllib.request import proxy_bypass

import duckdb
import httpx
import pytest
from pydantic import BaseModel, ValidationError
from typer.testing import CliRunner

from flows.cli import main, output
from flows.cli.app import app as line
from infra.errors import BoxLostError, CosqaError, SettingsError, StoreError


def validation_error() -> ValidationError:
    class Model(BaseModel):
        number: int

    with pytest.raises(ValidationError) as caught:
        Model.model_validate({"number": "many"})
    return caught.value


PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.mark.parametrize(
    ("way", "name", "direct"),
    [
        ("http://127.0.0.1:9", "http_proxy", ""),
        ("socks5h://127.0.0.1:9", "ALL_PROXY", "a.example, 10.0.0.0/8"),
        ("http://127.0.0.1:9", "ALL_PROXY", "*"),
    ],
)
def test_this_machine_is_asked_without_the_environments_proxy(
    monkeypatch: pytest.MonkeyPatch, way: str, name: str, direct: str
) -> None:
    for known in (*PROXIES, *map(str.upper, PROXIES)):
        monkeypatch.setenv(known, "")
        monkeypatch.delenv(known)
    monkeypatch.setenv(name, way)
    if direct:
        monkeypatch.setenv("NO_PROXY", direct)
    main.ask_loopback_directly()
    assert all(proxy_bypass(host) for host in ("127.0.0.1:4200", "localhost:80"))
    with httpx.Client() as client:
        for host in ("127.0.0.1", "localhost", "[::1]"):
            url = httpx.URL(f"http://{host}:4200/api")
            assert client._transport_for_url(url) is client._transport
        world = httpx.URL("http://b.example/")
        assert (client._transport_for_url(world) is client._transport) == (direct == "*")


class RemoteError(Exception):
    """Stands for Ray's wrapper, whose own text is a worker's traceback."""

    def __init__(self, cause: Exception) -> None:
        super().__init__("Traceback (most recent call last): ...")
        self.cause = cause


Ended = Callable[[Exception], str]


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ended:
    """Return a call that lets the command line end by an error, and gives what it printed."""

    def end(error: Exception) -> str:
        def fail() -> None:
            raise error

        monkeypatch.setattr(main, "app", fail)
        monkeypatch.setattr(sys, "argv", ["cosqa", "collect"])
        with pytest.raises(SystemExit) as exit_of:
            main.main()
        assert exit_of.value.code == 1
        message = capsys.readouterr().err
        assert "Traceback" not in message
        return message

    return end


def test_what_is_set_in_prefect_for_other_work_changes_no_run(
    ended: Ended, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in main._PREFECT:
        monkeypatch.setenv(name, "5")
    ended(SettingsError("no run"))
    settings = subprocess.run(
        [sys.executable, "-c", PRINTED], capture_output=True, text=True, check=True
    )
    assert settings.stdout == "0 False ignore\n"


PRINTED = """
from prefect.settings import get_current_settings
read = get_current_settings()
logs = read.logging.to_api.when_missing_flow
print(read.flows.default_retries, read.results.persist_by_default, logs)
"""


def test_an_error_of_ours_is_its_message(ended: Ended) -> None:
    assert ended(SettingsError("top_k is 0")) == "error: top_k is 0\n"


@pytest.mark.parametrize(
    "error",
    [
        ExceptionGroup("two", [StoreError("a"), BoxLostError("b")]),
        ExceptionGroup("deep", [ExceptionGroup("one", [StoreError("a")]), BoxLostError("b")]),
        ExceptionGroup("twice", [StoreError("a"), StoreError("a"), BoxLostError("b")]),
    ],
)
def test_a_group_is_each_of_its_messages_once(ended: Ended, error: Exception) -> None:
    assert ended(error) == "error: a\nb\n"


def test_an_error_of_a_worker_is_the_error_and_not_its_wrapper(ended: Ended) -> None:
    assert ended(RemoteError(StoreError("locked"))) == "error: locked\n"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (validation_error(), ["ValidationError", "number", "valid integer"]),
        (duckdb.IOException("No space left on device"), ["IOException", "No space left"]),
        (OSError(28, "No space left on device", "/store"), ["OSError", "/store"]),
        (ExceptionGroup("g", [KeyError("q1")]), ["KeyError", "q1"]),
        (RuntimeError(), ["RuntimeError", "no message"]),
    ],
)
def test_what_nobody_expected_says_its_kind_and_how_to_see_more(
    ended: Ended, error: Exception, words: list[str]
) -> None:
    message = ended(error)
    assert [word for word in [*words, "unexpected", "--traceback"] if word not in message] == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileExistsError(17, "File exists", "out"), "out cannot be used (File exists)"),
        (NotADirectoryError(20, "Not a directory", "a/b"), "a/b cannot be used (Not a directory)"),
        (IsADirectoryError(21, "Is a directory", ".x", None, "x"), "x cannot be used (Is a dir"),
        (PermissionError(13, "Permission denied", "k"), "k cannot be used (Permission denied)"),
    ],
)
def test_a_place_that_cannot_be_used_is_named_with_the_way_out(
    ended: Ended, error: OSError, said: str
) -> None:
    message = ended(error)
    assert message.startswith(f"error: {said}")
    assert "): name another place, or change it\n" in message
    assert "unexpected" not in message


def test_an_error_that_names_a_hostile_file_does_not_steer_the_terminal(ended: Ended) -> None:
    assert ended(StoreError("a\x1b]0;b\x07\tc\nd")) == "error: a⟨U+001B⟩]0;b⟨U+0007⟩\tc\nd\n"


def test_an_endless_message_is_cut(ended: Ended) -> None:
    assert len(ended(RuntimeError("x" * 1_000_000))) < 3_000


def test_the_traceback_comes_when_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise CosqaError("deep inside")

    monkeypatch.setattr(main, "app", fail)
    monkeypatch.setattr(sys, "argv", ["cosqa", "--traceback", "collect"])
    with pytest.raises(SystemExit, match=r"^1$"):
        main.main()
    printed = capsys.readouterr().err.splitlines()
    assert printed[0] == "Traceback (most recent call last):"
    assert printed[-1] == "infra.errors.CosqaError: deep inside"


# As the thread that has started Ray keeps the error of a start that failed.
KEPT = """
import sys
from pathlib import Path
from threading import Event, Thread
from flows.cli import main
from infra.settings import StoreSettings
from infra.store import open_database

def fail():
    database = open_database(StoreSettings(folder=Path("store")))
    try:
        with database.transaction() as transaction:
            raise ValueError("inner") from transaction.rows("SELECT 1") and OSError("cause")
    except ValueError as error:
        kept = ExceptionGroup("all", [error])
        lasting = Thread(target=Event().wait, daemon=True)
        lasting.errors = [kept, error, error.__cause__]
        lasting.start()
        raise kept

main.app = fail
sys.argv = ["cosqa"]
main.main()
"""


def test_a_command_that_fails_prints_its_message_alone_though_a_thread_keeps_the_error(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KEPT], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    told = "What was finished before is kept. Run `cosqa --traceback ...` to see where it came from"
    assert done.stderr == f"error: unexpected ValueError: inner\n{told}.\n"
    assert (done.returncode, done.stdout) == (1, "")


def test_logs_of_flows_have_messages_without_tracebacks() -> None:
    logger = logging.getLogger("prefect.flow_runs")
    before = list(logger.filters)
    logger.filters.clear()
    output.hide_tracebacks()
    output.hide_tracebacks()
    record = logging.makeLogRecord({"msg": "failed", "exc_info": (OSError, OSError("full"), None)})
    assert logger.filter(record)
    assert len(logger.filters) == 1
    logger.filters[:] = before
    assert logging.Formatter().format(record) == "failed"


@pytest.mark.parametrize(
    ("message", "error", "logged"),
    [
        ("Encountered exception during execution", StoreError("a"), False),
        ("Encountered exception", ExceptionGroup("g", [StoreError("a"), StoreError("b")]), False),
        ("Finished in state Failed('StoreError: a')", None, False),
        ("Task run failed - Retry 1/3 will start", StoreError("a"), True),
        ("Encountered exception", ExceptionGroup("g", [StoreError("a"), OSError("b")]), True),
        ("Finished in state Completed()", None, True),
    ],
)
def test_an_error_that_ends_the_command_is_not_logged_beside_its_message(
    message: str, error: Exception | None, logged: bool
) -> None:
    logger = logging.getLogger("prefect.flow_runs")
    before = list(logger.filters)
    logger.filters.clear()
    output.hide_tracebacks()
    exc_info = (type(error), error, None) if error else None
    record = logging.makeLogRecord({"msg": message, "exc_info": exc_info})
    kept = bool(logger.filter(record))
    logger.filters[:] = before
    assert kept == logged


@pytest.mark.parametrize(
    "words", [["--traceback", "list", "metrics"], ["list", "metrics", "--traceback"]]
)
def test_the_traceback_can_be_asked_for_before_and_after_the_command(words: list[str]) -> None:
    outcome = CliRunner().invoke(line, words)
    assert outcome.exit_code == 0, outcome.output
    assert "MRR" in outcome.stdout


def test_the_version_is_printed() -> None:
    outcome = CliRunner().invoke(line, ["--version"])
    assert outcome.stdout == f"cosqa {version('cosqa-plus')}\n"


DEAF = """
import os, signal, time
from flows.cli import main

def deaf():
    os.kill(os.getpid(), signal.SIGTERM)
    while True:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            pass

main._STOPPING_S = 0.1
main.app = deaf
main.main()
"""


def test_a_command_that_hears_no_signal_ends_all_the_same() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", DEAF], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 130
    assert ended.stderr == "stopped: what is finished is kept; the same command goes on\n"


def test_a_command_that_has_ended_leaves_signals_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(main, "app", lambda: None)
    before = signal.getsignal(signal.SIGTERM)
    try:
        main.main()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert signal.set_wakeup_fd(-1) == -1
