"""One pair for each path through Algorithm 1."""

from tests.flows.world import Case, commanded, judged, rule, screened, written

PASSES = "from target import {name}\n\ndef test_it():\n    assert {call} == {value}\n"

CASES: dict[str, Case] = {
    "clear_match": Case(
        "reverse the characters of a string",
        'def reverse_string(text):\n    """Reverse the characters of a string."""\n'
        "    return text[::-1]",
        (screened("clear_match"),),
    ),
    "clear_non_match": Case(
        "multiply two matrices",
        'def multiply_matrices(a, b):\n    """Multiply two matrices... or rather one."""\n'
        "    return a",
        (screened("clear_non_match"),),
    ),
    "unclear_passed": Case(
        "sum of the squares of a list of numbers",
        'def sum_of_squares(numbers):\n    """Sum the squares of a list of numbers."""\n'
        "    return sum(n * n for n in numbers)",
        (
            screened("unclear"),
            written(PASSES.format(name="sum_of_squares", call="sum_of_squares([1, 2])", value=5)),
            judged("answers"),
        ),
    ),
    "unclear_mended_passed": Case(
        "count the vowels in a word",
        'def count_vowels(word):\n    """Count the vowels in a word."""\n'
        "    return sum(letter in 'aeiou' for letter in word)",
        (
            screened("unclear"),
            written(
                "import toolz\n"
                + PASSES.format(name="count_vowels", call="count_vowels('banana')", value=3)
            ),
            judged("answers"),
        ),
    ),
    "unclear_failed_assertion": Case(
        "fahrenheit to celsius temperature",
        'def fahrenheit_to_celsius(degrees):\n    """Temperature conversion."""\n'
        "    return degrees - 32",
        (
            screened("unclear"),
            written(
                PASSES.format(
                    name="fahrenheit_to_celsius", call="fahrenheit_to_celsius(212)", value=100
                )
            ),
            judged("does_not_answer"),
        ),
    ),
    "unclear_never_executable": Case(
        "connect to a postgres database",
        'def connect_postgres(url):\n    """Connect to a postgres database."""\n'
        "    return driver.connect(url)",
        (
            screened("unclear"),
            written("import module_that_never_was\nfrom target import connect_postgres\n"),
            commanded("pip install module-that-never-was-either"),
            judged("answers"),
        ),
    ),
    "unreadable_reply": Case(
        "parse a date from text",
        'def parse_date(text):\n    """Parse a date from text."""\n    return date(text)',
        (rule("screener", {"text": "I would rather talk about the weather."}),),
    ),
    "model_unavailable": Case(
        "flatten a nested list",
        'def flatten(nested):\n    """Flatten a nested list."""\n'
        "    return [item for part in nested for item in part]",
        (rule("screener", {"status": 500, "retry_after": "0.1"}),),
    ),
}


def script(cases: dict[str, Case] = CASES) -> list[dict[str, object]]:
    """Return the scripted model's rules for these cases."""
    return [{"query": case.query} | item for case in cases.values() for item in case.rules]
