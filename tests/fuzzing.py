"""Fuzzing: how many cases by hypothesis or by seed, and how bytes are spoiled.

The gate takes the same examples and seeds each time; `make nightly` takes others each day, and
``NIGHT=…`` repeats those of a day.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

NIGHTLY = (pytest.mark.nightly, pytest.mark.slow)
# Of each tier: parameters of a test.
NUMBERS = (100, pytest.param(10_000, marks=NIGHTLY))
_INSERTED = (
    b"\0", b"\xff", b"\n", b"\r\n", b"\t", b" ", b'"', b",", b"\\ud800", b"-1", b"nan", b"1e999",
    b"null", b"{}", b"[", b"[" * 5_000, b'{"a":' * 5_000, b"9" * 5_000, b"0x" + b"f" * 5_000,
    b"\xef\xbb\xbf", "\u2028".encode(), "\u202e".encode(), b"../../x", b"=1+1", b"true", b"[[a]]",
)  # fmt: skip


def cases(number: int) -> Callable[[Any], Any]:
    """Return hypothesis' settings for a law of so many cases, by the profile of `conftest`."""
    return settings(max_examples=number)


def examine(law: Callable[..., None], number: int, *drawn: st.SearchStrategy[Any]) -> None:
    """Check a law for so many cases; its arguments are drawn."""
    cases(number)(given(*drawn)(law))()


def tonight(number: int) -> range:
    """Return so many seeds; those of one night are of no other."""
    first = number * int(os.environ.get("COSQA_NIGHT", "1"))
    return range(first, first + number)


def seeds(ordinary: int, exhaustive: int, nightly: int, at_once: int = 10) -> list[object]:
    """Return parameters of tests that take a range of seeds each: so many in each tier."""
    starts = [*range(0, exhaustive, at_once), *tonight(nightly)[::at_once]]
    marks = dict.fromkeys(starts[ordinary // at_once :], pytest.mark.exhaustive)
    marks |= dict.fromkeys(starts[exhaustive // at_once :], pytest.mark.nightly)
    return [
        pytest.param(range(start, start + at_once), id=str(start), marks=marks.get(start, ()))
        for start in starts
    ]


@st.composite
def spoiled(draw: st.DrawFn, content: bytes) -> bytes:
    """Draw bytes of which some are flipped, cut out, doubled or put in."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.sampled_from((0, 1, 2, 8, 64, 10**9))))
        part = content[start:end]
        put = draw(
            st.one_of(
                st.sampled_from(_INSERTED),
                st.binary(max_size=4),
                st.just(b""),
                st.just(part + part),
                st.just(bytes(byte ^ 1 << start % 8 for byte in part)),
            )
        )
        content = content[:start] + put + content[end:]
    return content
