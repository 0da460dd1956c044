"""The test program that runs claims on a code through an adapter, and what its run says of each.

Results are compared as plain values (`agents.claims.values`), so that a list is a tuple and an
iterator the list of what it gives; no object of the code is asked whether it is equal.
"""

import ast
import inspect
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from agents.claims import values
from agents.claims.claim import Claim
from agents.claims.literals import expression
from agents.gates import surroundings
from agents.gates.static_checks import names_defined_by
from infra.languages.python.scaffolding import scaffolded
from infra.languages.python.syntax import parse
from infra.records import CaseResult, ExecutionResult, Record

_ADAPTED, _TEST, _PROBE = "adapted_answer", "test_claim_", "test_probe_"
_OURS = "_of_claims"  # behind our own names where the code under test has these
# The line of the assertion comes last: what a code gives may hold what looks like one.
_GAVE = re.compile(r"\Agave (?:(.*) \(line \d+: assert .*|(.*))\Z", re.DOTALL)
_HELPERS = '''import traceback


def passed(*arguments):
    """Return the arguments of a call, which are made before the code under test runs."""
    return arguments


def given_by(arguments, wanted=""):
    """Return the plain value that a call gives, or what the code under test raises by its logic."""
    try:
        return plain(adapted_answer(*arguments))
    except Exception as error:
        if wanted in kinds_of(error):
            return "raises", f"raises {wanted}"
        if not is_by_logic(error):
            raise
        return "raises", f"raises {type(error).__name__}"


def kinds_of(error):
    """Return the names of all that an exception is, as an except clause would catch it."""
    kinds = type(error).__mro__
    return {kind.__name__ for kind in kinds if issubclass(kind, Exception) and kind != Exception}


def is_by_logic(error):
    """Return whether the code under test raised, and not for want of something around it."""
    steps_of_error = traceback.extract_tb(error.__traceback__)
    if steps_of_error[-1].filename == "<frozen os>":  # the environment lacks a variable
        return False
    steps_of_code = {step.name for step in steps_of_error if step.filename == "target.py"}
    was_loaded = "<module>" not in steps_of_code
    return bool(steps_of_code) and was_loaded and not lacks_something(error)


def lacks_something(error, most=20):
    """Return whether surroundings are missing to an exception, or to one that it came after."""
    if error is None or not most:
        return False
    if isinstance(error, LACKS) and not isinstance(error, UnboundLocalError):
        return True
    if any(is_of_surroundings(kind.__name__, str(error)) for kind in type(error).__mro__):
        return True
    return lacks_something(error.__cause__ or error.__context__, most - 1)


LACKS = (ImportError, MemoryError, NameError, OSError)
'''


_BESIDE = """

def is_by_logic(error, of_code=is_by_logic):
    steps = traceback.extract_tb(error.__traceback__)
    names = [step.name for step in steps if step.filename == "target.py"]
    return bool(names) and names[-1] not in {names!r} and of_code(error)
"""


class ClaimRun(Record):
    """What a code gives for a claim.

    Attributes:
        claim: The claim.
        outcome: ``held``; ``failed``, with another value or an exception by the code's own logic;
            ``not_run``, for want of surroundings or by the adapter's fault.
        gave: What the code gave instead, shortened; for ``not_run`` what went wrong.
    """

    claim: Claim
    outcome: Literal["held", "failed", "not_run"]
    gave: str = ""


def claims_program(
    claims: Sequence[Claim],
    adapter: str,
    code: str,
    probes: Sequence[str] = (),
    beside: Collection[str] = (),
) -> str:
    """Return the program with one test for each claim, and for each probe one that shows its value.

    The code's names are the adapter's alone: a claim cannot demand what the code itself gives, and
    none of them hides a name of the program.

    Args:
        claims: The claims, in the order of the tests.
        adapter: A checked adapter.
        code: The code under test, scaffolding included.
        probes: Arguments of calls whose values are only to be known.
        beside: Functions that stand beside the code: what these raise, the code did not.
    """
    tree = parse(adapter)
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    function.name, function.returns = _ADAPTED, None
    parameters = [node for node in ast.walk(function.args) if isinstance(node, ast.arg)]
    for parameter in parameters:
        parameter.annotation = None  # it would be run
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    own = {parameter.arg for parameter in parameters}
    wanted = [ast.alias(name) for name in sorted(names & names_defined_by(code) - own)]
    own_import = ast.ImportFrom("target", wanted, 0)
    function.body = [own_import, *(node for node in function.body if not _is_of_target(node))]
    kept = [node for node in imports if not _is_of_target(node)]
    helpers = "\n".join((inspect.getsource(values), inspect.getsource(surroundings), _HELPERS))
    if beside:
        helpers += _BESIDE.format(names=sorted(beside))
    tests = "\n".join((*_tests(claims, function), *_probes(probes, function)))
    shared = names_defined_by(helpers) & names_defined_by(code)
    parts = [
        *map(ast.unparse, kept),
        _renamed(helpers, shared),
        ast.unparse(function),
        _renamed(tests, shared),
    ]
    return scaffolded("\n".join(parts))


