"""A distribution whose metadata lead elsewhere: nothing of it runs, and nobody else is asked.

Covers ``wheels_only``, under this machine's own pip and an index of the test's own.
"""

import io
import json
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sandbox.packages import wheels_only

SCRIPT = Path(wheels_only.__file__).read_text("utf-8")


class Site:
    """A server of files that notes what it is asked for.

    Args:
        address: Where it listens.
    """

    def __init__(self, address: str = "127.0.0.1") -> None:
        self.files: dict[str, bytes] = {}
        self.moved: dict[str, str] = {}
        self.asked: list[str] = []
        self.connections = 0
        site = self

        class Handler(BaseHTTPRequestHandler):
            def setup(self) -> None:
                super().setup()
                site.connections += 1

            def do_GET(self) -> None:
                site.asked.append(self.path)
                content = site.files.get(self.path)
                moved = site.moved.get(self.path)
                self.send_response(302 if moved else 200 if content is not None else 404)
                if moved:
                    self.send_header("Location", moved)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

            do_HEAD = do_GET  # noqa: N815 - the library looks for it

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer((address, 0), Handler)
        self.place = f"{address}:{self.server.server_port}"
        self.url = f"http://{self.place}"

    def add(self, path: str, content: bytes) -> str:
        """Serve a file; return its address."""
        self.files[path] = content
        return self.url + path

    def list_wheel(self, name: str, *requires: str, address: str = "") -> None:
        """Offer a wheel on the index, at an address elsewhere where one is given."""
        file = f"{name}-1-py3-none-any.whl"
        self.add(f"/files/{file}", wheel(name, *requires))
        link = f'<a href="{address or f"/files/{file}"}">{file}</a>'
        self.add(f"/simple/{name}/", f"<!DOCTYPE html><html><body>{link}</body></html>".encode())


@contextmanager
def running(site: Site) -> Iterator[Site]:
    thread = threading.Thread(target=site.server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield site
    finally:
        site.server.shutdown()
        site.server.server_close()
        thread.join()


@pytest.fixture
def index() -> Iterator[Site]:
    with running(Site()) as site:
        yield site


@pytest.fixture
def stranger() -> Iterator[Site]:
    with running(Site()) as site:
        yield site


def wheel(name: str, *requires: str) -> bytes:
    """Return a wheel with one module."""
    info = f"{name}-1.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1"]
    lines += [f"Requires-Dist: {one}" for one in requires]
    files = {
        f"{name}.py": "",
        f"{info}/METADATA": "\n".join(lines) + "\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return content.getvalue()


def source_distribution(name: str, mark: Path) -> bytes:
    """Return a source distribution that leaves a mark when anything of it runs."""
    leave = f"open({str(mark)!r}, 'w').close()\n"
    backend = leave + (
        "def get_requires_for_build_wheel(*a): return []\n"
        "def prepare_metadata_for_build_wheel(*a): pass\n"
        "def build_wheel(*a): pass\n"
    )
    project = '[build-system]\nrequires = []\nbuild-backend = "own"\nbackend-path = ["."]\n'
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for file, text in {"own.py": backend, "setup.py": leave, "pyproject.toml": project}.items():
            entry = tarfile.TarInfo(f"{name}-1/{file}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return content.getvalue()


def install(folder: Path, name: str, *sites: Site) -> subprocess.CompletedProcess[str]:
    """Install as a container does, where requests to these sites are allowed."""
    options = [
        "install", "--target", str(folder / "there"), "--only-binary", ":all:", "--no-compile",
        "--no-input", "--cache-dir", str(folder / "cache"), "--disable-pip-version-check",
        "--retries", "0", "--index-url", f"{sites[0].url}/simple", "--", name,
    ]  # fmt: skip
    places = json.dumps([site.place for site in sites])
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PIP_CONFIG_FILE": "/dev/null"}
    return subprocess.run(
        [sys.executable, "-I", "-c", SCRIPT, places, *options],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip


def test_a_wheel_and_what_it_needs_are_installed(index: Site, tmp_path: Path) -> None:
    index.list_wheel("first", "second")
    index.list_wheel("second")
    done = install(tmp_path, "first", index)
    assert done.returncode == 0, done.stderr
    assert "Successfully installed first-1 second-1" in done.stdout


def demanded(kind: str, index: Site, stranger: Site, folder: Path) -> str:
    """Return what a wheel's metadata demand."""
    source = source_distribution("evil", folder / "ran")
    (folder / "evil-1.tar.gz").write_bytes(source)
    tree = folder / "evil"
    tree.mkdir()
    with tarfile.open(folder / "evil-1.tar.gz") as archive:
        archive.extractall(tree, filter="data")
    moving = index.url + "/moved/evil-1-py3-none-any.whl"
    index.moved["/moved/evil-1-py3-none-any.whl"] = f"{stranger.url}/evil-1-py3-none-any.whl"
    addresses = {
        "a source of a stranger": stranger.add("/evil-1.tar.gz", source),
        "a source of the index": index.add("/files/evil-1.tar.gz", source),
        "a source on this machine": (folder / "evil-1.tar.gz").as_uri(),
        "a tree on this machine": (tree / "evil-1").as_uri(),
        "a wheel of a stranger": stranger.add("/evil-1-py3-none-any.whl", wheel("evil")),
        "a wheel that moved to a stranger": moving,
        "a repository of a stranger": f"git+{stranger.url}/evil.git",
        "a repository on this machine": f"git+file://{tree / 'evil-1'}",
        "a name of a stranger with the index's in it": (
            f"http://{index.place}@127.0.0.1:{stranger.server.server_port}/evil-1-py3-none-any.whl"
        ),
    }
    return addresses[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "a source of a stranger", "a source of the index", "a source on this machine",
        "a tree on this machine", "a wheel of a stranger", "a wheel that moved to a stranger",
        "a repository of a stranger", "a repository on this machine",
        "a name of a stranger with the index's in it",
    ],
)  # fmt: skip
def test_an_address_in_metadata_runs_nothing_and_asks_nobody_else(
    index: Site, stranger: Site, tmp_path: Path, kind: str
) -> None:
    index.list_wheel("honest", f"evil @ {demanded(kind, index, stranger, tmp_path)}")
    done = install(tmp_path, "honest", index)
    assert done.returncode != 0, done.stdout
    assert any(line.startswith("ERROR: ") for line in done.stderr.splitlines()), done.stderr
    assert not (tmp_path / "ran").exists()
    assert stranger.asked == []
    assert not (tmp_path / "there" / "honest.py").exists()


def test_a_file_that_the_index_has_elsewhere_needs_a_host_that_was_named(
    index: Site, stranger: Site, tmp_path: Path
) -> None:
    elsewhere = stranger.add("/files/first-1-py3-none-any.whl", wheel("first"))
    index.list_wheel("first", address=elsewhere)
    refused = install(tmp_path, "first", index)
    assert "sandbox.index_hosts" in refused.stderr
    assert stranger.asked == []
    assert install(tmp_path, "first", index, stranger).returncode == 0


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("https://a.example/x", "a.example:443"),
        ("http://A.example/x", "a.example:80"),
        ("http://user:word@a.example:8/x", "a.example:8"),
        ("file:///x", ""),
        ("ftp://a.example/x", ""),
        ("http:///x", ""),
    ],
)
def test_a_place_is_a_host_and_a_port(address: str, place: str) -> None:
    assert wheels_only.place_of(address) == place
