"""Subjects of a git history are queries; nothing of its repository runs, and it is bounded.

Covers `tasks.corpus.git_history`.
"""

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from infra.collected import Collected
from infra.errors import SourceError
from tests.tasks.sources.examples import read_one

TWO = "def double(x):\n    return x + x\n\n\ndef halve(x):\n    return x / 2\n"
FOUR = TWO + "\n\ndef third(x):\n    return x / 3\n\n\ndef fourth(x):\n    return x / 4\n"

Files = Mapping[str, str]


def git(folder: Path, *words: str, stdin: bytes = b"") -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, input=stdin, capture_output=True, check=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
    )  # fmt: skip
    return done.stdout.decode()


def repository(folder: Path, commits: Iterator[tuple[bytes, Files]]) -> Path:
    """Return a folder with a history of subjects and the files that each wrote."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    stream = b""
    for time, (subject, files) in enumerate(commits, 1):
        stream += b"commit refs/heads/main\ncommitter A <a@b> %d +0000\n" % time
        stream += b"data %d\n%s\n" % (len(subject), subject)
        for name, text in files.items():
            data = text.encode()
            stream += b"M 644 inline %s\ndata %d\n%s\n" % (name.encode(), len(data), data)
        stream += b"\n"
    git(folder, "fast-import", "--quiet", stdin=stream)
    git(folder, "reset", "--quiet", "--hard")
    return folder


read = partial(read_one, "commits")


def asked(content: Collected) -> list[str]:
    return [query.text for query in content.queries]


def test_subjects_that_change_one_to_three_functions_are_queries_newest_first(
    tmp_path: Path,
) -> None:
    history = [
        (b"Add twice and half of a number", {"numbers.py": TWO}),
        (b"Write about all of it", {"README.md": "about"}),
        (b"Add four functions at once", {"many.py": FOUR}),
        (b"fix it", {"numbers.py": TWO.replace("x / 2", "x // 2")}),
        (b"Let double take texts as well", {"numbers.py": TWO.replace("x + x", "2 * x")}),
        (b"Return whole numbers of the half", {"numbers.py": TWO.replace("x / 2", "int(x / 2)")}),
    ]
    content = read(repository(tmp_path / "r", iter(history)))
    assert asked(content) == ["Return whole numbers of the half", "Add twice and half of a number"]
    assert content.dropped == {
        "commit that changes no function": 1,
        "commit that changes more than three functions": 1,
        "subject of fewer than three words, or of more than 200 characters": 1,
        "subject that names its function": 1,
    }
    assert not content.labels, "where a query comes from is no label"
    names = {code.name: code.text for code in content.codes}
    assert names["halve"].endswith("int(x / 2)"), "as the newest commit left it"


def test_subjects_are_asked_over_the_functions_of_the_folder_below_which_they_count(
    tmp_path: Path,
) -> None:
    history = [
        (b"Double", {"src/short.py": TWO}),
        (b"Add twice and half of a number", {"src/numbers.py": TWO}),
        (b"Change what is elsewhere alone", {"other/more.py": "def f(x):\n    return x\n"}),
    ]
    folder = repository(tmp_path / "r", iter(history)) / "src"
    content = read_one("source-code", folder, queries="commits")
    assert asked(content) == ["Add twice and half of a number"]
    assert [code.name for code in content.codes] == ["double", "halve"]
    assert content.dropped == {
        "commit that changes no function": 1,
        "subject of fewer than three words, or of more than 200 characters": 1,
        "function equal to an earlier one": 2,
    }, "left-out subjects are counted, functions that commits changed are not"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A repository each of whose settings runs a program that leaves a file ``ran``."""
    folder = repository(tmp_path / "r", iter([(b"Add twice and half of a number", {"n.py": TWO})]))
    ran = tmp_path / "ran"
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch '{ran}'\ncat\n")
    trap.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"):
        (folder / ".git" / "hooks" / name).write_text(trap.read_text())
        (folder / ".git" / "hooks" / name).chmod(0o755)
    (tmp_path / "included").write_text(f'[diff "trap"]\ntextconv = "{trap}"\n')
    keys = {
        "core.fsmonitor": trap, "core.pager": trap, "pager.log": trap, "core.sshCommand": trap,
        "core.editor": trap, "diff.external": trap, "filter.trap.smudge": trap,
        "filter.trap.clean": trap, "diff.trap.command": trap, "include.path": "../../included",
        "alias.log": f"!{trap}", "alias.cat-file": f"!{trap}", "gpg.program": trap,
        "log.showSignature": "true", "core.alternateRefsCommand": trap,
        "uploadpack.packObjectsHook": trap, "extensions.partialClone": "origin",
        "remote.origin.promisor": "true", "remote.origin.url": f"ext::{trap}",
        "protocol.ext.allow": "always", "core.repositoryFormatVersion": "1",
    }  # fmt: skip
    for key, value in keys.items():
        git(folder, "config", "--file", ".git/config", key, str(value))
    for place in (".gitattributes", ".git/info/attributes"):
        (folder / place).parent.mkdir(exist_ok=True)
        (folder / place).write_text("* diff=trap filter=trap\n")
    (folder / ".gitmodules").write_text('[submodule "x"]\npath = x\nurl = -uext::sh\n')
    return folder


