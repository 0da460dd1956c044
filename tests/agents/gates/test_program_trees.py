"""Laws of programs in JavaScript and Go: what their expected values are made of.

Covers `agents.gates.program_trees`; `test_three_languages.py` runs such programs.
"""

import tomllib
from pathlib import Path

import pytest

from agents.gates.syntax_tree_rules import GO, JAVASCRIPT

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
def test_a_program_expects_what_its_arguments_say_or_asks_for_them(language: str) -> None:
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
