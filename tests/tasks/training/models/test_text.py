import pytest

from tasks.training.models._text import (
    PADDING,
    calls,
    code_tokens,
    ids,
    name_words,
    query_tokens,
    vocabulary,
)


def test_queries_are_lower_cased_and_keep_their_punctuation() -> None:
    assert query_tokens("How to read_JSON, fast?") == ["how", "to", "read_json", ",", "fast", "?"]


def test_code_falls_into_names_numbers_and_operators() -> None:
    assert code_tokens("x2 **= readFile('a b') // 2 ->[1]") == [
        "x2", "**=", "readFile", "(", "'", "a", "b", "'", ")", "//", "2", "->", "[", "1", "]",
    ]  # fmt: skip


def test_the_name_is_that_of_the_first_function() -> None:
    assert name_words("x = 1\nasync def readFile(a):\n  def g(): pass") == ["read", "file"]
    assert name_words("x = 1") == []


@pytest.mark.parametrize(
    ("code", "called"),
    [
        ("f(g(1), o.h())", ["g", "h", "f"]),
        ("    def m(self):\n        return open(self.p).read()\n", ["open", "read"]),
        ("(lambda: 1)()\nd['x'](2)", []),
        ("print 'Python 2'", []),
    ],
)
def test_calls_come_in_the_order_in_which_they_end(code: str, called: list[str]) -> None:
    assert calls(code) == called


def test_a_rare_word_falls_into_pieces_and_a_foreign_letter_into_bytes() -> None:
    tokenizer = vocabulary([["reader", "read"]] * 10, 8, 10, pieces=True)
    found = ids(tokenizer, [["read"], ["dear"], ["€"], ["read"] * 20, []])
    used = [[tokenizer.id_to_token(one) for one in row if one != PADDING] for row in found]
    assert used == [
        ["Ġread"],
        ["Ġ", "d", "e", "a", "r"],
        ["Ġ", "â", "Ĥ", "¬"],
        ["Ġread"] * 8,
        ["<unk>"],
    ]


def test_whole_words_are_known_from_their_count_on() -> None:
    tokenizer = vocabulary([["read", "read", "json"]], 8, 2, pieces=False)
    assert set(tokenizer.get_vocab()) == {"<pad>", "<unk>", "read"}
    assert ids(tokenizer, [["read", "json"]]) == [[2, 1]]
