"""Formatting of numbers and untrusted text for reports."""

import re
from collections.abc import Mapping

UNKNOWN = "unknown"
NONE = "\N{EN DASH}"

# Identifiers of which a reader would not know the words.
_WORDS = {
    "screened": "by reading", "valid_oracle": "by running",
    "overruled": "arbiter against the run", "void_oracle": "by reading, after a run of no use",
    "ungated": "by an unchecked run", "claims_hold": "calls as demanded",
    "claims_fail": "calls not as demanded", "claims_disputed": "calls disputed",
    "recipe": "settings",
}  # fmt: skip

# Controls but tab and line feed, all that Unicode calls a format or ignorable by default (joiners,
# zero-width and direction marks, variation selectors, tags, musical and shorthand controls), odd
# line ends, blank fillers, lone surrogates: they can hide what a program does or a prompt says.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2"
    "\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd"
    "\U00013430-\U00013440\U00016fe4\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)


def format_count(value: int | None) -> str:
    """Return a whole number with commas between thousands, or "unknown"."""
    return UNKNOWN if value is None else f"{value:,}"


def counted(number: int, things: str) -> str:
    """Return a number of things, whose plural is given: "1 query", "2,000 new codes"."""
    if number == 1:
        things = re.sub(r"(?:(ie)|(?<=ch|sh|ss)e)?s$", lambda end: "y" if end[1] else "", things)
    return f"{number:,} {things}"


def format_cost(dollars: float | None) -> str:
    """Return an amount in dollars: to the cent, or to two significant digits below 10 cents."""
    if dollars is None:
        return UNKNOWN
    if 0 < dollars < 0.1:
        return f"${float(f'{dollars:.2g}'):.10f}".rstrip("0")
    return f"${dollars:,.2f}"


def format_duration(seconds: float) -> str:
    """Return a time as text: "0.42 s", "8.3 s", "2 min 5 s", "3 h 20 min"."""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(whole / 60)
    return f"{minutes // 60:,} h {minutes % 60} min"


def format_pace(per_minute: float) -> str:
    """Return a rate as text: "0.031 a minute", "0.4 a minute", "1,250 a minute"."""
    form = ",.0f" if per_minute >= 10 else ".2g" if per_minute < 0.1 else ".1f"
    return f"{per_minute:{form}} a minute"


def format_share(part: int, whole: int) -> str:
    """Return a part of a whole in per cent."""
    return f"{part / whole:.1%}" if whole else NONE


def format_rate(part: int, whole: int) -> str:
    """Return a part, its whole and its share: "1 of 8 (12.5%)"."""
    return f"{part:,} of {whole:,} ({format_share(part, whole)})"


def tally(counts: Mapping[str, int]) -> str:
    """Return counts in words: "1 label, 1 relevant"; "nothing" without any."""
    return ", ".join(counted(n, format_words(what)) for what, n in counts.items() if n) or "nothing"


def format_words(identifier: str) -> str:
    """Return an identifier's words: ``assertion_failed`` → "assertion failed"."""
    return _WORDS.get(identifier) or identifier.replace("_", " ")


def visible(text: str, limit: int) -> str:
    """Return text with its middle left out when it is long and invisible characters made visible.

    Control characters and those that change the direction of writing appear as code points.
    """
    if len(text) > limit:
        tail = limit // 4
        left_out = f"\n\N{HORIZONTAL ELLIPSIS} {len(text) - limit:,} characters left out \n"
        text = text[: limit - tail] + left_out + text[-tail:]
    return _HIDDEN.sub(lambda sign: f"⟨U+{ord(sign[0]):04X}⟩", text.replace("\r\n", "\n"))
