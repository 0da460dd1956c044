"""A package index of a test's own, and what it may offer."""

import io
import os
import tarfile
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeVar

import pytest

AnySite = TypeVar("AnySite", bound="Site")


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
                self.send_header("Cache-Control", "max-age=600")
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

    def list_wheel(
        self,
        name: str,
        *requires: str,
        address: str = "",
        tags: str = "py3-none-any",
        version: str = "1",
        files: Mapping[str, str] = {},
    ) -> None:
        """Offer a wheel on the index, at an address elsewhere where one is given."""
        module = name.replace("-", "_")
        file = f"{module}-{version}-{tags}.whl"
        self.add(f"/files/{file}", wheel(module, *requires, version=version, files=files))
        link = f'<a href="{address or f"/files/{file}"}">{file}</a>'
        self.add(f"/simple/{name}/", f"<!DOCTYPE html><html><body>{link}</body></html>".encode())


class Silent(Site):
    """A site that answers nothing until it is over."""

    def __init__(self) -> None:
        super().__init__()
        self.over = threading.Event()
        silent = self

        class Handler(BaseHTTPRequestHandler):
            def handle(self) -> None:
                silent.connections += 1
                silent.over.wait()

        self.server.RequestHandlerClass = Handler


@contextmanager
def running(site: AnySite) -> Iterator[AnySite]:
    thread = threading.Thread(target=site.server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield site
    finally:
        site.server.shutdown()
        site.server.server_close()
        thread.join()


def wheel(name: str, *requires: str, version: str = "1", files: Mapping[str, str] = {}) -> bytes:
    """Return a wheel with one module, and further files."""
    info = f"{name}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {one}" for one in requires]
    whole = {
        f"{name}.py": "",
        f"{info}/METADATA": "\n".join(lines) + "\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
        **files,
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in whole.items():
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


def asked_of(site: Site, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let this machine's pip use an index, and keep what it needs meanwhile in a folder."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://user:word-of-mouth@{site.place}/simple")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    assert tempfile.gettempdir()  # which this process keeps
    (folder / "temporary").mkdir(exist_ok=True)
    monkeypatch.setenv("TMPDIR", str(folder / "temporary"))
