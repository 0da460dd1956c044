"""The languages whose code boxes run: of each the rules for its programs, and calls of its code.

`sandbox.executed` says what it takes to run a further one. For agents that is:

- here a row: its `ProgramRules`, with those for stubs, and its `CallAdapter`;
- ``roles/inserts.LANGUAGE.toml``, what prompts say of it;
- where it shows in commands, the choices of ``cosqa sandbox check --language``.
"""

from typing import NamedTuple

from agents.claims.adapter import CallAdapter
from agents.claims.languages import GoCalls, JavaScriptCalls
from agents.claims.program import PythonCalls
from agents.gates import ProgramRules
from agents.gates.outcomes import PythonRules
from agents.gates.syntax_tree_rules import GO, JAVASCRIPT


class Executed(NamedTuple):
    """The needs of agents for a language that boxes run.

    Attributes:
        rules: The checks of its test programs, and the causes of their failures.
        calls: The way claims are run on its code.
    """

    rules: ProgramRules
    calls: CallAdapter


EXECUTED = {
    "python": Executed(PythonRules(), PythonCalls()),
    "javascript": Executed(JAVASCRIPT, JavaScriptCalls()),
    "go": Executed(GO, GoCalls()),
}


def rules_of(language: str) -> ProgramRules:
    """Return the rules for test programs of a language, Python's where no box runs it."""
    return EXECUTED.get(language, EXECUTED["python"]).rules


def is_claims_program(program: str) -> bool:
    """Return True if a program was made of claims, by the call adapter of a language."""
    return any(executed.rules.claims in program for executed in EXECUTED.values())