def _renamed(text: str, names: frozenset[str]) -> str:
    """Return our part of a program without names that the code under test has, too."""
    if not names:
        return text
    tree = parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in names:
            node.name += _OURS
        elif isinstance(node, ast.Name) and node.id in names:
            node.id += _OURS
    return ast.unparse(tree)


def _is_of_target(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "target"


def is_claims_program(program: str) -> bool:
    """Return whether a program was made by `claims_program`."""
    return f"def {_ADAPTED}(" in program


def claim_runs(claims: Sequence[Claim], result: ExecutionResult) -> tuple[ClaimRun, ...]:
    """Return for each claim what the run of `claims_program` says."""
    cases = {case.name: case for case in result.tests}
    return tuple(
        _run_of(claim, cases.get(f"{_TEST}{number}"), result)
        for number, claim in enumerate(claims, 1)
    )


def probe_values(probes: Sequence[str], result: ExecutionResult) -> tuple[str, ...]:
    """Return for each probe what the code gives, "" where that is not known."""
    cases = {case.name: case for case in result.tests}
    found = (cases.get(f"{_PROBE}{number}") for number in range(1, len(probes) + 1))
    return tuple(_shown(case) if case else "" for case in found)


def _fitting(arguments: str, function: ast.FunctionDef) -> str:
    """Return the parts of a tuple where it is given alone for the parameters of a function."""
    most = len(function.args.posonlyargs) + len(function.args.args)
    fewest = most - len(function.args.defaults)
    match expression(f"f({arguments}\n)"):
        case ast.Call(args=[ast.Tuple(elts=parts)]) if 1 < fewest <= len(parts) <= most:
            return ", ".join(map(ast.unparse, parts))
    return arguments


def _probes(probes: Sequence[str], function: ast.FunctionDef) -> Iterator[str]:
    """Yield tests that fail with what the code gives, since that is how a value is reported."""
    for number, arguments in enumerate(probes, 1):
        yield (
            f"\ndef {_PROBE}{number}():\n"
            f"    given = text_of(given_by(passed({_fitting(arguments, function)}\n)))\n"
            f'    assert not given, f"gave {{len(given)}} {{given:.250}}"\n'
        )


def _shown(case: CaseResult) -> str:
    found = _GAVE.match(case.message) if case.outcome == "assertion_failed" else None
    return (found[1] or found[2] or "") if found else ""


def _tests(claims: Sequence[Claim], function: ast.FunctionDef) -> Iterator[str]:
    for number, claim in enumerate(claims, 1):
        wanted = claim.error_type
        value = repr(("raises", f"raises {wanted}")) if wanted else f"plain(({claim.value}\n))"
        yield (  # a comment may end arguments and value; both are made before the code runs
            f"\ndef {_TEST}{number}():\n    demanded = {value}\n"
            f"    given = given_by(passed({_fitting(claim.arguments, function)}\n), {wanted!r})\n"
            f'    assert alike(given, demanded), f"gave {{text_of(given):.300}}"\n'
        )


def _run_of(claim: Claim, case: CaseResult | None, result: ExecutionResult) -> ClaimRun:
    if case is None:
        told = f"{result.outcome}: {result.message}"[:300]
        return ClaimRun(claim=claim, outcome="not_run", gave=told)
    if case.outcome == "passed":
        return ClaimRun(claim=claim, outcome="held")
    if gave := _shown(case):
        return ClaimRun(claim=claim, outcome="failed", gave=gave)
    told = f"{case.error_type}: {case.message}"[:300]
    return ClaimRun(claim=claim, outcome="not_run", gave=told)
