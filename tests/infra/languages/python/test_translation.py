"""Laws of code of Python 2: it is translated where that can be done, and left as it is elsewhere.

Covers `infra.languages.python.translation`.
"""

import sys
from typing import Any

import pytest

from infra.languages.python import Python
from infra.languages.python.translation import translated

GIVES = {
    "try:\n        print >>sys.stderr, `x`\n        raise ValueError, 'no'\n"
    "    except ValueError, error:\n        return str(error)": "no",
    "return [k for k, v in {1: 2}.iteritems()], {1: 2}.has_key(1), 1 <> 2": ([1], True, True),
    "return sorted([1, 3, 2], cmp=lambda a, b: cmp(b, a))": [3, 2, 1],
    "return 0777, 10L": (511, 10),
    "return np.array([1.9, 2], dtype=np.int).tolist()": [1, 2],
    "return isinstance([], collections.Iterable), string.lowercase[:2]": (True, "ab"),
    "exec 'y = 3'\n    return {3: 1}.keys()[0]": 3,
}


@pytest.mark.parametrize("body", GIVES)
def test_code_of_python_2_gives_what_it_gave(body: str) -> None:
    space: dict[str, Any] = {"sys": sys}
    exec(Python().scaffolded(translated(f"def f(x):\n    {body}")), space)
    assert space["f"](1) == GIVES[body]


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("print >>sys.stdout, x", "1\n"),
        ("print >>sys.stdout", "\n"),
        ("print (x), 2", "1 2\n"),
        ("print ('%d') % x", "1\n"),
        ("print ('a').upper()", "A\n"),
    ],
)
def test_a_print_that_python_3_can_read_prints(
    line: str, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    space: dict[str, Any] = {"sys": sys}
    exec(translated(f"def f(x):\n    {line}"), space)
    space["f"](1)
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize(
    "code",
    [
        "def f(x):\n    return {**x}  # as it stands",
        "def f(d):\n    print 'a',\n    await x = 1",
        "def f(:\n    print 1",
        "x = '''",
        "(" * 5_000,
        "match x:\n    case 1: print 2",
        "def f(x):\n    print(x), print(1)\n    print(x) if x else ()\n    return x >> 1, print",
    ],
)
def test_any_other_code_stays_as_it_is(code: str) -> None:
    assert translated(code) == code


@pytest.mark.parametrize(
    ("code", "today"),
    [
        ("yaml.load(f)", "yaml.unsafe_load(f)"),
        ("yaml.load(open(path))", "yaml.unsafe_load(open(path))"),
        ("x = numpy.sum(a, dtype=np.float)", "x = numpy.sum(a, dtype=float)"),
        ("scipy.ndimage.filters.convolve(a, b)", "scipy.ndimage.convolve(a, b)"),
        ("yaml.load(f, Loader=yaml.Loader)", "yaml.load(f, Loader=yaml.Loader)"),
        ("np.float32(np.int_(1)), np.nan", "np.float32(np.int_(1)), np.nan"),
        ("my_collections.Mapping", "my_collections.Mapping"),
    ],
)
def test_names_that_libraries_gave_up_are_those_they_have(code: str, today: str) -> None:
    assert translated(code) == today
