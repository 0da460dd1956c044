"""Laws of the filter of snippets that are Python: kept kinds, and the four reasons."""

from tasks.corpus.functions import parse_function
from tasks.filters.python_code import (
    INCOMPLETE,
    IRRELEVANT,
    MIXED,
    OTHER_LANGUAGE,
    PythonCode,
)

CASES = {
    None: [
        "for i in range(3):\n    print(i)", "x = [i for i in range(3)]",
        "sorted(d.items(), key=lambda x: x[1])", "def f(x):\n    return x", "print 'hello'",
        "def f(x):\n    print x", "    import re\n    re.sub('a', 'b', s)",
        "try:\n    f()\nexcept ValueError, error:\n    print error",
        "class A(object):\n    def f(self):\n        raise ValueError, 'x'",
    ],
    MIXED: [
        ">>> a = 1\n>>> a\n1", "In [1]: a = 3\n\nIn [2]: a\nOut[2]: 3",
        "Traceback (most recent call last):\n  File 'x.py', line 1\nValueError",
        "def f(x):\n    return x\n\n# prints\n1 2 3\n4 5",
    ],
    OTHER_LANGUAGE: [
        "<html>\n<body>\n<form action='x'>\n<input type='text' name='a'>\n</form></body></html>",
        "SELECT * FROM t WHERE a = 3 ORDER BY b;", '{"a": 1, "b": [1, 2]}',
        "$(document).ready(function() { var x = 3; alert(x); });",
        "#include <stdio.h>\nint main() { return 0; }",
    ],
    IRRELEVANT: ["10:30\n11:20\n12:40", "hello world this is prose", "1 2 3\n4 5 6", "[1, 2, 3]"],
    INCOMPLETE: [
        "foo.bar", "except ValueError:\n    pass", "with open(f) as g:", "def foo():",
        "for x in y:\n    ...\n    if x",
    ],
}  # fmt: skip


def test_a_snippet_is_kept_or_of_one_of_the_papers_kinds() -> None:
    for reason, snippet in [(reason, text) for reason, texts in CASES.items() for text in texts]:
        assert PythonCode().reason_to_drop(parse_function(snippet, "here")) == reason
