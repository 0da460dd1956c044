"""Laws of the languages that are read by tree-sitter.

They are `go`, `java`, `javascript`, `php` and `ruby`, on `infra.syntax.syntax_tree`.
"""

import time

import pytest

from infra.languages import language_of, languages
from infra.records import Code

TREES = ("go", "java", "javascript", "php", "ruby")

# Language → a file, and its functions: name, lines, parameters, whether a value comes back, and
# the first line of the documentation.
FILES = {
    "go": (
        """package shapes

// Area returns the area.
// It is never negative.
func (s *Square[T]) Area(a, b int, more ...string) (int, error) {
\tf := func(z int) int { return z }
\treturn f(a), nil
}

func log(text string) {}
func declared(x int) int
""",
        [
            ("Square.Area", 5, 8, ("a", "b", "more"), True, "Area returns the area."),
            ("log", 10, 10, ("text",), False, ""),
        ],
    ),
    "java": (
        """class A {
    /** Adds.
     * @param a one */
    @Override
    public int add(final int a, int... more) {
        Runnable r = () -> { return; };
        return a;
    }
    A(int x) { }
    void stop() { return; }
    interface B { int size(); default int two() { return 2; } }
}
""",
        [
            ("A.add", 4, 8, ("a", "more"), True, "Adds."),
            ("A.A", 9, 9, ("x",), False, ""),
            ("A.stop", 10, 10, (), False, ""),
            ("A.B.two", 11, 11, (), True, ""),
        ],
    ),
    "javascript": (
        """/** Halves. */
export const halve = (x, {y}, z = 1, ...rest) => x / 2;
(function () {
  // Doubles.
  A.prototype.double = function (x) { return twice(x, () => { return 2; }); };
  function silent(x) { items.map(function (y) { return y; }); }
}());
class A { static get size() { return 1; } constructor(a) {} [Symbol.iterator]() {} }
module.exports = { 'quoted': function (a) { return a; }, short(b) { return; } };
""",
        [
            ("halve", 2, 2, ("x", "{y}", "z", "rest"), True, "Halves."),
            ("A.prototype.double", 5, 5, ("x",), True, "Doubles."),
            ("silent", 6, 6, ("x",), False, ""),
            ("A.size", 8, 8, (), True, ""),
            ("A.constructor", 8, 8, ("a",), False, ""),
            ("A.[Symbol.iterator]", 8, 8, (), False, ""),
            ("quoted", 9, 9, ("a",), True, ""),
            ("short", 9, 9, ("b",), False, ""),
        ],
    ),
    "php": (
        """<p><?php
namespace N;
/**
 * Sums up.
 */
#[Pure]
function sum($a, int ...$more) { return 1; }
abstract class C {
    abstract function none();
    public function run(&$x = 1) { return; }
}
""",
        [
            ("sum", 6, 7, ("a", "more"), True, "Sums up."),
            ("C.run", 10, 10, ("x",), False, ""),
        ],
    ),
    "ruby": (
        """module A
  class B
    # Joins.
    #   With blanks.
    def join(a, b = 1, *c, k:, **o, &block)
      <<~TEXT
        a
      TEXT
    end
    def self.empty; end
    def ==(other) = true
  end
end
""",
        [
            ("A.B.join", 5, 9, ("a", "b", "c", "k", "o", "block"), True, "Joins."),
            ("A.B.empty", 10, 10, (), False, ""),
            ("A.B.==", 11, 11, ("other",), True, ""),
        ],
    ),
}
SPECIAL = {
    "go": ([], ["String"]),
    "java": (["A.toString", "A.A"], ["A.add"]),
    "javascript": (["A.valueOf", "constructor"], ["A.add"]),
    "php": (["C.__construct", "__get"], ["construct"]),
    "ruby": (["A.initialize", "B.=="], ["A.join"]),
}
CUT = {
    "go": "func (s *S) area(a int) int { return a }",
    "java": "public int area(int a) { return a; }",
    "javascript": "area(a) { return a }",
    "php": "public function area($a) { return $a; }",
    "ruby": "def area(a)\n  a\nend",
}
COMMENTED = {
    "go": 'func f(a int) int { /* b */ return a + len("c d") // e\n}',
    "java": 'int f(int a) { /* b */ return a + "c d".length(); // e\n}',
    "javascript": 'function f(a) { /* b */ return a + "c d".length; // e\n}',
    "php": '<?php function f($a) { /* b */ return $a + strlen("c d"); // e\n}',
    "ruby": 'def f(a)\n  a + "c d".length # e\nend',
}


