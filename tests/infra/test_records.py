"""Laws of identity: the same content has the same name, whatever its spelling of white space.

Covers `infra.identity` and `infra.records`.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.identity import digest, digest_of, digest_of_set, mark, mark_of
from infra.records import Code, Query, caseless, code_id_of, normalise_query, query_id_of


def test_white_space_does_not_change_a_query() -> None:
    assert Query.of("  sort \t a\nlist ") == Query.of("sort a list")
    assert Query.of("Sort a list").query_id != Query.of("sort a list").query_id


def test_line_ends_and_trailing_white_space_do_not_change_code() -> None:
    assert Code.of("def f(x):  \r\n    return x\r\n\r\n") == Code.of("def f(x):\n    return x")


LETTER = 'def letter(name):\n    return """Dear %s,  \nsecond line\t\nend""" % name'


@pytest.mark.parametrize(
    "text",
    [
        LETTER,
        'x = """|   \n|---\n"""   # a comment  ',
        'def f():\n    """Adds.  \n\n    >>> 1\n    """',
        "print 'of Python 2'  \nx",
        "const text = `Dear you,  \nend`",
        '\f\nx = """\v\n"""',
    ],
)
def test_white_space_inside_a_text_is_what_was_read(text: str) -> None:
    code = Code.of(f"\n{text}\n".replace("\n", "\r\n"))
    assert code.text == text
    assert code.code_id == code_id_of(text) != code_id_of(re.sub(r"[ \t\v]+\n", "\n", text))


def test_white_space_at_the_ends_of_other_lines_goes() -> None:
    bare = 'def f():\n    # why\n\n    return """a\nb"""'
    assert Code.of('def f():  \n    # why \t\n   \n    return """a\nb""" \f \n') == Code.of(bare)


def test_indentation_changes_code() -> None:
    assert Code.of("if x:\n    y").code_id != Code.of("if x:\n  y").code_id


@pytest.mark.parametrize("text", ["", " ", "\n\t \n"])
def test_nothing_is_neither_query_nor_code(text: str) -> None:
    with pytest.raises(ValueError, match="the query is empty"):
        Query.of(text)
    with pytest.raises(ValueError, match="the code is empty"):
        Code.of(text)


@given(st.lists(st.text(), min_size=1, max_size=4), st.lists(st.text(), min_size=1, max_size=4))
def test_a_digest_respects_the_borders_of_its_parts(a: list[str], b: list[str]) -> None:
    assert (digest(*a) == digest(*b)) == (a == b)


@given(st.lists(st.text(max_size=5)))
def test_the_digest_of_a_set_ignores_order_and_repetition(items: list[str]) -> None:
    assert digest_of_set(items) == digest_of_set([*reversed(items), *items])


def test_the_digest_of_a_value_ignores_the_order_of_keys() -> None:
    assert digest_of({"a": 1, "b": [2]}) == digest_of({"b": [2], "a": 1})


def test_a_digest_has_128_bits_and_a_mark_the_first_80() -> None:
    assert digest("query", "sort a list") == "08f1d806f21765312d33e59314d8746e"
    for made in (digest("a"), digest_of([1]), digest_of_set(["a"])):
        assert len(made) == 32
    assert mark("a", "b") == digest("a", "b")[:20]
    assert mark_of({"a": 1}) == digest_of({"a": 1})[:20]


def test_the_id_of_a_text_is_that_of_its_record() -> None:
    query, code = Query.of(" sort  a list"), Code.of("x = 1 \r\n")
    assert query_id_of(" sort  a list") == query_id_of(query.text) == query.query_id
    assert code_id_of("x = 1 \r\n") == code_id_of(code.text) == code.code_id


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("gr\u00f6\u00dfte Zahl", "gro\u0308\u00dfte  Zahl"),
        ("\u212b", "\u00c5"),
        ("\ud55c", "\u1112\u1161\u11ab"),
    ],
)
def test_two_spellings_of_a_letter_are_one_query(one: str, other: str) -> None:
    assert Query.of(one) == Query.of(other)
    assert caseless(other.upper()) == caseless(one)


@given(st.text())
def test_what_equal_queries_have_in_common_is_stable(text: str) -> None:
    assert normalise_query(normalise_query(text)) == normalise_query(text)
    assert caseless(normalise_query(text)) == caseless(text)


def test_what_looks_alike_and_is_not_the_same_letter_stays_another_query() -> None:
    texts = ["x\u00b2", "x2", "\ufb01le", "file", "\u0430", "a", "\u00df", "\u1e9e"]
    assert len({Query.of(text).query_id for text in texts}) == len(texts)
