"""Whatever a box answers, the host has a result that can be kept, or an error of the box.

Covers ``channel`` and ``jobs``: frames and reports of a runner that is no longer ours.
"""

import json
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import strategies as st

from infra.errors import BoxLostError
from infra.records import ExecutionResult, Record
from infra.settings import SandboxSettings
from sandbox.backends.docker.channel import Channel
from sandbox.backends.docker.jobs import longest_answer, read_result, read_shell_result
from sandbox.backends.docker.wheels import failure
from tests.fuzzing import NUMBERS, examine, spoiled
from tests.rows import first_rows

LONGEST = longest_answer(SandboxSettings())
CASE = {"name": "test_it", "outcome": "raised", "error_type": "E", "message": "m", "traceback": "t"}
RESULT = {
    "outcome": "raised", "error_type": "ValueError", "message": "é\ud83d\ude00",
    "missing_module": "", "seconds": 0.5, "peak_memory_mb": 12.5, "stdout": "out\n",
    "stderr": "\\x00", "tests_run": 2, "asserts_executed": 3, "target_calls": 4, "clean": True,
    "tests": [CASE, {"name": "b", "outcome": "passed"}],
}  # fmt: skip
COMMAND = {"status": 0, "stopped_by": "", "output": "said", "seconds": 1.0, "clean": True}
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20),
        st.sampled_from([
            "\ud800", "a\udfffb", "\0", 2**31, 2**63, 2**70, -1, 10**4_000, 1e308, float("nan"),
            float("inf"), "x" * 20_000, "passed", "memory", {"": {}}, [CASE] * 101, [[[]]],
        ]),
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)  # fmt: skip
KEYS = st.sampled_from([*RESULT, *COMMAND, "installed", "\ud800", "\0", "x" * 300]) | st.text()


class Line:
    """A connection to a box that has sent these bytes and is gone."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def settimeout(self, _seconds: float) -> None: ...

    def close(self) -> None: ...

    def sendall(self, _data: bytes) -> None: ...

    def recv(self, size: int) -> bytes:
        data, self._data = self._data[:size], self._data[size:]
        return data


def packets(data: bytes, sizes: list[int], streams: list[int]) -> bytes:
    """Return what the engine makes of a box's bytes: packets of these sizes, then the rest."""
    sent = b""
    for size, stream in zip([*sizes, len(data)], [*streams, 1], strict=False):
        part, data = data[:size], data[size:]
        sent += bytes([stream, 0, 0, 0]) + len(part).to_bytes(4, "big") + part
    return sent


def read(sent: bytes, reading: Callable[[dict[str, object]], Record]) -> Record | None:
    """Return the record that a box's bytes are read as, None for an error of the box."""
    line = Line(sent)
    channel = Channel(line, line, LONGEST)  # type: ignore[arg-type]
    try:
        answer = channel.ask({}, 60.0)
        assert channel.is_clean is (answer.pop("clean", None) is True)
        return reading(answer)
    except BoxLostError as error:
        lost = str(error)
    lost.encode()
    assert len(lost) < 3_000
    return None


def checked(record: Record | None) -> None:
    """Check that a store takes a record, and reads it back as it was."""
    if record is None:
        return
    text = record.model_dump_json()
    text.encode()
    assert type(record).model_validate_json(text) == record
    if isinstance(record, ExecutionResult):
        counts = (record.tests_run, record.asserts_executed, record.target_calls)
        assert all(count is None or 0 <= count < 2**31 for count in counts)


READINGS = st.sampled_from([(RESULT, read_result), (COMMAND, read_shell_result)])


@pytest.mark.parametrize("number", NUMBERS)
def test_any_report_is_a_result_or_an_error_of_the_box(number: int) -> None:
    def law(
        reading: tuple[dict[str, object], Callable[..., Record]], more: dict[str, object]
    ) -> None:
        data = json.dumps(reading[0] | more).encode()
        checked(read(packets(len(data).to_bytes(4, "big") + data, [], []), reading[1]))

    examine(law, number, READINGS, st.dictionaries(KEYS, VALUES, max_size=3))


@pytest.mark.parametrize("number", NUMBERS)
def test_any_bytes_are_a_result_or_an_error_of_the_box(number: int) -> None:
    def law(data: bytes, size: int | None, sizes: list[int], streams: list[int], cut: int) -> None:
        frame = (len(data) if size is None else size).to_bytes(4, "big") + data
        sent = packets(frame, sizes, streams)
        for reading in (read_result, read_shell_result):
            checked(read(sent[: len(sent) - cut], reading))

    sound = [json.dumps(one).encode() for one in (RESULT, COMMAND)]
    sound += [json.dumps(RESULT).encode("utf-16"), json.dumps(RESULT).encode("utf-32-be")]
    examine(
        law,
        number,
        st.sampled_from(sound).flatmap(spoiled) | st.binary(max_size=50),
        st.none() | st.sampled_from([0, 1, 2**16, LONGEST, LONGEST + 1, 2**32 - 1]),
        st.lists(st.integers(0, 40), max_size=4),
        st.lists(st.sampled_from([0, 1, 2, 255]), max_size=4),
        st.sampled_from([0, 0, 0, 1, 3, 9, 100]),
    )


def test_the_largest_report_of_an_intact_runner_is_taken() -> None:
    size = SandboxSettings().output_kb * 1024
    case = {"name": "\x01" * 200, "outcome": "raised", "message": "\x01" * 600}
    largest = RESULT | {
        "stdout": "\x01" * size, "stderr": "\x01" * size, "message": "\x01" * 10_000,
        "tests": [case | {"error_type": "\x01" * 200, "traceback": "\x01" * 1_500}] * 100,
    }  # fmt: skip
    data = json.dumps(largest).encode()
    assert read(packets(len(data).to_bytes(4, "big") + data, [], []), read_result) is not None


LARGE = {
    "objects": b'{"stdout": [' + b"{}," * (LONGEST // 3 - 9) + b"{}]}",
    "lists in a list": b'{"tests": [' + b"[]," * (LONGEST // 3 - 9) + b"[]]}",
    "fields": b"{" + b",".join(b'"%d":1' % n for n in range(LONGEST // 12)) + b"}",
    "fields of a test": b'{"outcome": "passed", "tests": [{'
    + b",".join(b'"%d":1' % n for n in range(LONGEST // 12)) + b"}]}",
    "one text": b'{"outcome": "passed", "stdout": "' + b"x" * (LONGEST - 99) + b'"}',
    "a number": b'{"outcome": "passed", "seconds": ' + b"9" * (LONGEST - 99) + b"}",
}  # fmt: skip


@pytest.mark.parametrize("name", first_rows(1, LARGE))
def test_no_report_takes_more_than_a_bounded_multiple_of_its_length(name: str) -> None:
    data = LARGE[name]
    sent = packets(len(data).to_bytes(4, "big") + data, [], [])
    tracemalloc.start()
    try:
        checked(read(sent, read_result))
        assert tracemalloc.get_traced_memory()[1] < 50 * LONGEST
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("number", NUMBERS)
def test_any_words_of_an_installer_are_a_result(number: int) -> None:
    def law(status: int, output: str) -> None:
        result = failure(status, output)
        assert not result.ok
        checked(result)

    words = st.sampled_from([
        "ERROR: ", "limit: ", "\n", "\r", "\0", " ", "x" * 2_000, "\u2028",
    ])  # fmt: skip
    examine(law, number, st.sampled_from([1, 137, -9]), st.lists(words | st.text()).map("".join))