@pytest.mark.parametrize("name", TREES)
def test_functions_of_a_file_are_found_with_all_that_is_asked_of_them(name: str) -> None:
    text, expected = FILES[name]
    found = [
        (
            function.name, function.first_line, function.last_line, function.parameters,
            function.returns_value, function.documentation.partition("\n")[0],
        )
        for function in languages.get(name)().functions_of(text)
    ]  # fmt: skip
    assert found == expected


@pytest.mark.parametrize("name", TREES)
def test_names_that_codesearchnet_leaves_out_are_known(name: str) -> None:
    language = languages.get(name)()
    special, usual = SPECIAL[name]
    assert [language.is_special(each) for each in special] == [True] * len(special)
    assert [language.is_special(each) for each in usual] == [False] * len(usual)


@pytest.mark.parametrize("name", TREES)
def test_a_function_cut_out_of_its_class_is_read(name: str) -> None:
    (function,) = languages.get(name)().functions_of(CUT[name])
    assert (function.name.rpartition(".")[2], function.parameters) == ("area", ("a",))
    assert (function.text, function.first_line) == (CUT[name], 1)
    assert function.returns_value


@pytest.mark.parametrize("name", TREES)
def test_tokens_have_no_comments_and_identifiers_no_literals_or_keywords(name: str) -> None:
    language = languages.get(name)()
    tokens = language.tokens(COMMENTED[name])
    assert '"c d"' in tokens
    assert not {"b", "e"} & {token.strip("/*# ") for token in tokens}
    identifiers = language.identifiers(COMMENTED[name])
    assert {"f", "a"} <= set(identifiers)
    assert not {"c", "d", "return", "def", "function", "func"} & set(identifiers)


@pytest.mark.parametrize("name", TREES)
def test_a_function_cut_out_of_its_class_has_tokens_and_is_the_same_in_another_layout(
    name: str,
) -> None:
    language, code = languages.get(name)(), CUT[name]
    assert {"area", "a"} <= {token.strip("$") for token in language.tokens(code)}
    odd = "\ufeff  \r\n" + "".join(f"\t{line} \t\r\n" for line in code.split("\n"))
    assert language.normalised(odd) == code == language.normalised(code)
    assert Code.of(odd, language=name) == Code.of(code, language=name)
    comment = "#" if name == "ruby" else "//"
    other = f"{code} {comment} why"
    assert language.normalised(other) != code
    assert language.canonical(other) == language.canonical(code) != language.canonical("x")
    damaged = f"{code}  \n(("
    assert language.normalised(damaged) == damaged


@pytest.mark.parametrize("name", TREES)
def test_code_without_a_language_is_of_that_which_reads_it(name: str) -> None:
    for code in (CUT[name], COMMENTED[name], LITERALS[name]):
        found = language_of(code)
        assert found
        assert found.tokens(code) == languages.get(name)().tokens(code)
    python = language_of("def f(x):\n    return x")
    assert python
    assert python.name == "python"
    assert language_of("SELECT x FROM y") is None


LITERALS = {
    "go": "func f() string {\n\treturn `a  \n\tb`\n}",
    "java": 'String f() {\n\treturn """\n\ta  \n\tb""";\n}',
    "javascript": "const f = () => `a  \n\t${b}  \n`",
    "php": "function f() {\n  return <<<'T'\na  \n\tb\nT;\n}",
    "ruby": "def f\n  <<T\na  \n\tb\nT\nend",
}


