"""Rules for test programs in JavaScript and Go, and what their failures are attributed to.

The code always runs in an isolated process, so no program reads its text. A language is patterns;
parsed are redefinitions, and what expected values are made of.
"""

import re
from dataclasses import dataclass

from tree_sitter import Node

from agents.evidence import RunOutcome
from agents.gates import FailureClassifier, Gate, ProgramRules, StubRules
from agents.gates.argument_expectations import expects
from agents.gates.program_trees import GoProgram, JavaScriptProgram, SyntaxTreeProgram
from agents.gates.stubs import ScriptStubs
from infra.languages.go import Go
from infra.languages.javascript import JavaScript
from infra.records import CaseResult, ExecutionResult
from infra.syntax.syntax_tree import SyntaxTreeLanguage, text_of


@dataclass(frozen=True)
class SyntaxTreeRules(ProgramRules):
    """The syntax of a language's test programs, and its errors."""

    language: type[SyntaxTreeLanguage]
    suffix: str  # of its files
    asserts: re.Pattern[str]  # what can fail a test
    outside: re.Pattern[str]  # what needs the network or the machine
    missing: re.Pattern[str]  # error type and message by missing dependencies
    tampers: re.Pattern[str] | None  # what leads a program into its own report
    functions: frozenset[str]  # kinds of nodes that define a function by its name
    program: type[SyntaxTreeProgram]
    claims: str
    stubs: StubRules

    def faults_of(self, program: str, code: str) -> dict[Gate, str]:
        """Return the gates that a program fails by its text alone, with what is wrong."""
        language = self.language()
        try:
            root = language.root_of(program)
        except SyntaxError:
            return {Gate.READABLE: "the program cannot be read"}
        if root.has_error:
            return {Gate.READABLE: f"the program is no {language.title}"}
        found = self.tampers.search(program) if self.tampers else None
        tampering = f"it uses {found[0]}" if found else ""
        faults = {
            Gate.LEAVES_TARGET_ALONE: tampering or self._redefines(root, code),
            Gate.DEMANDS_VALUES: "" if self.asserts.search(program) else "it asserts nothing",
            Gate.NEEDS_NOTHING_OUTSIDE: "it needs the machine"
            if self.outside.search(program)
            else "",
        }
        return {gate: fault for gate, fault in faults.items() if fault}

    def failure_classifier(self, program: str, code: str, stubs: str) -> FailureClassifier:  # noqa: ARG002
        """Return the failure classifier that reads stacks alone."""
        return self._classify

    def raised_in_program(self, result: ExecutionResult) -> bool:
        """Return True if an exception of a run came out of a line of the program itself."""
        failed = [case for case in result.tests if case.outcome != "passed"]
        texts = [case.traceback for case in failed] or [result.stderr]
        ours = [text for text in texts if not self._is_in("target", text)]
        return any(self._is_in("program", text) for text in ours)

    def expects_by_arguments(self, program: str, code: str) -> bool:
        """Return True if a program works out expected values from arguments, as claims do not."""
        return self.claims not in program and expects(self._tree(program, code))

    def demands_emptiness(self, program: str, code: str) -> bool:
        """Return True if a program asks for values that are empty, as claims do."""
        return self.claims in program or self._tree(program, code).demands_emptiness()

    def _tree(self, program: str, code: str) -> SyntaxTreeProgram:
        return self.program(program, code, self.language())

    def _classify(self, result: ExecutionResult, case: CaseResult | None) -> RunOutcome:
        end, stack = (case, case.traceback) if case else (result, result.stderr)
        error_type = end.error_type
        is_missing = end.outcome == "import_error" or self.missing.search(
            f"{error_type}: {end.message}"
        )
        if end.outcome == "assertion_failed":
            is_found = is_missing and not error_type
            return RunOutcome.DEPENDENCY_MISSING if is_found else RunOutcome.FAILED_ASSERTION
        if self._is_in("target", stack) or error_type == "NotSeparableError":
            return RunOutcome.DEPENDENCY_MISSING if is_missing else RunOutcome.CODE_RAISED
        return RunOutcome.TEST_AT_FAULT

    def _is_in(self, file: str, stack: str) -> bool:
        return re.search(rf"\b{file}{re.escape(self.suffix)}:\d+", stack) is not None

    def _redefines(self, root: Node, code: str) -> str:
        names = self.language().called_names(code)
        nodes = [root]
        while nodes:
            node = nodes.pop()
            nodes += node.children
            name = node.child_by_field_name("name")
            text = text_of(name) if name else ""
            if node.type in self.functions and text in names:
                return f"line {node.start_point.row + 1} defines {text}, which is the code's"
        return ""


JAVASCRIPT = SyntaxTreeRules(
    language=JavaScript,
    suffix=".js",
    asserts=re.compile(r"\bassert\b|\bclaims\.(?:gives|raises|prints|writes)\b"),
    outside=re.compile(
        r"""\brequire\(\s*['"](?:node:)?(?:http|https|http2|net|dgram|dns|tls|os)['"]|\bfetch\("""
    ),
    missing=re.compile(r"\A(?:ReferenceError|SyntaxError|NotSeparableError):"),
    tampers=None,
    functions=frozenset({"function_declaration"}),
    program=JavaScriptProgram,
    claims="\nclaims.adapter = ",
    stubs=ScriptStubs(),
)
# Where a test fails with the code's error as its message, the message says what the code lacked.
GO = SyntaxTreeRules(
    language=Go,
    suffix=".go",
    asserts=re.compile(r"\b\w+\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\("),
    outside=re.compile(
        r"\b(?:http\.(?:Get|Post|Head|DefaultClient|ListenAndServe)|net\.(?:Dial|Listen|Lookup)\w*|"
        r"exec\.Command|rand\.Reader|os\.(?:Getpid|Hostname))\b"
    ),
    missing=re.compile(
        r"\A(?:CompileError|NotSeparableError):|\bdial (?:tcp|udp|unix)\b|\bno such host\b|"
        r"\bnetwork is unreachable\b|\bexecutable file not found\b|\bread-only file system\b|"
        r"\bpermission denied\b"
    ),
    tampers=re.compile(
        r"""["`](?:unsafe|syscall|plugin|runtime/debug|cosqa/\w+)["`]|//go:\w+|\bwire_|\btesting_"""
    ),
    functions=frozenset({"function_declaration"}),
    program=GoProgram,
    claims="\nfunc claimsOutcome(",
    stubs=StubRules(),
)
