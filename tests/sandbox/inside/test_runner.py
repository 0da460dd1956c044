"""What comes out of a box is bounded: counts, names, messages and signals.

Covers the report's way from ``run_tests`` through ``runner`` to the host's ``read_result``.
"""

import signal

import pytest

from infra.errors import BoxLostError
from sandbox.backends.docker.channel import Channel
from sandbox.backends.docker.jobs import read_result, read_shell_result
from sandbox.base import Box
from sandbox.inside.failures import FIELDS, describe
from sandbox.inside.processes import read_report
from sandbox.inside.runner import signal_name

REAL_TIME = (signal.SIGRTMIN, signal.SIGRTMIN + 1, 50, signal.SIGRTMAX - 1, signal.SIGRTMAX)
FAILED = b"!raised\0ValueError\0message\0\0"


def whole(report: bytes) -> bytes:
    """Return a report as the guard sends it, its size first."""
    return b"%d\n" % len(report) + report


def test_an_intact_report_is_read() -> None:
    counts = {"tests_run": 1, "asserts_executed": 2, "target_calls": 3, "tests": []}
    assert read_report(whole(b"1 2 3 =\n")) == {"outcome": "passed", **counts}
    failed = read_report(whole(b"1 2 3 =\n" + FAILED))
    words = {"error_type": "ValueError", "message": "message", "missing_module": ""}
    assert failed == {"outcome": "raised", **words, **counts}


def test_forged_counts_are_no_report() -> None:
    for counts in [
        b"1 two 3", b"1 2", b"1 2 3 4", b"", b"-1 2 3", b"1.5 2 3", b"1_0 2 3", b"+1 2 3",
        b"2147483648 0 0", b"0 0 4611686018427387904", b"9" * 5000 + b" 0 0", "٣ 0 0".encode(),
    ]:  # fmt: skip
        assert read_report(whole(counts + b"=\n")) is None
        assert read_report(whole(counts + b"=\n" + FAILED)) is None


@pytest.mark.parametrize(
    "words",
    [
        b"!raised\0" + b"N" * 501 + b"\0message\0",
        b"!raised\0Name\0" + b"m" * 10_001 + b"\0",
        b"!import_error\0Name\0message\0" + b"m" * 501,
        b"!raised\0Name\0message",
        b"!passed\0Name\0message\0",
        b"raised\0Name\0message\0",
    ],
)
def test_forged_words_are_no_report(words: bytes) -> None:
    assert read_report(whole(b"1 2 3 =\n" + words + b"\0")) is None


@pytest.mark.parametrize("ending", [{"outcome": "starved"}, {"stopped_by": "starved"}])
def test_what_had_no_core_is_no_result(ending: dict[str, object]) -> None:
    read = read_result if "outcome" in ending else read_shell_result
    with pytest.raises(BoxLostError, match=r"too busy .* \(sandbox.slots\)"):
        read(ending)


LONG = whole(b"2 2 2 =++\ntest_a\0test_b\0")
SHORT = whole(b"0 0 0 =\n" + FAILED)


@pytest.mark.parametrize("report", [LONG, SHORT])
def test_only_one_whole_report_is_read(report: bytes) -> None:
    assert read_report(report) is not None
    for end in range(len(report)):
        assert read_report(report[:end]) is None
    for more in (b"\0", b"\n", report, SHORT):
        assert read_report(report + more) is None
        assert read_report(more + report) is None


def test_every_signal_has_a_name() -> None:
    for number in [*range(1, 32), *REAL_TIME]:
        assert signal_name(number).startswith(("SIG", "signal "))


@pytest.mark.parametrize("text", ["x" * 100_000, "\ud800" * 100_000, "\0" * 100_000, "é" * 9_000])
@pytest.mark.filterwarnings("ignore")
def test_what_a_program_raises_is_cut_to_what_the_host_takes(
    text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    for error in (
        ValueError(text),
        ModuleNotFoundError(text, name=text),
        ImportError(f"{text}: cannot open shared object file"),
        long_named(text),
    ):
        fields = describe(error).decode().split("\0")
        assert all(len(x) <= most for x, most in zip(fields, FIELDS.values(), strict=True))
        read_result(dict(zip(FIELDS, fields, strict=True)))


def raised_by(code: str, file: str = "program.py") -> BaseException:
    """Return what a piece of code raises, run as that file."""
    try:
        exec(compile(code, file, "exec"), {})
    except BaseException as error:  # noqa: BLE001 - pytest's are no other
        return error
    raise AssertionError("it raises nothing")


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("import pytest\nwith pytest.raises(ValueError):\n    pass", "assertion_failed"),
        ("import pytest\npytest.fail('3 is demanded')", "assertion_failed"),
        ("import unittest\nunittest.TestCase().assertRaises(ValueError, int)", "assertion_failed"),
        ("assert False", "assertion_failed"),
        ("class Failed(BaseException): ...\nraise Failed('DID NOT RAISE')", "raised"),
        ("import pytest\npytest.skip('not here')", "raised"),
    ],
)
def test_what_a_demanded_exception_fails_by_is_an_assertion(code: str, outcome: str) -> None:
    assert describe(raised_by(code)).startswith(outcome.encode() + b"\0")