@pytest.mark.parametrize("name", TREES)
def test_blanks_in_a_literal_stay(name: str) -> None:
    code = LITERALS[name]
    assert languages.get(name)().normalised(f"{code}\n") == code
    bare = "\n".join(map(str.rstrip, code.split("\n")))
    assert Code.of(code, language=name).code_id != Code.of(bare, language=name).code_id


CALLS = {
    "go": "func f(a int) { fmt.Println(g(a)); h(a) }",
    "java": "void f(int a) { this.p.print(g(a)); new h(a); }",
    "javascript": "function f(a) { this.print(g(a)); new h(a) }",
    "php": "function f($a) { $this->print(g($a)); A::h($a); }",
    "ruby": "def f(a)\n  self.print(g(a))\n  h a\nend",
}


@pytest.mark.parametrize("name", TREES)
def test_calls_are_named_inner_ones_first(name: str) -> None:
    found = [call.lower().removesuffix("ln") for call in languages.get(name)().calls(CALLS[name])]
    assert found == ["g", "print", "h"]


@pytest.mark.parametrize("name", TREES)
def test_damaged_functions_say_so_and_the_others_are_read(name: str) -> None:
    head = "package p\n" if name == "go" else "<?php\n" if name == "php" else ""
    damaged = CUT[name].replace(" { return", " { % ( return").replace("\n  a", "\n  a ( %")
    if name in ("java", "javascript", "php"):
        body = f"class K {{\n{CUT[name]}\n{damaged}\n}}"
    else:
        body = f"{CUT[name]}\n{damaged}"
    functions = languages.get(name)().functions_of(f"{head}{body}\n")
    assert not functions[0].has_error
    assert all(function.has_error for function in functions[1:])


