"""The test program that runs claims on a code through an adapter, and what its run says of each.

Results are compared as plain values (`agents.claims.values`).
"""

import inspect
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from agents.claims import fixtures, values
from agents.claims.adapter import (
    MADE,
    CallAdapter,
    adapter_fault,
    is_constant,
    mark_made_values,
    plain_call,
    works_on_arguments,
)
from agents.claims.claim import Claim
from agents.claims.literals import call_of, has_fixtures, settings_in
from agents.gates import missing_dependencies
from agents.gates.static_checks import names_defined_by
from infra.languages.python import ast, parse, scaffolded
from infra.records import CaseResult, ExecutionResult, Record

_ADAPTED, TEST = "adapted_answer", "test_claim_"
_OURS = "_of_claims"  # behind our own names where the code under test has these
# The line of the assertion comes last, or is cut off: what a code gives may hold what looks like
# one. Another line at the end is that by which an assertion of the code itself came here.
_GAVE = re.compile(
    r"\A(gave|formed) (?:(.*) \(line \d+: assert (?:alike|approx_equal|suits)[\w(), '*]*"
    r"|(?!.* \(line \d+: [^\n]*\)\Z)(.*))\Z",
    re.DOTALL,
)
NOT_SAID = "not said in "  # how the error of a claim begins that a language has no values for
_UNFIT = re.compile(r"raises (TypeError|AttributeError|IndexError) in ")
_HELPERS = '''import sys
import traceback


def passed(*arguments):
    """Return the arguments of a call, which are made before the code under test runs."""
    return arguments


def given_by(arguments, wanted="", *expected, look=to_plain):
    """Return the plain value that a call gives, or what the code under test raises by its logic."""
    NOT_MADE[:] = [arguments, *(face for one in expected for face in expected_strings(one))]
    try:
        return look(adapted_answer(*arguments))
    except Exception as error:
        if wanted in kinds_of(error):
            return "raises", f"raises {wanted}"
        if not is_by_logic(error):
            raise
        place = f" in {steps_in_code(error)[-1]}" if is_a(error, *UNFIT) else ""
        name = NAME_OF(type(error))
        return "raises", f"raises {'another ' if name == wanted else ''}{name}{place}"


def done(value):
    """Let a generator do what it does; no other value is looked at where an effect counts."""
    if is_a(value, *GENERATORS):
        for _ in zip(range(MOST_PARTS), value):
            pass


def made_by_adapter(value):
    """Return what an adapter makes of arguments: no function, and not what the code shall give."""
    if callable(value) and not is_parameter(value):
        raise ValueError(f"the adapter hands over {value!r:.60}")
    arguments, *expected = NOT_MADE
    found = {*expected}.intersection(canonical_strings(value))
    if found.difference(canonical_strings([arguments, *CONSTANTS])):
        raise ValueError("the adapter makes the value that is demanded")
    return value


def difference(given, *expected):
    """Return the actual value as text, as ``formed`` where only its form is unexpected."""
    is_formed = any(relaxed_equal(given, one) for one in expected)
    return f"{'formed' if is_formed else 'gave'} {text_of(given):.300}"


def changing(arguments, expected):
    """Return the arguments of a call that is to change attributes of the first one."""
    if approx_equal(left_by(None, arguments, expected), to_plain(expected)):
        raise ValueError("it is so before the call")
    return arguments


def left_by(given, arguments, expected):
    """Return these attributes of the first argument after a call, or what it raised."""
    if is_a(given, tuple) and given[:1] == ("raises",):
        return given
    return to_plain({name: getattr(arguments[0], name, None) for name in expected})


def is_parameter(kind):
    """Return whether a function is a type of numbers, texts or errors, as parameters are."""
    if not is_a(kind, type):
        return False
    return issubclass(kind, (int, float, complex, str, bytes, Exception)) or (
        getattr(sys.modules.get("numpy"), NAME_OF(kind), None) is kind
    )


def expected_strings(value):
    """Return the texts by which a plain value is found in what an adapter makes."""
    if not is_a(value, tuple):
        return canonical_strings(value)[:: max(len(canonical_strings(value)) - 1, 1)]
    kind, parts = value
    return [text_of(value)] if kind == "object" else canonical_strings(parts)[:1]


NOT_MADE = [()]


def kinds_of(error):
    """Return the names of all that an exception is, as an except clause would catch it.

    A class of the code by the name of one of Python's own is none of these.
    """
    kinds = [kind for kind in MRO_OF(type(error)) if issubclass(kind, Exception)]
    made = {NAME_OF(kind) for kind in kinds if is_made(kind)} - OWN_ERRORS
    return made.union(NAME_OF(kind) for kind in kinds if not is_made(kind)) - {"Exception"}


def is_made(kind):
    """Return whether a type is a class of a module in Python, and none of the interpreter."""
    return type.__dict__["__flags__"].__get__(kind) & 1 << 9


def own_errors(kind):
    """Return the names of the interpreter's exceptions from one on."""
    return {NAME_OF(kind)}.union(*(own_errors(one) for one in BELOW(kind) if not is_made(one)))


BELOW = type.__dict__["__subclasses__"]
OWN_ERRORS = own_errors(BaseException) | {"EnvironmentError", "IOError"}


def is_by_logic(error):
    """Return whether the code under test raised, and not for want of something around it."""
    steps_of_error = traceback.extract_tb(error.__traceback__)
    if steps_of_error[-1].filename == "<frozen os>":  # the environment lacks a variable
        return False
    steps_of_code = steps_in_code(error)
    was_loaded = "<module>" not in steps_of_code
    return bool(steps_of_code) and was_loaded and not lacks_something(error)


def steps_in_code(error):
    """Return the names of the code's functions through which an exception came, the last last."""
    steps = traceback.extract_tb(error.__traceback__)
    return [step.name for step in steps if step.filename == "target.py"]


def lacks_something(error, most=20):
    """Return whether an exception, or one that it came after, is by a missing dependency."""
    if error is None or not most:
        return False
    if is_a(error, *LACKS) and not is_a(error, UnboundLocalError):
        return True
    kinds = map(NAME_OF, MRO_OF(type(error)))
    if any(is_missing_dependency(name, str(error)) for name in kinds):
        return True
    return lacks_something(error.__cause__ or error.__context__, most - 1)


GENERATORS = (type(done for _ in ()), map, filter, zip)
LACKS = (ImportError, MemoryError, NameError, OSError)
UNFIT = (TypeError, AttributeError, IndexError)
'''


