"""The tests of a program, found after it ran.

By then the program, and the code under test with it, may have replaced whatever it can reach: the
names of this module and the built-ins too. So these functions look up no name. All that they use is
of a built-in type, or a default of a parameter. The defaults are kept as they are by
`sandbox.inside.run_tests.audit_hook`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType

from sandbox.inside.failures import PROGRAM, name_of_case

TYPE_CHECKING = False  # see `sandbox.inside`
if TYPE_CHECKING:
    from typing import Any

    from sandbox.inside import Space

    Call = Callable[[], object]
    Tests = tuple[tuple[bytes, Call], ...]  # names and what runs them
    Items = tuple[tuple[str, Any], ...]  # of a name space, taken at once
    Definitions = tuple[tuple[str, CodeType], ...]  # names of functions and their code

_COROUTINE = 0x80  # CO_COROUTINE, without importing inspect
_WRAPPERS = (None,) * 10  # decorators around a test, one in the other


def went_through_a_test(error: BaseException, file: str = PROGRAM) -> bool:
    """Return True if an error comes out of a test that the program called itself."""
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_filename == file and code.co_name.startswith("test"):
            return True
        step = step.tb_next
    return False


def _await_result(
    value: object, attribute: Callable[..., Any] = getattr, coroutine: int = _COROUTINE
) -> None:
    """Run what an ``async def`` test returned."""
    code = attribute(value, "cr_code", None)
    if code is not None and code.co_flags & coroutine:
        import asyncio  # noqa: PLC0415 - costs what a run costs, and few need it

        asyncio.run(value)  # type: ignore[arg-type]


def _innermost(
    function: FunctionType,
    attribute: Callable[..., Any] = getattr,
    kinds: tuple[type[type], type[FunctionType]] = (type, FunctionType),
    wrappers: tuple[None, ...] = _WRAPPERS,
) -> FunctionType:
    """Return the function inside its decorators."""
    kind, function_kind = kinds
    for _ in wrappers:
        wrapped = attribute(function, "__wrapped__", None)
        if kind(wrapped) is not function_kind:
            break
        function = wrapped
    return function


def definitions_in(program: object, names: tuple[str, ...]) -> Definitions:
    """Return the code of the functions of these names that a compiled program defines."""
    parts = program.co_consts if isinstance(program, CodeType) else ()
    codes = {part.co_name: part for part in parts if isinstance(part, CodeType)}
    return tuple((name, codes[name]) for name in names if name in codes)


def require(
    items: Items,
    space: Space,
    definitions: Definitions,
    kinds: tuple[type[type], type[FunctionType], type[Space]] = (type, FunctionType, dict),
    error: type[Exception] = RuntimeError,
) -> None:
    """Raise an error where a function among the items is not as the program defined it.

    It is not where the code under test has taken its name away or given it to another one.
    """
    kind, function_kind, mapping = kinds
    found = mapping(items)
    for name, code in definitions:
        value: Any = found.get(name)
        is_whole = kind(value) is function_kind and value.__code__ is code
        if not is_whole or value.__globals__ is not space:
            raise error(f"{name} is not the test that the program defines")


def unhidden(
    test: Call,
    failures: list[str],
    size: Callable[[list[str]], int] = len,
    error: type[Exception] = RuntimeError,
) -> Call:
    """Return a test that also fails where an assertion failed in it and the program hid that."""

    def run() -> None:
        known = size(failures)
        test()
        if size(failures) > known:
            raise error(f"an assertion failed, which the program hides: {failures[known]}")

    return run


def with_hidden_failures(
    tests: Tests,
    failures: list[str],
    check: Callable[[Call, list[str]], Call] = unhidden,
    size: Callable[[list[str]], int] = len,
    name: bytes = PROGRAM.encode(),
) -> Iterator[tuple[bytes, Call]]:
    """Yield tests that hide nothing, and one that fails for what the program hid outside them.

    A program may run its own tests as it likes: what failed then fails here again.
    """
    known = size(failures)
    for test_name, test in tests:
        yield test_name, check(test, failures)
    for place in failures[:known]:
        if place not in failures[known:]:
            yield name, check(lambda: failures.append(place), failures)  # noqa: B023
            break


def functions_of(
    items: Items,
    kinds: tuple[type[type], type[FunctionType]] = (type, FunctionType),
    whole: type[tuple[Any, ...]] = tuple,
    tools: tuple[Callable[..., Any], ...] = (len, _innermost, _await_result),
    naming: tuple[str, Callable[[str], bytes]] = (PROGRAM, name_of_case),
) -> Tests:
    """Return the program's own ``test…`` functions that need no argument."""
    kind, function_kind = kinds
    size, innermost, await_result = tools
    file, name_of = naming
    seen: list[FunctionType] = []
    found: list[tuple[bytes, Call]] = []
    for name, value in items:
        if not name.startswith("test") or kind(value) is not function_kind or value in seen:
            continue
        code = value.__code__
        needed = code.co_argcount - size(value.__defaults__ or ())
        needs_none = not needed and code.co_kwonlyargcount == size(value.__kwdefaults__ or {})
        if needs_none and innermost(value).__code__.co_filename == file:
            seen.append(value)

            def run(test: Call = value, finish: Callable[[object], None] = await_result) -> None:
                finish(test())

            found.append((name_of(name), run))
    return whole(found)


def cases_of(
    items: Items,
    kinds: tuple[type, type[tuple[Any, ...]]] = (type, tuple),
    tests: tuple[Callable[..., bool], ...] = (isinstance, issubclass),
    modules: dict[str, Any] = sys.modules,
    name_of: Callable[[str], bytes] = name_of_case,
) -> Tests:
    """Return the tests of the program's own test cases, each with what its class sets up."""
    kind, whole = kinds
    is_instance, is_subclass = tests
    unittest = modules.get("unittest")
    found: list[tuple[bytes, Call]] = []
    if unittest is None:
        return ()
    for _, value in items:
        is_case = is_instance(value, kind) and is_subclass(value, unittest.TestCase)
        if is_case and value.__module__ == "__main__":
            for case in unittest.defaultTestLoader.loadTestsFromTestCase(value):
                name = ".".join(case.id().split(".")[-2:])
                found.append((name_of(name), unittest.TestSuite([case]).debug))
    return whole(found)
