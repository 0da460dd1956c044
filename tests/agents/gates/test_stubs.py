"""Laws of what may stand beside the code, and attacks by it.

Covers `agents.gates.stubs` and what the committee does with it.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.claims.adapter import adapter_fault
from agents.claims.executed import rules_of
from agents.evidence import Draft, RunOutcome
from agents.gates.outcomes import PythonRules
from agents.gates.static_checks import faults_of, sets_on_modules
from agents.gates.stubs import PYTHON_STUBS, ScriptStubs, functions_of
from agents.gates.validator import OracleValidator
from agents.roles.write import Composition
from infra.languages.python import Python
from infra.languages.python.scaffolding import with_support_code
from infra.records import Code, ExecutionResult, Pair, Query
from infra.settings import GateSettings
from sandbox.base import Sandbox

CODE = """def total(items):
    checked = clean(items)
    logger.debug(PATTERN)
    return sum(checked) if len(checked) else Empty
"""
ALLOWED = [
    "",
    "def clean(items):\n    import re\n    return [int(x) for x in items]",
    "import re\nPATTERN = re.compile('x')",
    "import logging\nlogger = logging.getLogger('x')",
    "from helpers import clean, logger",
    "from collections import namedtuple\nEmpty = namedtuple('Empty', 'a b')",
    "class Empty(Exception):\n    level: int = 3\n    def __init__(self, x): self.x = x",
    "PATTERN: str = 'x'",
    "PATTERN, OTHER = 'x', 'y'",
    "def of_clean(x): return x\ndef clean(x): return of_clean(x)",
    "def clean(items):\n    found = {}\n    found['a'] = 1\n    return items",
]
REFUSED = {
    # It brings the answer, or replaces what the code has.
    "def total(items): return 6": "total is no name",
    "checked = [6]": "checked is no name",
    "from math import fsum as len": "len is no name",
    "import helper as items": "items is no name",
    "from math import *": "* is no name",
    "class DummySelf: pass": "DummySelf is no name",
    "import x as DummySelf": "DummySelf is no name",
    "def clean(x):\n    global total\n    total = x": "line 2 has global",
    "def clean(x):\n    import target\n    target.total = x": "line 2 has target",
    "from target import clean": "line 1 has target",
    "def clean(x):\n    globals()['total'] = x": "line 2 has globals",
    "import sys\ndef clean(x): vars(sys.modules['target'])": "line 2 has vars",
    "import sys\ndef clean(x): return sys.modules": "line 2 has modules",
    "import sys\ndef clean(x): sys.modules['target'].total = x": "line 2 has a change of sys",
    # It replaces what Python has, or what others use.
    "import builtins\ndef clean(x): builtins.sum = x": "line 1 has builtins",
    "def clean(x):\n    import math\n    math.isclose = x": "line 3 has a change of math",
    "def clean(x): setattr(x, 'sum', 6)": "line 1 has setattr",
    "def clean(x): AssertionError.__init__ = x": "line 1 has a change of AssertionError",
    "import unittest\nEmpty = unittest.mock.ANY": "line 1 has unittest",
    "from unittest.mock import ANY, MagicMock\nclean = MagicMock()": "line 1 has unittest",
    # It fools the asserts.
    "class Empty:\n    def __eq__(self, other): return True": "line 2 has __eq__",
    "class Empty(int):\n    __ne__ = lambda *_: False": "line 2 has __ne__",
    "import sys\ndef clean(x): sys.settrace(x)": "line 2 has settrace",
    "def clean(x): x.f_builtins": "line 1 has f_builtins",
    "import ctypes\nclean = ctypes.pythonapi": "line 1 has ctypes",
    # It reads the test, or the code.
    "import inspect\ndef clean(x): return inspect.stack()": "line 1 has inspect",
    "import sys\ndef clean(x): return sys._getframe(1)": "line 2 has _getframe",
    "def clean(x): return open('program.py').read()": "line 1 has 'program.py'",
    "def clean(x): return getattr(x, '__globals__')": "line 1 has '__globals__'",
    "import __main__ as clean": "line 1 has __main__",
    "clean = __import__('__main__')": "line 1 has __import__",
    "clean = eval('total')": "line 1 has eval",
    # It is something else than imports and definitions.
    "print(1)": "line 1 is no import, definition or constant",
    "logger.level = 3": "line 1 is no import, definition or constant",
    "PATTERN: str": "line 1 is no import, definition or constant",
    "if True:\n    import clean": "line 1 is no import, definition or constant",
    "from . import clean": "line 1 has a relative import",
    "from __future__ import annotations": "line 1 has __future__",
    "def clean(:": "it is no Python 3.11",
    "clean = " + "-" * 80 + "1": "it is nested too deeply",
    "clean = " + "(" * 400: "it is no Python 3.11",
    f"clean = '{'x' * 4_000}'": "it has more than 4,000 characters",
}


@pytest.mark.parametrize("text", ALLOWED)
def test_imports_and_definitions_of_what_the_code_lacks_may_stand_beside_it(text: str) -> None:
    assert PYTHON_STUBS.fault_of(text, CODE) == ""
    assert PYTHON_STUBS.usable(text, CODE) == text


def test_anything_else_is_refused_and_told_with_the_draft() -> None:
    for text, fault in REFUSED.items():
        assert PYTHON_STUBS.fault_of(text, CODE).startswith(fault)
        assert PYTHON_STUBS.usable(text, CODE) == ""
        pair = Pair(query=Query.of("a query"), code=Code.of(CODE))
        draft = Composition(reading="r", beside=text, program="p").draft_for(pair)
        assert (draft.support_code, draft.repairs[-1].ok) == ("", False), (text, fault)
        assert draft.repairs[-1].output.startswith(fault)


def test_a_definition_too_many_is_left_out_and_told() -> None:
    text = "def clean(x):\n    return x\n\ndef sum(x):\n    return 6"
    pair = Pair(query=Query.of("a query"), code=Code.of(CODE))
    draft = Composition(reading="r", beside=text, program="p").draft_for(pair)
    assert draft.support_code == "def clean(x):\n    return x"
    assert draft.repairs[-1].output == "sum is no name that the code lacks"


def test_what_the_code_lacks_may_be_imported_whatever_it_is() -> None:
    code = "def f(g): return inspect.signature(g), mock"
    assert PYTHON_STUBS.fault_of("import inspect\nfrom unittest import mock", code) == ""
    assert PYTHON_STUBS.fault_of("inspect = 3", code) == ""
    assert PYTHON_STUBS.fault_of("import builtins", "def f(): return builtins.len") == ""


@pytest.mark.parametrize("code", ["def f(x): return len(x)", "print 'x'"])
def test_nothing_stands_beside_code_that_lacks_nothing(code: str) -> None:
    assert PYTHON_STUBS.fault_of("import re", code) == "the code lacks no name"


@given(st.text())
def test_any_text_is_checked(text: str) -> None:
    assert isinstance(PYTHON_STUBS.fault_of(text, CODE), str)
    assert PYTHON_STUBS.usable(text, "no Python") == ""


@pytest.mark.parametrize("scaffolding", [True, False])
@pytest.mark.parametrize("future", ["", "from __future__ import division  # old\n"])
def test_it_comes_first_and_the_code_is_as_it_was(scaffolding: bool, future: str) -> None:
    code = f"{future}def total(x, y=LIMIT):\n    return clean(x), re, x / 2"
    beside = "import re\nLIMIT = re.compile('x').flags\ndef clean(x):\n    import os\n    return x"
    space: dict[str, Any] = {}
    exec(with_support_code(code, beside, scaffolding=scaffolding), space)
    assert space["total"](3)[0] == 3
    assert with_support_code(code, " ", scaffolding=False) == code


def test_what_a_definition_imports_for_itself_the_code_gets_too() -> None:
    code = "def path(x): return os.sep + clean(x)"
    beside = "def clean(x):\n    import os\n    return logging.getLevelName(20) + x"
    space: dict[str, Any] = {}
    exec(with_support_code(code, beside, scaffolding=True), space)
    assert space["path"]("a") == "/INFOa"


def test_an_error_of_what_stands_beside_is_not_the_codes() -> None:
    trace = (
        'Traceback (most recent call last):\n  File "program.py", line 2, in test_it\n'
        '  File "target.py", line 9, in total\n  File "target.py", line 2, in clean\nKeyError: 1\n'
    )
    result = ExecutionResult(
        outcome="raised", error_type="KeyError", message="1 (line 2: x)", stderr=trace
    )
    beside = "def clean(x): return {}[x]"
    assert functions_of(beside, CODE) == {"clean"}
    assert PythonRules().outcome_of(result, "p", CODE, beside) is RunOutcome.DEPENDENCY_MISSING
    assert PythonRules().outcome_of(result, "p", CODE) is RunOutcome.CODE_RAISED


def test_an_adapter_that_calls_what_stands_beside_and_not_the_code_is_none() -> None:
    adapter = "from target import clean\ndef answer(items):\n    return clean(items)"
    assert adapter_fault(adapter, CODE) != ""


SETS = [
    "target.clean = list",
    "setattr(target, 'clean', list)",
    "object.__setattr__(target, 'clean', list)",
    "mock.patch.object(target, 'clean', list, create=True).start()",
    "mock.patch('target.clean', list, create=True).start()",
]


@pytest.mark.parametrize("line", SETS)
def test_a_program_may_set_what_the_code_lacks_and_nothing_else(line: str) -> None:
    program = f"import target\nfrom unittest import mock\n{line}\nassert target.total([1]) == 1"
    assert sets_on_modules(program) == "line 3 sets target.clean"
    assert faults_of(program, CODE) == {}
    assert faults_of(program.replace("clean", "total"), CODE) != {}
    assert sets_on_modules(program.replace(line, f"# {line}")) == ""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("import numpy as np\nnp.complex = complex", "line 3 sets numpy.complex"),
        ("import time\ntime.time = lambda: 9", "line 3 sets time.time"),
        ("import sys\nsys.argv = ['p']", ""),
        ("import os\nos.environ['HOME'] = '/x'", ""),
        ("import json\nassert target.total(json.loads('json.loads')) == 1", ""),
    ],
)
def test_what_a_program_sets_on_modules_is_unseen_by_another_process(line: str, found: str) -> None:
    program = f"import target\n{line}\nassert target.total([1]) == 1"
    assert sets_on_modules(program) == found


SUMMED = "def total(items):\n    return sum(clean(items)) if len(items) > 1 else 0"
OF_SUMMED = (
    "import target\n{}def test_it():\n    assert target.total(['1', '2']) == 3\n"
    "    assert target.total(['7']) == 0\n    assert target.total([4, 5, 6]) == 15\n"
)
CLEANS = "lambda items: [int(item) for item in items]"
PATCHES = f"mock.patch('target.clean', {CLEANS}, create=True).start()"
CLEAN = "def clean(items):\n    return [int(item) for item in items]"


@pytest.mark.docker
@pytest.mark.parametrize(
    ("beside", "line", "protection"),
    [
        (CLEAN, "# no mock\n", "separate"),
        ("", f"target.clean = {CLEANS}\n", "shared"),
        ("", f"from unittest import mock\n{PATCHES}\n", "shared"),
    ],
)  # fmt: skip
async def test_what_stands_beside_is_there_in_every_run_and_a_program_may_set_it_itself(
    sandbox: Sandbox, beside: str, line: str, protection: str
) -> None:
    draft = Draft(reading="r", program=OF_SUMMED.format(line), support_code=beside)
    pair = Pair(query=Query.of("a query"), code=Code.of(SUMMED))
    validator = OracleValidator(GateSettings(mutant_timeout_s=10.0), Python(), PythonRules())
    async with sandbox.box(with_support_code(SUMMED, beside, scaffolding=True)) as box:
        result = await box.run(draft.program)
        assert result.outcome == "passed", result
        report = await validator.validate(pair, draft, result, box)
    assert (report.faults, report.protection) == ({}, protection)
    assert report.killed >= 2
    assert bool(report.unprotected_because) == (protection == "shared")


# Each is a helper that `PythonStubs` lets through or would, and a false assert about the code.
HELD = {
    "trace": "import sys\ndef clean(x):\n    getattr(sys, 'set' + 'trace')(lambda *_: None)\n"
    "    return x",
    "exit": "import os\ndef clean(x): os._exit(0)",
    "leaves": "def clean(x): raise SystemExit(0)",
    "reads": "import sys\ndef clean(x):\n    frame = getattr(sys, '_get' + 'frame')(1)\n"
    "    return [3] if 3 in getattr(getattr(frame, 'f_' + 'back'), 'f_' + 'code').co_consts else x",
}


@pytest.mark.docker
@pytest.mark.parametrize("name", HELD)
async def test_what_no_check_finds_is_held_by_the_sandbox_or_fails_apart(
    sandbox: Sandbox, name: str
) -> None:
    code, beside = "def total(items):\n    return sum(clean(items))", HELD[name]
    assert PYTHON_STUBS.fault_of(beside, code) == ""
    program = "from target import total\ndef test_it():\n    assert total([9]) == 3"
    async with sandbox.box(with_support_code(code, beside, scaffolding=True)) as box:
        beside_it, apart = await box.run(program), await box.run(program, isolated=True)
    assert apart.outcome != "passed", apart
    assert beside_it.outcome != "passed" or name == "reads", beside_it


SCRIPT = (
    "function total(items) { return clean(items).filter(isOk).length + LIMIT + _.size(items); }"
)
ALLOWED_SCRIPTS = [
    "",
    "const clean = (x) => x;\nfunction isOk(x) { return ok(x); }\nfunction ok(x) { return true; }",
    "const LIMIT = 3, _ = { size: (x) => x.length };",
    "const fs = require('node:fs');\nconst clean = (x) => [fs.existsSync(x)];",
    "class _ { constructor() { this.x = 1; } static size(x) { const y = {}; y.z = x; return y; } }",
]
REFUSED_SCRIPTS = {
    "function total(items) { return 6; }": "total is no name",
    "const { filter } = [];": "filter is no name",
    "const Math = { max: () => 6 };": "Math is no name",
    "const _ = require('lodash');": "line 1 has require of lodash",
    "const clean = (x) => require(x);": "line 1 has require of x",
    "const load = require;": "line 1 has require of something else",
    "Array.prototype.filter = () => [];": "line 1 is no require",
    "if (true) var clean = 1;": "line 1 is no require",
    "let clean;": "line 1 is no require",
    "import clean from 'clean';": "line 1 is no require",
    "const clean = (x) => { Number.isNaN = x; };": "line 1 has a change of Number",
    "const fs = require('fs');\nfunction clean() { fs.x = 6; }": "line 2 has a change of fs",
    "function clean(x) {\n  return x.constructor.prototype;\n}": "line 2 has prototype",
    "function clean(x) { return x['__proto__']; }": "line 1 has __proto__",
    "function clean() { return { valueOf: () => 6 }; }": "line 1 has valueOf",
    "function clean() { return globalThis.total; }": "line 1 has globalThis",
    "const clean = Function('return 6');": "line 1 has Function",
    "const clean = (": "it is no JavaScript",
}


@pytest.mark.parametrize("text", ALLOWED_SCRIPTS)
def test_definitions_may_stand_beside_javascript(text: str) -> None:
    assert ScriptStubs().fault_of(text, SCRIPT) == ""
    assert ScriptStubs().usable(text, SCRIPT) == text


@pytest.mark.parametrize("text", REFUSED_SCRIPTS)
def test_anything_else_is_refused_beside_javascript(text: str) -> None:
    assert ScriptStubs().fault_of(text, SCRIPT).startswith(REFUSED_SCRIPTS[text])
    assert ScriptStubs().usable(text, SCRIPT) == ""
    both = f"const LIMIT = 3;\n{text}"
    kept = ScriptStubs().usable(both, SCRIPT)
    assert kept in ("", "const LIMIT = 3;")
    assert ScriptStubs().fault_of(text or "x", "const f = (x) => x;") != ""


@pytest.mark.parametrize(
    ("stubs", "language", "kept", "names"),
    [
        ("import os\ndef clean(x): return x", "python", "", []),  # errors in them say it there
        (
            "const fs = require('fs');\nconst _ = {};",
            "javascript",
            "const fs = require('fs');",
            ["_"],
        ),
        ("const { clean } = require('util');", "javascript", "", ["clean"]),
        ("const fs = require('fs');", "javascript", "", []),
        ("", "go", "", []),
    ],
)
def test_what_an_agent_made_up_is_stood_in_for_and_imports_stay(
    stubs: str, language: str, kept: str, names: list[str]
) -> None:
    made = rules_of(language).stubs.substitutes(stubs)
    assert len(made) == 2 * bool(names)
    for text in made:
        assert text.startswith(kept)
        assert all(f"{name} =" in text for name in names)
