import re
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.cli import commands
from tasks.reports import text as wording


@pytest.mark.parametrize(
    ("dollars", "expected"),
    [
        (None, "unknown"),
        (0.0, "$0.00"),
        (0.00062, "$0.00062"),
        (0.000000123, "$0.00000012"),
        (0.05, "$0.05"),
        (0.1, "$0.10"),
        (1.5, "$1.50"),
        (1257.0, "$1,257.00"),
    ],
)
def test_a_cost_is_known_to_two_digits_or_unknown(dollars: float | None, expected: str) -> None:
    assert wording.format_cost(dollars) == expected


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({}, "nothing"),
        ({"undecided": 0}, "nothing"),
        ({"labels": 1_200, "queries_with_relevant": 3, "failed": 0},
         "1,200 labels, 3 queries with relevant"),
        (dict.fromkeys(("codes", "queries", "matches", "passes", "relevant"), 1),
         "1 code, 1 query, 1 match, 1 pass, 1 relevant"),
    ],
)  # fmt: skip
def test_what_was_counted_is_said_in_words(counts: dict[str, int], expected: str) -> None:
    assert wording.tally(counts) == expected


_THINGS = "items|pairs|labels|queries|codes|functions|files|grades|pages|texts|questions|answers"
_OWN_PLURAL = re.compile(
    r"(?<!of )(?<!all )(?<!the )(?:\{[^{}]*(?::,|len\()[^{}]*\}|%d)"
    rf" (?:[a-z]+ )?(?:{_THINGS})\b"
)
# Counts that are never one.
_SEVERAL = ("{len(keys)} judged pairs", "{len(found):,} texts")


def test_messages_count_things_by_the_function_that_knows_the_singular() -> None:
    folders = [Path(wording.__file__).parents[1], Path(commands.__file__).parent]
    found = [
        f"{file}: {words[0]}"
        for file in (file for folder in folders for file in folder.rglob("*.py"))
        for words in _OWN_PLURAL.finditer(file.read_text("utf-8"))
    ]
    assert [each for each in found if not each.endswith(_SEVERAL)] == []


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.0, "0.00 s"),
        (0.42, "0.42 s"),
        (8.26, "8.3 s"),
        (59.96, "1 min 0 s"),
        (125, "2 min 5 s"),
        (3599.7, "1 h 0 min"),
        (12_000, "3 h 20 min"),
    ],
)
def test_a_duration_is_said_as_people_say_it(seconds: float, expected: str) -> None:
    assert wording.format_duration(seconds) == expected


def test_an_unknown_count_is_not_zero() -> None:
    assert wording.format_count(None) == "unknown"
    assert wording.format_count(0) == "0"
    assert wording.format_count(412_080) == "412,080"


def test_a_share_of_nothing_is_no_number() -> None:
    assert wording.format_share(0, 0) == wording.NONE
    assert wording.format_share(1, 8) == "12.5%"


def test_long_text_keeps_both_ends_and_says_how_much_is_missing() -> None:
    shown = wording.visible("a" * 500 + "z" * 500, 100)
    assert shown.startswith("a" * 75 + "\n")
    assert shown.endswith("\n" + "z" * 25)
    assert "900 characters left out" in shown


@given(st.text(max_size=300), st.integers(20, 100))
def test_shown_text_is_printable_and_can_be_encoded(text: str, limit: int) -> None:
    shown = wording.visible(text, limit)
    shown.encode("utf-8")
    assert not set(shown) & {"\x00", "\x1b", "\r", "\u202e", "\u200b", "\u2028"}


@pytest.mark.parametrize("text", ["plain", "tab\tand\nline", "größer 漢字 🙂", "a" * 100])
def test_harmless_text_is_shown_as_it_is(text: str) -> None:
    assert wording.visible(text, 100) == text


@pytest.mark.parametrize(
    "sign", ["\u200b", "\u202e", "\u180e", "\u3164", "\uffa0", "\ufe0f", "\U000e0041", "\U000e0100"]
)
def test_characters_that_do_not_show_are_shown_as_code_points(sign: str) -> None:
    assert wording.visible(f"a{sign}b", 100) == f"a⟨U+{ord(sign):04X}⟩b"


def test_every_control_and_every_format_of_unicode_is_shown_as_a_code_point() -> None:
    kinds = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    signs = map(chr, range(sys.maxunicode + 1))
    hiding = [sign for sign in signs if unicodedata.category(sign) in kinds]
    blank = "\u034f\u115f\u1160\u17b4\u17b5\u180f\u2065\u2800\u3164\ufe0f\uffa0\U000e01ef"
    assert [s for s in (*hiding, *blank) if wording.visible(s, 100) == s] == ["\t", "\n"]