def test_a_margin_goes_but_not_inside_of_literals() -> None:
    text = "class A\n  def f\n    x = <<T\n  kept\nT\n    x\n  end\nend\n"
    (function,) = languages.get("ruby")().functions_of(text)
    assert function.text == "def f\n  x = <<T\n  kept\nT\n  x\nend"


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("piece", ["(", "[(<{", "`${", "!"])
def test_no_text_of_20_kilobytes_takes_long(name: str, piece: str) -> None:
    language, started = languages.get(name)(), time.process_time()
    text = piece * (20_000 // len(piece))
    try:
        assert language.functions_of(text) == []
    except SyntaxError as error:
        assert str(error)  # noqa: PT017 - either is an answer
    assert time.process_time() - started < 30


@pytest.mark.parametrize(
    ("name", "text"), [("ruby", "x = %q(\n" * 20_000), ("javascript", "/*" * 25_000)]
)
def test_texts_without_end_are_given_up_soon(name: str, text: str) -> None:
    language, started = languages.get(name)(), time.process_time()
    with pytest.raises(SyntaxError):
        language.functions_of(text)
    assert language.canonical(text) == language.normalised(text) == text.strip("\n")
    assert language.tokens(text)
    assert time.process_time() - started < 15


@pytest.mark.parametrize("depth", [100, 10_000])
def test_deep_nesting_is_told(depth: int) -> None:
    text = f"function f(x) {{ return {'(' * depth}x{')' * depth}; }}"
    if depth == 100:
        assert len(languages.get("javascript")().functions_of(text)) == 1
    else:
        with pytest.raises(SyntaxError, match="nested too deeply"):
            languages.get("javascript")().functions_of(text)


MEMBERS = """\
export default async function* (rows) { yield rows; }
export default class { 'a b'() {} 1() {} get 'x-y'() {} static async *[Symbol.asyncIterator]() {} }
class K { *#next() {} ['lit']() {} 'f-g' = (x) => x }
module.exports['x'] = function ({ name, onPick = () => {} }, [a, b] = [1], ...rest) {};
exports[key] = (a = { b: 1 }) => a;
table().row = function () {};
const o = { 'click .button': function () {}, "y": (a) => a, [`k${i}`]: () => 2 };
total ||= function (rows) {};
const { z } = function () {};
"""


def test_members_are_named_by_texts_and_by_what_computes_their_names() -> None:
    functions = languages.get("javascript")().functions_of(MEMBERS)
    assert [(function.name, function.parameters) for function in functions] == [
        ("default", ("rows",)),
        ("a b", ()),
        ("1", ()),
        ("x-y", ()),
        ("[Symbol.asyncIterator]", ()),
        ("K.#next", ()),
        ("K.lit", ()),
        ("K.f-g", ("x",)),
        ("module.exports.x", ("{ name, onPick = () => {} }", "[a, b]", "rest")),
        ("exports.[key]", ("a",)),
        ("row", ()),
        ("'click .button'", ()),
        ("y", ("a",)),
        ("[`k${i}`]", ()),
        ("total", ("rows",)),
    ]
    assert functions[0].text == MEMBERS.split("\n", maxsplit=1)[0]


TEXTS = """\
module A
  private def both; <<~A + <<-B; end
    one
  A
    two
    B
  def x = <<~T.strip; def y = <<~U
    of x
  T
    of y
  U
  def low
    <<~X
 left
    X
  end
end
"""


def test_here_documents_stand_with_their_method_wherever_it_ends() -> None:
    functions = languages.get("ruby")().functions_of(TEXTS)
    assert [(function.first_line, function.last_line, function.text) for function in functions] == [
        (2, 6, "def both; <<~A + <<-B; end\n  one\nA\n    two\n    B"),
        (7, 9, "def x = <<~T.strip\n  of x\nT"),
        (7, 11, "def y = <<~U\n  of y\nU"),
        (12, 16, "def low\n  <<~X\n left\n    X\nend"),
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("public function f($t) { return '<?xml ?>' . $t; }", ["f"]),
        ("function f() { return '<?= $x ?>'; }", ["f"]),
        ("public function f($r) { ?> <b> <?= $r ?> <?php return 1; }", ["f"]),
        ('static function f() { return "<?php\\n"; }', ["f"]),
        ("public function f() { $y = <<<X\n<?php echo 1 ?>\nX;\nreturn $y; }", ["f"]),
        ("<p><?php function f() { return 1; } ?></p>", ["f"]),
        ("Dear <?= $x ?>,\n<?php function f() { return 1; } ?>", ["f"]),
        ("#!/usr/bin/php\n<?php\nfunction f() { return 1; }", ["f"]),
        ("Dear <?= $x ?>,", []),
    ],
)
def test_a_text_is_a_page_of_php_only_where_it_is_no_code(text: str, names: list[str]) -> None:
    functions = languages.get("php")().functions_of(text)
    assert [function.name for function in functions if not function.has_error] == names


@pytest.mark.parametrize(
    ("declaration", "encoding"),
    [
        ("# -*- coding: euc-jp -*-", "euc-jp"),
        ("# vim: set fileencoding=Shift_JIS :", "shift_jis"),
        ("#!/usr/bin/ruby\n# encoding: Windows-31J", "cp932"),
        ("# encoding: utf-8-unix", "utf-8"),
        ("# encoding: ascii-8bit", "utf-8"),
        ("\ufeff# coding: iso-8859-1", "utf-8"),
        ("# of it\n# coding: iso-8859-1", "utf-8"),
    ],
)
def test_files_of_ruby_are_in_the_encoding_that_they_declare(
    declaration: str, encoding: str
) -> None:
    text = f"{declaration}\nx = '日本'\n"
    assert languages.get("ruby")().decoded(text.encode(encoding)) == text.lstrip("\ufeff")


@pytest.mark.parametrize("encoding", ["nonsense", "utf-16", "utf-7", "rot13", "unicode_escape"])
def test_files_in_no_encoding_of_ruby_are_told(encoding: str) -> None:
    with pytest.raises(SyntaxError, match="no encoding of Ruby's files"):
        languages.get("ruby")().decoded(f"# coding: {encoding}\nx".encode())
