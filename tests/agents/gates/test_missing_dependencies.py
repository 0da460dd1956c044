"""Laws of what an exception tells of things missing around a code.

Covers `agents.gates.missing_dependencies`.
"""

import json
import random
import string

import numpy as np
import pytest

from agents.gates.missing_dependencies import is_missing_dependency

MODULES = {"json": json, "numpy": np, "random": random, "string": string}
PYTHON_2 = [
    "{}.items() + {}.items()", "[1] + {}.keys()", "{}.keys()[0]", "{}.keys().sort()",
    "{}.values().index(1)", "filter(None, [1])[0]", "len(map(int, '1'))",
    "int(filter(str.isdigit, 'a1'))", "zip('a', 'b').sort()", "json.dumps({}.keys())",
    "range(2) + range(3)", "[1] + range(2)", "range(2).remove(1)", "random.shuffle(range(3))",
    "[1].sort(max)", "sorted([1], max)", "sorted([1], cmp=max)", "{}.has_key(1)", "'a'.decode()",
    "dict.iteritems", "string.letters",
]  # fmt: skip
OWN = [
    "{}.keys()()", "range(range(3))", "[].shape", "None.group()", "None[0]", "'a' + 1", "[][1]",
    "{}['a']", "numpy.array([1]).append(2)", "numpy.array([1]).sort_values()", "{}.append(1)",
]  # fmt: skip


def is_missing(expression: str) -> bool:
    with pytest.raises((AttributeError, TypeError, LookupError)) as caught:
        eval(compile(expression, "target.py", "eval"), MODULES)
    return is_missing_dependency(type(caught.value).__name__, str(caught.value))


@pytest.mark.filterwarnings("ignore:'NoneType' object is not subscriptable:SyntaxWarning")
@pytest.mark.parametrize("expression", OWN)
def test_what_no_python_and_no_library_did_is_the_codes_own_mistake(expression: str) -> None:
    assert not is_missing(expression)


def test_what_python_2_would_do_is_missing_around_the_code() -> None:
    for expression in PYTHON_2:
        assert is_missing(expression)


@pytest.mark.parametrize(
    ("error_type", "message"),
    [
        ("AttributeError", "'DataFrame' object has no attribute 'append'"),
        ("AttributeError", "'DataFrame' object has no attribute 'ix'"),
        ("AttributeError", "'Series' object has no attribute 'iteritems'"),
        ("AttributeError", "type object 'DataFrame' has no attribute 'from_csv'"),
        ("AttributeError", "'DatetimeIndex' object has no attribute 'week'"),
        ("AttributeError", "module 'numpy' has no attribute 'float'.\n`np.float` was a"),
        ("AttributeError", "'dict' object has no attribute 'has_key' [Python 2: x] (line 3: a)"),
        ("OSError", "[Errno 101] Network is unreachable"),
        ("OSError", "[E050] Can't find model 'en_core_web_sm'."),
        ("gaierror", "[Errno -3] Temporary failure in name resolution"),
    ],
)
def test_what_libraries_had_and_boxes_have_not_is_missing(error_type: str, message: str) -> None:
    assert is_missing_dependency(error_type, message)


@pytest.mark.parametrize(
    ("error_type", "message"),
    [
        ("AttributeError", "'DataFrame' object has no attribute 'no_such_column'"),
        ("AttributeError", "'Frame' object has no attribute 'ix'"),
        ("OSError", "[Errno 22] Invalid argument"),
        ("KeyError", "'map'"),
        ("ValueError", "'dict_keys'"),
    ],
)
def test_other_failures_of_libraries_are_not(error_type: str, message: str) -> None:
    assert not is_missing_dependency(error_type, message)
