"""Laws of programs that work out expected values from arguments, in each language.

Covers `agents.gates.program_trees`; `test_three_languages.py` runs such programs.
"""

import tomllib
from pathlib import Path

import pytest

from agents.gates.argument_expectations import expects_by_arguments
from agents.gates.syntax_tree_rules import GO, JAVASCRIPT
from sandbox.base import Sandbox

EXPECTS = (
    "assert f(x) == sorted(x)",
    "got = f(x)\nassert got == sorted(x)",
    "got = f(x)\nwant = sorted(x)\nassert got == want",
    "got = f(x)\nwant = [one for one in x]\nassert list(got) == want and len(got) == 0",
    "got = list(f(x))\ny = x\nassert got == y",
)
ASKS = (
    "f(x)\nassert x == [1, 2]",
    "assert f(x) is x",
    "got = f(x)\nassert got == x\nassert x == [1, 2]",
    "got = f(x)\nassert got == sorted(x) and not x",
    "got = f(x)\ny = list(x)\nassert y == [1, 2] and got == x",
    "data = {1: x}\ninner = data[1]\ngot = f(inner)\nassert got == inner\nassert data == {1: []}",
    "assert f(x) == [1, 2]",
    "want = [1, 2]\nassert f(x) == want",
    "print x",
)


def test_a_program_expects_what_its_arguments_say_or_asks_for_them() -> None:
    head = "from target import f\nx = [2, 1]\n"
    assert [body for body in EXPECTS if not expects_by_arguments(head + body)] == []
    assert [body for body in ASKS if expects_by_arguments(head + body)] == []


CHANGES = {  # code, and how the programs end where arguments stay as they were
    "def f(x):\n    x.clear()\n    return []": ("passed", "assertion_failed"),
    "def f(x):\n    x[:] = [7]\n    return x": ("passed", "assertion_failed"),
    "def f(x):\n    x.sort()\n    return x": ("passed", "passed"),
    "def f(x):\n    return sorted(x)": ("passed", "passed"),
}


@pytest.mark.docker
@pytest.mark.parametrize("code", CHANGES)
async def test_expected_values_of_arguments_fail_where_these_stay(
    code: str, sandbox: Sandbox
) -> None:
    async with sandbox.box(code) as box:
        for body in EXPECTS[:3]:
            test = "\n".join(f"    {line}" for line in body.splitlines())
            program = f"from target import f\ndef test_it():\n    x = [2, 1]\n{test}\n"
            ends = [(await box.run(program, isolated=way)).outcome for way in (True, "on_copies")]
            assert tuple(ends) == CHANGES[code], body


CODES = {
    "javascript": "function f(items) { return items; }",
    "go": "func F(items []int) []int { return items }\ntype S struct{ n int }\n"
    "func (s *S) Push(n int) {}\nfunc (s *S) Pop() int { return 0 }",
}
TREE_RULES = {"javascript": JAVASCRIPT, "go": GO}
HEADS = {
    "javascript": "const assert = require('assert');\nconst { f } = require('target');\n"
    "function test_it() {\n  const items = [2, 1];\n",
    "go": "func TestIt(t *testing.T) {\n\titems := []int{2, 1}\n",
}
TABLE = tomllib.loads(Path(__file__).with_name("program_trees.toml").read_text("utf-8"))


@pytest.mark.parametrize("language", TREE_RULES)
def test_a_program_of_another_language_expects_what_its_arguments_say_or_asks_for_them(
    language: str,
) -> None:
    def expects(body: str) -> bool:
        program = f"{HEADS[language]}{body}\n}}\n"
        return TREE_RULES[language].expects_by_arguments(program, CODES[language])

    assert [body for body in TABLE[language]["expects"] if not expects(body)] == []
    assert [body for body in TABLE[language]["asks"] if expects(body)] == []


@pytest.mark.parametrize("language", TREE_RULES)
def test_a_program_demands_emptiness_or_is_content_with_nothing(language: str) -> None:
    def demands(body: str) -> bool:
        program = f"{HEADS[language]}{body}\n}}\n"
        return TREE_RULES[language].demands_emptiness(program, CODES[language])

    assert [body for body in TABLE[language]["empty"] if not demands(body)] == []
    assert [body for body in TABLE[language]["lax"] if demands(body)] == []
