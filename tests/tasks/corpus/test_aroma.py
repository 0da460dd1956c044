"""Aroma's simplified trees and features against those worked out by hand, and matches in a corpus.

Covers `infra.syntax.simplified_tree` too.
"""

from collections import Counter
from itertools import product

import pytest

from infra.languages.java import Java
from tasks.corpus import aroma
from tasks.corpus.aroma import THRESHOLD, Features, features_of, have_matches, similarity


def labels(code: str) -> list[str]:
    """Return each leaf as ``text position label``, with a star where it is a local variable."""
    return [
        f"{leaf.text}{'*' * leaf.is_local} {leaf.position} {leaf.tree.label}"
        for leaf in Java().leaves_of(code)
    ]


def test_features_are_those_worked_out_by_hand() -> None:
    """``##`` over ``int#;`` over ``#=#``, and ``#;`` over ``##`` over ``(#)``."""
    assert features_of("int x = 1; foo(x);") == Counter(
        {
            ("token", "#VAR"): 2, ("token", "1"): 1, ("token", "foo"): 1,
            ("parent", "#VAR", 1, "#=#"): 1, ("parent", "#VAR", 1, "int#;"): 1,
            ("parent", "#VAR", 1, "##"): 1,
            ("parent", "1", 2, "#=#"): 1, ("parent", "1", 1, "int#;"): 1,
            ("parent", "1", 1, "##"): 1,
            ("parent", "foo", 1, "##"): 1, ("parent", "foo", 1, "#;"): 1,
            ("parent", "foo", 2, "##"): 1,
            ("parent", "#VAR", 1, "(#)"): 1, ("parent", "#VAR", 2, "##"): 1,
            ("parent", "#VAR", 1, "#;"): 1,
            ("siblings", "#VAR", "1"): 2, ("siblings", "1", "foo"): 2,
            ("siblings", "foo", "#VAR"): 2,
            ("uses", (1, "#=#"), (1, "(#)")): 2,
        }
    )  # fmt: skip


def test_the_papers_condition_has_the_papers_labels() -> None:
    code = "if (view instanceof ViewGroup) { for (int i = 0; i < n; i++) { f(i); } }"
    assert labels(code) == [
        "view 1 #instanceof#", "ViewGroup 2 #instanceof#",
        "i* 1 #=#", "0 2 #=#", "i* 1 #<#", "n 2 #<#", "i* 1 #++", "f 1 ##", "i* 1 (#)",
    ]  # fmt: skip


def test_the_place_of_a_variable_that_is_called_on_has_the_methods_name() -> None:
    found = features_of("View v = g(); v.getChildCount(); v.parent;")
    uses = {key[1:] for key in found if key[0] == "uses"}
    assert uses == {((1, "#=#"), (1, "getChildCount")), ((1, "getChildCount"), (1, "parent"))}


@pytest.mark.parametrize(
    ("code", "variables"),
    [
        ("void f(int a, String... b) { this.a = a; a(b); }", "a b a b"),
        ("class C { int k; int g() { return k; } }", ""),
        ("public C(int k) { this.k = k; }", "k k"),  # a constructor alone needs a class around it
        ("public C() {} private int k = 3; int g() { int j; return j + k; }", "j j"),
        ("try (In in = open()) { in.read(); } catch (E e) { e.in(); }", "in in e e"),
        ("run(x -> x + y); run((p, q) -> p); if (o instanceof T t) t.go();", "x x p q p t t"),
        ("for (String s : list) { s: break s; }", "s"),
    ],
)
def test_local_variables_are_those_that_the_code_declares(code: str, variables: str) -> None:
    assert [leaf.text for leaf in Java().leaves_of(code) if leaf.is_local] == variables.split()


def test_keywords_comments_and_the_insides_of_texts_are_no_leaves() -> None:
    assert labels(
        '/** A. */ return null; // b\n super.f(this, true, "a b" /* c */, void.class);'
    ) == ["f 1 super.##", '"a b" 1 (this,true,#,#)']


def test_names_of_variables_make_no_difference_and_those_of_methods_do() -> None:
    code = "Bitmap load(int id) { Bitmap b = decode(id); b.scale(id); return b; }"
    renamed = "Bitmap load(int key) { Bitmap pic = decode(key); pic.scale(key); return pic; }"
    assert similarity(features_of(code), features_of(renamed)) == 1
    other = features_of(code.replace("decode", "read"))
    assert THRESHOLD < similarity(features_of(code), other) < 1


def test_similarity_is_the_share_of_the_answers_features_as_a_multiset() -> None:
    answer: Features = Counter({("a",): 3, ("b",): 1})
    method: Features = Counter({("a",): 2, ("c",): 9})
    assert similarity(answer, method) == 2 / 4
    assert similarity(method, answer) == 2 / 11
    assert similarity(Counter(), method) == 0


def test_a_method_holds_the_statements_that_an_answer_shows() -> None:
    answer = "InputMethodManager m = get(View.class);\nm.hide(view.getToken(), 0);"
    method = f"private void close(View view) {{\n {answer}\n view.clearFocus(); }}"
    assert similarity(features_of(answer), features_of(method)) > 0.6
    assert similarity(features_of(answer), features_of("int f(int a) { return a; }")) < THRESHOLD


@pytest.mark.parametrize(
    "code",
    [
        "", " \n", "// nothing", "\0", "\ud800", "(" * 10_000 + "x" + ")" * 10_000,
        "f(" * 10_000 + ")" * 10_000, "{" * 10_000, "if (x) " * 10_000 + "y();",
        "<a b='c'>" * 1_000 + "</a>" * 1_000,
    ],
)  # fmt: skip
def test_any_text_has_features_or_none(code: str) -> None:
    found = features_of(code)
    assert similarity(found, found) in (0, 1)


def test_a_build_file_or_a_layout_is_no_java_and_like_no_method() -> None:
    method = features_of("void f(View v) { v.setVisibility(View.GONE); }")
    for text in (
        "dependencies {\n  compile 'com.android.support:appcompat-v7:22.2.1'\n}",
        '<Button android:id="@+id/b" android:layout_width="fill_parent" />',
    ):
        assert similarity(features_of(text), method) < THRESHOLD


ANSWERS = [
    "String line = reader.readLine(); while (line != null) { line = reader.readLine(); }",
    "view.setText(name);",
    "int[] xs = new int[3]; for (int x : xs) { sum += x; sum += x; }",
    "}{ no java",
    "",
]
METHODS = [
    "void read(Reader in) { String l = in.readLine(); while (l != null) { l = in.readLine(); } }",
    "void show(View view) { view.setText(title); }",
    "int add(int[] xs) { int sum = 0; for (int x : xs) { sum += x; } return sum; }",
    "boolean isEmpty() { return size == 0; }",
]


@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.25, 0.5, 0.6, 0.9])
@pytest.mark.parametrize("block", [1, 3, 256])
def test_a_match_is_a_method_whose_similarity_is_above_the_threshold(
    threshold: float, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aroma, "_BLOCK", block)
    found: dict[str, bool] = dict.fromkeys(ANSWERS, False)
    for answer, method in product(ANSWERS, METHODS):
        found[answer] |= similarity(features_of(answer), features_of(method)) > threshold
    assert have_matches(ANSWERS, METHODS, threshold) == list(found.values())
    assert 0 < sum(found.values()) < len(ANSWERS) or threshold in (0.0, 0.9)


def test_without_methods_or_answers_nothing_matches() -> None:
    assert have_matches(ANSWERS, []) == [False] * len(ANSWERS)
    assert have_matches([], METHODS) == []
