"""Whether a test program gives a name of the code under test another meaning.

A variable of a function may share a name with the code by chance, as ``size`` does with a function
``size``. It hides the code only from what looks the name up there: where it is called.
"""

import ast
from collections.abc import Iterator

from agents.gates.scopes import Scope, scopes_of
from infra.languages.python.imports import DottedNames
from infra.languages.python.scaffolding import DUMMY

_TARGET = "target"


def redefinition_in(tree: ast.Module, names: DottedNames, target_names: frozenset[str]) -> str:
    """Return where a program gives a name of the code under test another meaning, "" if nowhere.

    It does where its module binds the name, where a function binds it to a function, class or
    module, and where a variable of that name is called. Methods may have any name.

    Args:
        tree: The program.
        names: Its dotted names.
        target_names: Names that the code under test defines.
    """
    guarded, modules = set(target_names), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == _TARGET:
            own = [alias for alias in node.names if alias.name in {*target_names, DUMMY}]
            guarded.update(alias.asname or alias.name for alias in own)
        elif isinstance(node, ast.Import):
            own = [alias for alias in node.names if alias.name == _TARGET]
            modules.update(alias.asname or alias.name for alias in own)
    places: list[tuple[int, str]] = []
    for scope in scopes_of(tree, names):
        places += _bound_anew(scope, guarded)
        called = guarded & scope.called
        called |= {root for root, name in scope.called_by_dot if name in target_names} & modules
        called |= {root for root, _ in scope.called_by_dot} & guarded & {DUMMY}
        places += (place for name in called for place in _own_bindings(scope, name))
    return "line {} defines {}, which is the code under test".format(*min(places)) if places else ""


def _bound_anew(scope: Scope, guarded: set[str]) -> Iterator[tuple[int, str]]:
    """Yield line and name of what a scope may bind to nothing else, called or not."""
    for name in guarded & scope.bound.keys() if not scope.is_class else ():
        for binding in scope.bound[name]:
            if not binding.is_target and not (scope.parent and binding.is_variable):
                yield binding.line, name


def _own_bindings(scope: Scope, name: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of the places that bind a name to anything but the code under test."""
    for binding in scope.owner_of(name).bound.get(name, ()):
        if not binding.is_target:
            yield binding.line, name
