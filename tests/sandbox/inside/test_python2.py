"""What Python 2 has left in programs is recognised, and named as such."""

import pytest

from sandbox.base import Sandbox
from sandbox.inside.python2 import hint


def raised(source: str) -> BaseException:
    try:
        exec(compile(source, "program.py", "exec"), {})
    except Exception as error:  # noqa: BLE001 - the error is what is looked at
        return error
    raise AssertionError(f"nothing was raised by {source!r}")


def test_a_leftover_of_python_2_is_named() -> None:
    for source, word in [
        ("print 'hello'", "print statement"),
        ("exec 'x = 1'", "exec statement"),
        ("raise ValueError, 'no'", "raise"),
        ("try:\n    pass\nexcept ValueError, error:\n    pass", "except"),
        ("if 1 <> 2:\n    pass", "<>"),
        ("x = `1`", "repr"),
        ("x = 10L", "long integer"),
        ("x = 0777", "octal"),
        ("x = ur'text'", "ur"),
        ("for n in xrange(3):\n    pass", "range"),
        ("unicode('a')", "str"),
        ("raw_input()", "input"),
        ("{}.iteritems()", "items"),
        ("{}.has_key(1)", "in"),
        ("import sys\nsys.maxint", "maxsize"),
        ("import urllib2", "urllib.request"),
        ("from cStringIO import StringIO", "io"),
    ]:
        assert word in hint(raised(source))


@pytest.mark.parametrize(
    "source",
    ["x", "import no_such_module", "{}.no_such_method()", "1 / 0", "def f(:", "x = (1", "x = '"],
)
def test_an_ordinary_error_is_none(source: str) -> None:
    assert hint(raised(source)) == ""


@pytest.mark.docker
async def test_a_result_says_so(sandbox: Sandbox) -> None:
    async with sandbox.box("def f(d):\n    return d.iteritems()\n") as box:
        result = await box.run("from target import f\nf({})")
    assert (result.outcome, result.error_type) == ("raised", "AttributeError")
    assert "[Python 2: iteritems; Python 3 has items]" in result.message