_STUBS = """

def is_by_logic(error, of_code=is_by_logic):
    steps = traceback.extract_tb(error.__traceback__)
    names = [step.name for step in steps if step.filename == "target.py"]
    return bool(names) and names[-1] not in {names!r} and of_code(error)
"""


class ClaimRun(Record):
    """The run of a claim.

    ``failed`` is another value, or an exception by the code's own logic; ``not_run`` comes by
    missing dependencies or the adapter's fault. ``is_formed`` says whether the actual value is the
    expected one in another form: a path in place of a name, pairs in place of keys.
    """

    claim: Claim
    outcome: Literal["held", "failed", "not_run"]
    gave: str = ""  # the actual value, shortened; for ``not_run`` what went wrong
    is_formed: bool = False


def claims_program(
    claims: Sequence[Claim],
    adapter: str,
    code: str,
    stubs: Collection[str] = (),
) -> str:
    """Return the program with one test for each claim.

    The code's names are the adapter's alone: a claim cannot demand what the code itself gives, and
    none of them hides a name of the program. What functions in ``stubs`` raise, the code did not.
    """
    tree = parse(adapter)
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    function.name, function.returns = _ADAPTED, None
    parameters = [node for node in ast.walk(function.args) if isinstance(node, ast.arg)]
    for parameter in parameters:
        parameter.annotation = None  # it would be run
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    own = {parameter.arg for parameter in parameters}
    of_code = names_defined_by(code)
    wanted = [ast.alias(name) for name in sorted(names & of_code - own)]
    makes = any(claim.demand.effect or has_fixtures(claim.arguments) for claim in claims)
    used = (values, missing_dependencies, *([fixtures] if makes else []))
    constants = ", ".join(ast.unparse(one) for one in ast.walk(function) if is_constant(one))
    sources = (*map(inspect.getsource, used), _HELPERS, f"CONSTANTS = [{constants}]")
    helpers = "\n".join(sources)
    if stubs:
        helpers += _STUBS.format(names=sorted(stubs))
    shared = names_defined_by(helpers) & of_code
    mark_made_values(function, code, f"{MADE}{_OURS}" if MADE in shared else MADE)
    own_import = ast.ImportFrom("target", wanted, 0)
    function.body = [own_import, *(node for node in function.body if not _is_of_target(node))]
    others = (node for node in tree.body if node is not function and not _is_of_target(node))
    tests = "\n".join(_tests(claims, function, makes=makes))
    parts = [
        *map(ast.unparse, others),
        _rename(helpers, shared),
        ast.unparse(ast.fix_missing_locations(function)),
        _rename(tests, shared),
    ]
    return scaffolded("\n".join(parts))


