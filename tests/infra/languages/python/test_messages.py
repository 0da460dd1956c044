import pytest

from infra.languages.python.messages import without_messages
from infra.languages.python.mutation import mutants_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("raise ValueError('no')", "raise ValueError('nothing')"),
        ("raise ValueError('no')", "raise ValueError()"),
        ("raise ValueError(f'{x}')", "raise ValueError('a %s' % x)"),
        ("raise ValueError('a' + x + 'b')", "raise ValueError('{}'.format(x))"),
        ("assert x, 'no'", "assert x"),
        ("log.info('a', x)", "log.info('b', x)"),
        ("self.logger.warning('a')", "self.logger.warning('b')"),
    ],
)
def test_wording_of_exceptions_and_of_the_log_makes_no_difference(one: str, other: str) -> None:
    assert without_messages(one) == without_messages(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("raise ValueError('no')", "raise KeyError('no')"),
        ("raise ValueError(x)", "raise ValueError(y)"),
        ("raise ValueError('no')", "pass"),
        ("print('a')", "print('b')"),
        ("x = 'a'", "x = 'b'"),
        ("math.log('a')", "math.log('b')"),
        ("blog.info('a')", "blog.info('b')"),
        ("assert x, 'no'", "assert y, 'no'"),
    ],
)
def test_whatever_else_differs_still_does(one: str, other: str) -> None:
    assert without_messages(one) != without_messages(other)


def test_mutants_of_wording_alone_can_be_told_from_others() -> None:
    code = "def f(x):\n    if x > 1:\n        raise ValueError('too large')\n    return x"
    plain = without_messages(code)
    alike = [m.change for m in mutants_of(code, 99) if without_messages(m.code) == plain]
    assert alike == ["'too large' → 'too largeX'"]


@pytest.mark.parametrize("code", ["def f(:", "", "\0"])
def test_code_that_cannot_be_parsed_stays_as_it_is(code: str) -> None:
    assert without_messages(code) == code