def test_nothing_of_a_hostile_repository_runs(hostile: Path, tmp_path: Path) -> None:
    assert asked(read(hostile)) == ["Add twice and half of a number"]
    assert not (tmp_path / "ran").exists()
    git(hostile, "-c", "safe.directory=*", "status")
    assert (tmp_path / "ran").exists(), "the traps are set"


def test_large_and_odd_histories_are_bounded_and_told(tmp_path: Path) -> None:
    def history() -> Iterator[tuple[bytes, Files]]:
        for number in range(300):
            text = f"def f(x):\n    return x + {number}\n"
            yield b"Add %d to what is given" % number, {"f.py": text}
        yield (
            b"Change all of the files",
            {f"g{n}.py": f"def g(x):\n    return {n}\n" for n in range(99)},
        )
        yield b"word " * 200_000, {"f.py": "def f(x):\n    return 1\n"}
        yield b"Large file with it", {"large.py": "def f(x):\n    return 1\n" + "#\n" * 600_000}
        yield (
            b"\x1b]0;title\x07\x1b[2J Clear \xff the screen\xe2\x80\xae",
            {"f.py": "def f(x):\n    pass\n"},
        )

    content = read(repository(tmp_path / "r", history()), commits=60, queries_at_most=30)
    first, *others = asked(content)
    assert first == "]0;title [2J Clear \N{REPLACEMENT CHARACTER} the screen"
    assert len(others) == 29
    assert content.dropped == {
        "commit that changes no function": 1,
        "subject of fewer than three words, or of more than 200 characters": 1,
        "commit that changes more than three functions": 1,
    }
    assert any("older than those looked at" in note for note in content.notes)


def test_a_shallow_history_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    history = [
        (b"Add twice and half of a number", {"n.py": TWO}),
        (b"Return whole numbers of the half", {"n.py": TWO.replace("x / 2", "x // 2")}),
    ]
    folder = repository(tmp_path / "r", iter(history))
    head = git(folder, "rev-parse", "HEAD")
    parent = git(folder, "rev-parse", "HEAD~1").strip()
    (folder / ".git" / "shallow").write_text(head)
    (folder / ".git" / "objects" / parent[:2] / parent[2:]).unlink()
    assert asked(read(folder)) == ["Return whole numbers of the half"]
    git(folder, "pack-refs", "--all")
    assert asked(read(folder)) == ["Return whole numbers of the half"]


def bare_text(folder: Path) -> None:
    (folder / ".git").rename(folder / "git")
    (folder / ".git").write_text("gitdir: /elsewhere/.git\n")


def linked(folder: Path) -> None:
    (folder / ".git" / "objects").rename(folder.parent / "objects")
    (folder / ".git" / "objects").symlink_to(folder.parent / "objects")


def borrowing(folder: Path) -> None:
    (folder / ".git" / "objects" / "info" / "alternates").write_text("/private/.git/objects\n")


def linked_pack(folder: Path) -> None:
    git(folder, "repack", "-adq")
    (folder / ".git" / "objects" / "pack").rename(folder.parent / "pack")
    (folder / ".git" / "objects" / "pack").symlink_to(folder.parent / "pack")


def piped(folder: Path) -> None:
    os.mkfifo(folder / ".git" / "objects" / "pack" / "pack-0.idx")


def unborn(folder: Path) -> None:
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/../../../../other\n")


def damaged(folder: Path) -> None:
    for file in (folder / ".git" / "objects").glob("??/*"):
        file.chmod(0o644)
        file.write_bytes(b"no object")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (bare_text, "has no git history of its own: give the folder that was cloned"),
        (linked, r"objects leads outside of the repository, or is no file: clone it anew"),
        (borrowing, r"alternates leads outside of the repository"),
        (linked_pack, r"pack leads outside of the repository"),
        (piped, r"pack-0\.idx leads outside of the repository, or is no file"),
        (unborn, r"names no commit that is checked out"),
        (damaged, r"cannot be read to its end: it is damaged"),
    ],
)
def test_what_is_no_history_is_refused_with_the_way_out(
    tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    folder = repository(tmp_path / "r", iter([(b"Add two of them", {"n.py": TWO})]))
    spoil(folder)
    with pytest.raises(SourceError, match=message):
        read(folder)
