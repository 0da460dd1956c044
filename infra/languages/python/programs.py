"""Python's syntax as the agents need it: their one door to it.

Claims, adapters and test programs of Python's box are Python, and what is read from their text
comes from here. A code's own language (`infra.languages.Language`) is asked for all else.
"""

import ast

from infra.languages.python.assertions import assertions_in, assertions_of, is_weak
from infra.languages.python.imports import (
    DottedNames,
    import_statements,
    joined,
    names_bound_by,
    with_imports,
)
from infra.languages.python.messages import without_messages
from infra.languages.python.scaffolding import SELF_STUB, bound_names, scaffolded, undefined_names
from infra.languages.python.syntax import (
    UNREADABLE,
    FunctionNode,
    is_deep,
    parse,
    parse_or_none,
    variable_of,
)
from infra.languages.python.tracebacks import Frame, Raised, exceptions_in

__all__ = [
    "SELF_STUB",
    "UNREADABLE",
    "DottedNames",
    "Frame",
    "FunctionNode",
    "Raised",
    "assertions_in",
    "assertions_of",
    "ast",
    "bound_names",
    "exceptions_in",
    "import_statements",
    "is_deep",
    "is_weak",
    "joined",
    "names_bound_by",
    "parse",
    "parse_or_none",
    "scaffolded",
    "undefined_names",
    "variable_of",
    "with_imports",
    "without_messages",
]