class PythonCalls(CallAdapter):
    """The way claims are run on code in Python."""

    adapter_fault = staticmethod(adapter_fault)
    plain_call = staticmethod(plain_call)
    claims_program = staticmethod(claims_program)
    works_on_arguments = staticmethod(works_on_arguments)


def _rename(text: str, names: frozenset[str]) -> str:
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


def claim_runs(claims: Sequence[Claim], result: ExecutionResult) -> tuple[ClaimRun, ...]:
    """Return for each claim what the run of `claims_program` says.

    Where each call ends by one kind of error, the code takes no arguments of their shape: none ran.
    Claims that the code's language cannot say come last: they tell nothing of the adapter.
    """
    cases = {case.name: case for case in result.tests}
    made = (
        _parse_run(claim, cases.get(f"{TEST}{number}"), result)
        for number, claim in enumerate(claims, 1)
    )
    runs = tuple(sorted(made, key=lambda run: run.gave.startswith(NOT_SAID)))
    raised = [_UNFIT.match(run.gave) for run in runs if run.outcome != "not_run"]
    if len({found and found[1] for found in raised}) == 1 and raised[0]:
        return tuple(run.model_copy(update={"outcome": "not_run"}) for run in runs)
    return runs


def _tests(claims: Sequence[Claim], function: ast.FunctionDef, *, makes: bool) -> Iterator[str]:
    """Yield a test for each claim.

    A comment may end arguments and value; both are made before the code runs. A tuple that is given
    alone is taken apart where the adapter has parameters for its parts.
    """
    most = len(function.args.posonlyargs) + len(function.args.args)
    fewest = most - len(function.args.defaults)
    for number, claim in enumerate(claims, 1):
        settings, arguments = settings_in(claim.arguments)
        match call_of(arguments):
            case ast.Call(args=[ast.Tuple(elts=parts)]) if 1 < fewest <= len(parts) <= most:
                arguments = ", ".join(map(ast.unparse, parts))
        lines = [f"def {TEST}{number}():", *(["reset_fixtures()"] if makes else []), *settings]
        called = f"passed({arguments}\n)"
        effect, way, wanted = claim.demand
        check, found = "approx_equal(given, expected)", "given, expected"
        if way:
            check = f"suits(given, {way!r}, expected)"
            found = "given, *expected" if way == "one of" else "given"
        if effect:
            lines += _effect_lines(claim, called)
        elif error := claim.error_type:
            lines.append(f"expected = {('raises', f'raises {error}')!r}")
            lines.append(f"given = given_by({called}, {error!r})")
        else:
            made = "*expected" if way == "one of" else "expected"
            lines.append(f"expected = to_plain(({wanted}\n))")
            lines.append(f"given = given_by({called}, '', {made})")
        lines += [f"assert {check}, difference({found})"]
        yield "\n" + "\n    ".join(lines) + "\n"


def _effect_lines(claim: Claim, called: str) -> list[str]:
    """Return the lines that give what is expected to be printed, written or left, and what is."""
    effect, way, source = claim.demand
    wanted = f"wanted = ({source}\n)"
    if effect == "leaves":
        return [
            wanted,
            f"arguments = changing({called}, wanted)",
            "expected = to_plain(wanted)",
            "given = left_by(given_by(arguments, look=done), arguments, wanted)",
        ]
    by_lines = f"by_lines={bool(way) or effect == 'prints lines'}"
    expected = f"normalise_output(wanted, {by_lines})"
    if way:
        expected = (
            f"[normalise_output(one, {by_lines}) for one in wanted]"
            if way == "one of"
            else "wanted"
        )
    made, like = ("*wanted.values()", "wanted") if effect == "writes" else ("expected", "''")
    return [
        wanted,
        f"expected = {expected}",
        f"given = actual_output(given_by({called}, '', {made}, look=done), {like}, {by_lines})",
    ]


def _parse_run(claim: Claim, case: CaseResult | None, result: ExecutionResult) -> ClaimRun:
    if case is None:
        problem = f"{result.outcome}: {result.message}"[:300]
        return ClaimRun(claim=claim, outcome="not_run", gave=problem)
    if case.outcome == "passed":
        return ClaimRun(claim=claim, outcome="held")
    found = _GAVE.match(case.message) if case.outcome == "assertion_failed" else None
    if found and (gave := found[2] or found[3]):
        return ClaimRun(claim=claim, outcome="failed", gave=gave, is_formed=found[1] == "formed")
    is_said = not case.message.startswith(NOT_SAID)
    problem = f"{case.error_type}: {case.message}"[:300] if is_said else case.message
    return ClaimRun(claim=claim, outcome="not_run", gave=problem)