@pytest.mark.parametrize("code", ["assert False", "import pytest\npytest.fail('no')"])
def test_what_the_code_under_test_fails_by_itself_is_none(code: str) -> None:
    assert describe(raised_by(code, "target.py")).startswith(b"raised\0")


def long_named(text: str) -> Exception:
    name = text.encode(errors="replace").decode().replace("\0", "0")
    made: Exception = type(name, (Exception,), {})()
    return made


def test_an_answer_that_no_runner_gives_is_an_error_of_the_box() -> None:
    answers: list[dict[str, object]] = [
        {},
        {"outcome": "won"},
        {"outcome": "passed", "tests_run": 2**31},
        {"outcome": "passed", "asserts_executed": -1},
        {"outcome": "passed", "target_calls": 2**62},
        {"outcome": "passed", "tests_run": "many"},
        {"outcome": "passed", "tests_run": 1.5},
        {"outcome": "passed", "seconds": float("nan")},
        {"outcome": "passed", "seconds": float("inf")},
        {"outcome": "passed", "seconds": -1},
        {"outcome": "passed", "peak_memory_mb": float("inf")},
        {"outcome": "raised", "error_type": "N" * 501},
        {"outcome": "raised", "message": "m" * 10_001},
        {"outcome": "import_error", "missing_module": "m" * 501},
        {"outcome": "raised", "message": "\ud800"},
        {"outcome": "passed", "stdout": "\ud800"},
        {"outcome": "passed", "more": 1},
        {"outcome": ["passed"]},
    ]
    for answer in answers:
        with pytest.raises(BoxLostError, match="report that is not valid"):
            read_result(answer)


COMMAND = {"status": 0, "stopped_by": "", "output": "said", "seconds": 1.0}


def test_a_command_s_report_is_read() -> None:
    done = read_shell_result(COMMAND)
    assert (done.status, done.output, done.installed) == (0, "said", ())
    stopped = read_shell_result(COMMAND | {"status": None, "stopped_by": "timeout"})
    assert (stopped.status, stopped.output) == (None, "said\n[stopped: timeout]")


@pytest.mark.parametrize(
    "forged",
    [
        {"installed": ["six"]}, {"ok": True}, {"status": 2**31}, {"status": -(2**40)},
        {"status": "done"}, {"seconds": float("nan")}, {"seconds": -1}, {"seconds": float("inf")},
        {"stopped_by": "luck"}, {"stopped_by": ["timeout"]}, {"output": 1}, {"output": None},
    ],
)  # fmt: skip
def test_a_command_s_report_that_no_runner_gives_is_an_error_of_the_box(
    forged: dict[str, object],
) -> None:
    with pytest.raises(BoxLostError, match="report that is not valid"):
        read_shell_result(COMMAND | forged)


class Line:
    """A connection on which one frame has come.

    Args:
        frame: Its bytes.
    """

    def __init__(self, frame: bytes) -> None:
        packet = len(frame).to_bytes(4, "big") + frame
        self._data = b"\1\0\0\0" + len(packet).to_bytes(4, "big") + packet

    def settimeout(self, _seconds: float) -> None: ...

    def close(self) -> None: ...

    def recv(self, size: int) -> bytes:
        data, self._data = self._data[:size], self._data[size:]
        return data


@pytest.mark.parametrize(
    "frame",
    [
        b"[" * 100_000,
        b"{" * 100,
        b"9" * 5000,
        b'{"tests_run": ' + b"9" * 5000 + b"}",
        b"[]",
        b"\xff",
    ],
)
def test_a_frame_that_is_no_report_is_an_error_of_the_box(frame: bytes) -> None:
    line = Line(frame)
    with pytest.raises(BoxLostError, match="the box sent a frame"):
        Channel(line, line, 2**20).receive(1.0)  # type: ignore[arg-type]


@pytest.mark.docker
@pytest.mark.parametrize("number", [signal.SIGRTMIN + 1, 50, signal.SIGKILL])
async def test_a_program_may_end_itself_by_any_signal(box: Box, number: int) -> None:
    result = await box.run(f"import os, signal\nos.kill(os.getpid(), {int(number)})")
    assert result.outcome == "killed"
    assert "ended by" in result.message
    assert (await box.run("pass")).outcome == "passed"


@pytest.mark.docker
async def test_a_name_without_end_is_cut(box: Box) -> None:
    result = await box.run("raise type('N' * 100_000, (Exception,), {})")
    assert (result.outcome, result.error_type) == ("raised", "N" * 500)
    missing = await box.run(f"raise ModuleNotFoundError(name={'m' * 5000!r})")
    assert (missing.outcome, missing.missing_module) == ("import_error", "m" * 500)
