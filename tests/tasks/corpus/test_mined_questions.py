"""Laws of mining questions from a Stack Exchange dump."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest

from infra.errors import SourceError
from tasks.corpus.mined_questions import KEPT, OTHERS, code_blocks, is_discussion, mine_questions


def dump(file: Path, posts: Iterable[dict[str, Any]]) -> Path:
    """Write posts as a dump has them, and return the file."""
    with file.open("w", encoding="utf-8") as stream:
        stream.write('<?xml version="1.0" encoding="utf-8"?>\n<posts>\n')
        for post in posts:
            cells = " ".join(
                f"{name}={quoteattr(str(value), {chr(10): '&#xA;', chr(13): '&#xD;'})}"
                for name, value in post.items()
            )
            stream.write(f"  <row {cells} />\n")
        stream.write("</posts>\n")
    return file


def question(identity: int, title: str, views: int = 0, **more: Any) -> dict[str, Any]:
    tags = {"Tags": "<android><java>"}
    return {"Id": identity, "PostTypeId": 1, "Title": title, "ViewCount": views, **tags, **more}


def answer(identity: int, parent: int, score: int, code: str, **more: Any) -> dict[str, Any]:
    body = f"<p>Try <code>it</code>:</p>\n<pre><code>{code}</code></pre>" if code else "<p>no</p>"
    post = {"Id": identity, "PostTypeId": 2, "ParentId": parent, "Score": score, "Body": body}
    return post | more


def test_every_step_leaves_out_what_it_is_for_and_is_counted(tmp_path: Path) -> None:
    posts = [
        question(1, "How to hide the keyboard", 90, AcceptedAnswerId=11),
        question(2, "How to show a dialog", 80, Tags="|Java|android|"),
        question(3, "How to sort", 99, Tags="<python>"),
        question(4, "Why is Java slow", 70),
        question(5, "Read a file", 60),
        question(6, "Nobody's code is up-voted", 50),
        question(7, "No code at all", 40),
        question(8, "Of no match", 30),
        question(9, "Too seldom seen", 1),
        {"Id": 10, "PostTypeId": 4, "Body": "a wiki of a tag"},
        answer(11, 1, 5, "hide();", ContentLicense="CC BY-SA 3.0"),
        answer(12, 1, 5, "older but not accepted"),
        answer(13, 2, 1, "show();"),
        answer(14, 2, 3, ""),
        answer(15, 4, 9, "slow();"),
        answer(16, 5, 2, "a &lt; b;"),
        answer(17, 5, 1, "less();"),
        answer(18, 6, 0, "none();"),
        answer(19, 6, -3, "none();"),
        answer(20, 7, 7, ""),
        answer(21, 8, 1, "other();"),
        answer(22, 9, 1, "seldom();"),
        answer(23, 3, 1, "sort()"),
        answer(24, 999, 1, "of a question that is not there"),
    ]
    file = dump(tmp_path / "Posts.xml", posts)
    mined, steps = mine_questions(
        file, ["Android", "java"], 7, matches=lambda codes: ["other" not in code for code in codes]
    )
    assert [each[:4] for each in mined] == [
        (1, "How to hide the keyboard", 11, "hide();"),
        (2, "How to show a dialog", 13, "show();"),
        (5, "Read a file", 16, "a < b;"),
    ]
    assert [each.licence for each in mined] == ["CC-BY-SA-3.0", "", ""]
    assert list(steps.values()) == [9, 8, 7, 5, 4, 3]


def test_questions_of_an_evaluation_are_left_out_by_id_and_by_title(tmp_path: Path) -> None:
    posts = [question(n, f"Question {n}", n) for n in range(1, 5)]
    posts += [answer(n + 10, n, 1, "code();") for n in range(1, 5)]
    file = dump(tmp_path / "Posts.xml", posts)
    evaluated = {"3": "a title that was edited since", "99": " question  1"}
    mined, steps = mine_questions(file, [], 9, evaluated=evaluated)
    assert [each.question_id for each in mined] == [4, 2]
    assert (steps[KEPT], steps[OTHERS]) == (4, 2)


def test_answers_may_come_before_their_question_and_ties_fall_to_the_older(tmp_path: Path) -> None:
    posts = [
        answer(1, 5, 2, "late();"), answer(2, 5, 2, "later();"), answer(3, 4, 1, "b();"),
        question(5, "second", 9), question(4, "first", 9), question(6, "third", 9, Score=1),
        answer(7, 6, 1, "c();"),
    ]  # fmt: skip
    file = dump(tmp_path / "Posts.xml", posts)
    assert [each.code for each in mine_questions(file, [], 3)[0]] == ["c();", "b();", "late();"]
    assert [each.title for each in mine_questions(file, [], 2)[0]] == ["third", "first"]
    assert [each.title for each in mine_questions(file, [], 1, "score")[0]] == ["third"]


@pytest.mark.parametrize(
    ("html", "blocks"),
    [
        ("<pre><code>a\r\n  b\n</code></pre>", ["a\n  b"]),
        (
            '<pre class="lang-java prettyprint-override"><code>x &amp;&amp; y</code></pre>',
            ["x && y"],
        ),
        ("<p><code>inline</code></p><pre>no code</pre>", []),
        ("<pre><code>a <b>b</b> c</code></pre><pre><code> \n</code></pre>", ["a b c"]),
        ("<pre><code>List&lt;String&gt; l;</code>", ["List<String> l;"]),
        ("<pre><code>a</code></pre><pre><code>never closed", ["a"]),
        ("<pre><code>a &lt;code&gt;</code></pre>", ["a <code>"]),
        (f"<pre><code>&#{'9' * 5000};</code></pre><pre><code>b</code></pre>", ["b"]),
        ("<a " * 20_000, []),
        ("<pre><code>" * 5_000, []),
        ("", []),
    ],
)
def test_code_is_what_stands_in_code_within_pre(html: str, blocks: list[str]) -> None:
    assert code_blocks(html) == blocks


def test_a_body_longer_than_any_post_is_passed_over(tmp_path: Path) -> None:
    posts = [question(1, "How to"), answer(2, 1, 9, "x" * (1 << 16)), answer(3, 1, 1, "short();")]
    [mined], _ = mine_questions(dump(tmp_path / "Posts.xml", posts), [], 1)
    assert mined.code == "short();"


@pytest.mark.parametrize(
    "title",
    [
        "Why does it crash", "What is the difference between == and equals", "Maven vs. Gradle",
        "ArrayList versus LinkedList", "When to use a Service?", "Should I use an ORM",
        "Is it bad to catch Exception", "Best practices for caching", "Which one is faster",
        "Pros and cons of fragments", "Is there any advantage of final", "What's a Context",
    ],
)  # fmt: skip
def test_opinions_reasons_and_differences_are_discussions(title: str) -> None:
    assert is_discussion(title)


@pytest.mark.parametrize(
    "title",
    [
        "How to lazy load images in ListView", "Is there a unique Android device ID?",
        "What is the best way to limit a text's length", "What's the right way to close a Cursor",
        "Close/hide the Android soft keyboard", "Convert a whyever string", "save svs file",
    ],
)  # fmt: skip
def test_what_asks_for_code_is_none(title: str) -> None:
    assert not is_discussion(title)


@pytest.mark.parametrize(
    ("post", "problem"),
    [
        ({"PostTypeId": 1, "Title": "a"}, "no Id"),
        ({"Id": 1, "Title": "a"}, "no PostTypeId"),
        ({"Id": "x1", "PostTypeId": 1, "Title": "a"}, "Id='x1' is no whole number"),
        ({"Id": "9" * 5000, "PostTypeId": 1}, "is no whole number"),
        ({"Id": 1, "PostTypeId": 1, "Title": "a", "ViewCount": "1e9"}, "ViewCount='1e9'"),
        ({"Id": 1, "PostTypeId": 2, "Score": 1, "Body": "a"}, "no ParentId"),
    ],
)
def test_a_row_that_lacks_a_cell_is_named_by_its_line(
    tmp_path: Path, post: dict[str, Any], problem: str
) -> None:
    file = dump(tmp_path / "Posts.xml", [question(7, "before"), post])
    with pytest.raises(SourceError, match=rf"Posts\.xml:4: a row with .*{problem}"):
        mine_questions(file, [], 5)


@pytest.mark.nightly
@pytest.mark.slow
def test_a_dump_of_300_000_posts_takes_no_more_memory_than_its_popular_questions(
    tmp_path: Path,
) -> None:
    words = "word " * 150
    posts = (
        question(number, f"How to do {number}", number * 7919 % 99_991, Body=words)
        if number % 3 == 1
        else answer(number, number - (number + 2) % 3, number % 11, f"f({number});", x=words)
        for number in range(1, 300_001)
    )
    file = dump(tmp_path / "Posts.xml", posts)
    program = (
        "import sys; from pathlib import Path;"
        "from tasks.corpus.mined_questions import mine_questions;"
        "mined, steps = mine_questions(Path(sys.argv[1]), ['java'], 1000);"
        "status = Path('/proc/self/status').read_text();"  # a child's ru_maxrss is its parent's
        "print(steps['questions read'], len(mined), status.partition('VmHWM:')[2].split()[0])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program, file], capture_output=True, text=True, check=True
    ).stdout
    read, kept, kilobytes = map(int, printed.split())
    assert (read, kept > 900) == (100_000, True)
    assert kilobytes < 100_000, "the file has more than 250 MB"
