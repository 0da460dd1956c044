"""The history of a git repository that may be a stranger's: nothing of it runs.

Only its objects are read, by a git whose repository is an empty one of our own: it never looks at a
configuration, hook, attribute, filter, pager, replacement, submodule or remote of the stranger's.
The name of the newest commit is read here, as text. All output is a stream with bounds.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Timer
from typing import IO, NamedTuple, Self, cast

from infra.errors import SourceError
from infra.files import leads_outside
from tasks.inputs.text import printable, regular

_SECONDS = 600.0
_LARGEST = 1_000_000  # bytes of a file that is read, as of source files
_MOST_FILES = 20  # of a commit; one with more is told by their number alone
_LONGEST_SUBJECT = 400
_TOKEN = 1 << 20
_CHUNK = 1 << 16
_FILES = ("100644", "100755")
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REF = re.compile(r"refs/(?!.*\.\.)[^\x00-\x20~^:?*\[\\\x7f]+")
_OPTIONS = (
    *("core.commitGraph=false", "core.multiPackIndex=false", "core.fsmonitor=false"),
    *("core.hooksPath=/dev/null", "core.attributesFile=/dev/null", "core.bigFileThreshold=1m"),
)
_LOG = (
    *("log", "--no-merges", "--raw", "--no-abbrev", "--no-renames", "--no-textconv"),
    *("--no-ext-diff", "--no-show-signature", "--no-notes", "--no-color", "--encoding=UTF-8", "-z"),
    f"--format=%H%x00%<({_LONGEST_SUBJECT},trunc)%s",
)


class FileChange(NamedTuple):
    """A file that a commit changed: its path, and ids of its text before and after, "" of none."""

    path: str
    before: str
    after: str


class Commit(NamedTuple):
    """A commit that is no merge.

    Attributes:
        identity: Its id.
        subject: Its first line; what is beyond 400 characters is cut off.
        files: How many files it changed.
        changes: The first ones of them.
    """

    identity: str
    subject: str
    files: int
    changes: Sequence[FileChange]


class GitHistory:
    """The commits of the repository of a folder, newest first, and the texts that they changed.

    Raises:
        SourceError: There is no repository, or it is a linked one, or has no commit.
    """

    def __init__(self, folder: Path) -> None:
        whole = folder.resolve()
        root = next((at for at in (whole, *whole.parents) if (at / ".git").exists()), whole)
        self._git = root / ".git"
        self.below = whole.relative_to(root).as_posix()
        if not self._git.is_dir() or leads_outside(self._git, root):
            raise SourceError(
                f"{printable(folder)} has no git history of its own: give the folder that was "
                "cloned (of a linked working tree, that of its repository)"
            )
        # No objects of another place: they may be a private repository's, whose commit is named.
        borrowed = self._git / "objects" / "info" / "alternates"
        for path in self._paths():
            is_odd = path == borrowed or not (path.is_dir() or path.is_file())
            is_outside = path.is_symlink() and leads_outside(path, self._git.parent)
            if is_outside or (is_odd and path.exists()):
                raise SourceError(
                    f"{printable(path)} leads outside of the repository, or is no file: clone it "
                    "anew, without --shared or --reference"
                )
        head = self._text("HEAD").removeprefix("ref:").strip()
        if _REF.fullmatch(head) and not leads_outside(self._git / head, self._git.parent):
            loose = self._text(head).strip()
            packed = re.findall(rf"(?m)^([0-9a-f]+) {re.escape(head)}$", self._text("packed-refs"))
            head = loose or "".join(packed[:1])
        if not _ID.fullmatch(head):
            raise SourceError(f"{printable(self._git)} names no commit that is checked out")
        self.head = head

    def _paths(self) -> Iterator[Path]:
        """Yield all that is read, missing or not."""
        for name in ("HEAD", "packed-refs", "shallow", "refs", "objects"):
            yield self._git / name
            yield from (self._git / name).rglob("*")

    def _text(self, name: str) -> str:
        file = self._git / name
        if not file.is_file():
            return ""
        with regular(file).open("rb") as stream:
            return stream.read(_TOKEN * 16).decode("utf-8", "replace")

    @property
    def files(self) -> list[Path]:
        """All files that are read."""
        return sorted(path for path in self._paths() if path.is_file())

    @contextmanager
    def opened(self) -> Iterator["OpenHistory"]:
        """Yield a reader of commits and texts, which ends after ten minutes."""
        with ExitStack() as stack:
            own = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cosqa-git-")))
            (own / "refs").mkdir()
            (own / "HEAD").write_text("ref: refs/heads/none\n")
            shallow = [name for name in self._text("shallow").split() if _ID.fullmatch(name)]
            if shallow:
                (own / "shallow").write_text("".join(f"{name}\n" for name in shallow))
            if len(self.head) > 40:
                version = "[core]\nrepositoryformatversion = 1\n"
                (own / "config").write_text(f"{version}[extensions]\nobjectformat = sha256\n")
            yield stack.enter_context(OpenHistory(own, self._git / "objects", self.head))


class OpenHistory:
    """Two processes of git over objects: one lists commits, the other gives texts."""

    def __init__(self, own: Path, objects: Path, head: str) -> None:
        environment = {
            "PATH": os.environ.get("PATH", os.defpath), "HOME": str(own), "LC_ALL": "C.UTF-8",
            "GIT_DIR": str(own), "GIT_OBJECT_DIRECTORY": str(objects),
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0",
        }  # fmt: skip
        settings = [word for option in _OPTIONS for word in ("-c", option)]

        def start(*words: str) -> subprocess.Popen[bytes]:
            try:
                return subprocess.Popen(  # noqa: S603 - no shell, no word of the repository's
                    ["git", *settings, "--no-pager", *words], env=environment, cwd=own,  # noqa: S607
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                )  # fmt: skip
            except FileNotFoundError:
                raise SourceError("git is not installed: install it to read a history") from None

        self._place = objects.parent.parent
        self._log = start(*_LOG, "--end-of-options", head, "--")
        self._texts = start("cat-file", "--batch")
        self._timer = Timer(_SECONDS, self._end)

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._end()
        for process in (self._log, self._texts):
            process.communicate()

    def _end(self) -> None:
        for process in (self._log, self._texts):
            process.kill()

    def commits(self) -> Iterator[Commit]:
        """Yield the commits, newest first.

        Raises:
            SourceError: The history is damaged, or is not read in time.
        """
        tokens, found = _tokens(cast("IO[bytes]", self._log.stdout)), False
        identity, subject, files, changes = "", "", 0, list[FileChange]()
        for token in tokens:
            if token.startswith(":"):
                path, files = next(tokens, ""), files + 1
                _, mode, before, after, _ = token.split(" ", 4)
                if len(changes) < _MOST_FILES and mode in _FILES:
                    changes.append(FileChange(path, before.strip("0") and before, after))
            elif _ID.fullmatch(token):
                if identity:
                    yield Commit(identity, subject, files, changes)
                identity, subject, files, changes = token, next(tokens, "").strip(), 0, []
                found = True
        if self._log.wait() or not found:
            raise SourceError(
                f"the git history of {printable(self._place)} cannot be read to its end: it is "
                f"damaged, or too large to read in {_SECONDS:.0f} s: clone it anew, or give --set "
                "source.commits.commits=N"
            )
        yield Commit(identity, subject, files, changes)

    def text(self, identity: str) -> bytes | None:
        """Return a file's text by its id, None of one that is large or not there."""
        asked, given = cast("IO[bytes]", self._texts.stdin), cast("IO[bytes]", self._texts.stdout)
        try:
            asked.write(f"{identity}\n".encode())
            asked.flush()
        except BrokenPipeError:
            return None
        _, _, rest = given.readline(_TOKEN).partition(b" blob ")
        if not rest.strip().isdigit():
            return None
        size = int(rest)
        if size <= _LARGEST:
            return given.read(size + 1)[:size]
        while size >= 0 and (part := given.read(min(_CHUNK, size + 1))):
            size -= len(part)
        return None


def _tokens(stream: IO[bytes]) -> Iterator[str]:
    """Yield the tokens between NULs, without leading line feeds."""
    rest = b""
    while part := stream.read1(_CHUNK):  # type: ignore[attr-defined]
        *whole, rest = (rest + part).split(b"\0")
        for token in whole:
            yield token.decode("utf-8", "replace").lstrip("\n")
        if len(rest) > _TOKEN:
            raise SourceError("the git history has a name of more than 1 MiB: it is none to read")
    if rest:
        yield rest.decode("utf-8", "replace").lstrip("\n")
