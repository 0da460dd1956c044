import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.scaffolding import scaffolded


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("return os.path.join(a, b)", "import os"),
        ("return re.sub(a, b, json.dumps(a))", "import json; import re"),
        ("return np.array(a)", "import numpy as np"),
        ("return six.PY3", "import six"),
        ("return OrderedDict(a)", "from collections import OrderedDict"),
        ("return datetime.datetime.now()", "import datetime"),
        ("return datetime.strptime(a, b)", "from datetime import datetime"),
        ("return datetime(a, b, 1) + timedelta(1)",
         "from datetime import datetime; from datetime import timedelta"),
        ("return [unicode(x) for x in xrange(a)]", "unicode = str; xrange = range"),
    ],
)  # fmt: skip
def test_what_a_function_lacks_is_bound_on_a_line_before_it(body: str, line: str) -> None:
    code = f"def f(a, b):\n    {body}"
    assert scaffolded(code) == f"{line}\n{code}"


def test_annotations_with_unknown_names_are_not_evaluated() -> None:
    code = "def f(a: Sequence[T], b: np.ndarray) -> Unheard[int]:\n    return os.sep"
    lazy = "from __future__ import annotations"
    assert scaffolded(code) == f"{lazy}; import os\n{code}"
    known = "def f(a: int) -> 'str':\n    return os.sep"
    assert scaffolded(known) == f"import os\n{known}"
    exec(scaffolded(code), {})


@pytest.mark.parametrize(
    "code",
    [
        "def f(os):\n    return os.path",
        "import os\ndef f():\n    return os.path",
        "def f():\n    import re\n    return re.compile('')",
        "def f():\n    json = 3\n    return json",
        "def f(a):\n    return a + other(a) + select",
        "def f():\n    try:\n        f()\n    except KeyError as time:\n        time.x()",
        "def f(): print 3",
        "",
    ],
)
def test_what_is_bound_or_unknown_is_left_alone(code: str) -> None:
    assert scaffolded(code) == code


@given(st.text())
def test_any_text_keeps_its_end(code: str) -> None:
    assert scaffolded(code).endswith(code)
