"""A distribution whose metadata lead elsewhere: nothing of it runs, and nobody else is asked.

Covers ``guarded_pip``, under this machine's own pip and an index of the test's own.
"""

import io
import json
import os
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.packages import guarded_pip
from sandbox.packages.guarded_pip import prune
from tests.fakes.package_index import Silent, Site, running, source_distribution, wheel

MEGABYTE = 2**20


@pytest.fixture
def stranger() -> Iterator[Site]:
    with running(Site()) as site:
        yield site


MARKERS = {
    "implementation_name": "cpython", "implementation_version": "3.11.2", "os_name": "posix",
    "platform_machine": "riscv", "platform_release": "", "platform_system": "Linux",
    "platform_version": "", "python_full_version": "3.11.2", "python_version": "3.11",
    "platform_python_implementation": "CPython", "sys_platform": "plan9",
}  # fmt: skip


def fetching(
    folder: Path,
    name: str,
    index: Site | str,
    *further: Site,
    find_links: str = "",
    **changes: object,
) -> "subprocess.Popen[bytes]":
    """Start what fetches a wheel, where requests to an index and further sites are allowed."""
    for new in ("here", "temporary"):
        (folder / new).mkdir(exist_ok=True)
    wanted = {
        "names": [name], "python": "3.11.2", "implementation": "cp", "markers": MARKERS,
        "platforms": ["plan9_riscv"], "places": [site.place for site in further],
        "cache": str(folder / "cache"), "most_cached": MEGABYTE, "most": 50 * MEGABYTE,
        "seconds": 60, "there": "there", **changes,
    }  # fmt: skip
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "PIP_CONFIG_FILE": os.devnull,
        "TMPDIR": str(folder / "temporary"), "PIP_FIND_LINKS": find_links,
        "PIP_INDEX_URL": index if isinstance(index, str) else f"{index.url}/simple",
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-I", guarded_pip.__file__, json.dumps(wanted)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=folder / "here",
    )  # fmt: skip


def fetch(
    folder: Path,
    name: str,
    index: Site | str,
    *further: Site,
    find_links: str = "",
    **changes: object,
) -> tuple[list[str], str]:
    """Return the wheels that are fetched, none where that fails, and what is said."""
    with fetching(folder, name, index, *further, find_links=find_links, **changes) as process:
        out, said = process.communicate(timeout=100)
    assert list((folder / "temporary").iterdir()) == []
    if process.returncode:
        return [], said.decode()
    with tarfile.open(fileobj=io.BytesIO(out)) as archive:
        return sorted(Path(one.name).name for one in archive if one.isfile()), said.decode()


def test_a_wheel_and_what_it_needs_are_fetched(index: Site, tmp_path: Path) -> None:
    index.list_wheel("first", "second")
    index.list_wheel("second")
    wheels, said = fetch(tmp_path, "first", index)
    assert wheels == ["first-1-py3-none-any.whl", "second-1-py3-none-any.whl"], said


def test_platform_and_markers_are_those_of_the_image(index: Site, tmp_path: Path) -> None:
    index.list_wheel("first", "ofit; sys_platform == 'plan9'", "ours; sys_platform == 'linux'")
    index.list_wheel("ofit", tags="cp311-cp311-plan9_riscv")
    wheels, said = fetch(tmp_path, "first", index)
    assert wheels == ["first-1-py3-none-any.whl", "ofit-1-cp311-cp311-plan9_riscv.whl"], said
    index.list_wheel("other", tags="cp311-cp311-manylinux1_x86_64")
    assert "No matching distribution" in fetch(tmp_path, "other", index)[1]


def demanded(kind: str, index: Site, stranger: Site, folder: Path) -> str:
    """Return what a wheel's metadata demand."""
    source = source_distribution("evil", folder / "ran")
    (folder / "evil-1.tar.gz").write_bytes(source)
    (folder / "evil-1-py3-none-any.whl").write_bytes(wheel("evil"))
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
        "a wheel of the index": index.add("/evil-1-py3-none-any.whl", wheel("evil")),
        "a wheel on this machine": (folder / "evil-1-py3-none-any.whl").as_uri(),
        "a wheel on this machine by its name": (
            f"file://localhost{folder}/evil-1-py3-none-any.whl"
        ),
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
        "a name of a stranger with the index's in it", "a wheel of the index",
        "a wheel on this machine", "a wheel on this machine by its name",
    ],
)  # fmt: skip
def test_an_address_in_metadata_runs_nothing_and_asks_nobody_else(
    index: Site, stranger: Site, tmp_path: Path, kind: str
) -> None:
    index.list_wheel("honest", f"evil @ {demanded(kind, index, stranger, tmp_path)}")
    wheels, said = fetch(tmp_path, "honest", index)
    assert wheels == []
    assert any(line.startswith("ERROR: ") for line in said.splitlines()), said
    assert not (tmp_path / "ran").exists()
    assert stranger.asked == []


@pytest.mark.parametrize("name", ["evil-1-py3-none-any.whl", "evil.zip", "evil.tar.gz", "evil"])
def test_a_file_or_folder_of_this_machine_is_no_distribution(
    index: Site, tmp_path: Path, name: str
) -> None:
    here = tmp_path / "here"
    (here / "evil").mkdir(parents=True)
    (here / "evil" / "setup.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    (here / "evil-1-py3-none-any.whl").write_bytes(wheel("evil"))
    for file in ("evil.zip", "evil.tar.gz"):
        (here / file).write_bytes(source_distribution("evil", tmp_path / "ran"))
    wheels, said = fetch(tmp_path, name, index)
    assert wheels == [], said
    assert "ERROR: " in said
    assert not (tmp_path / "ran").exists()


STARTING = {
    "subprocess": "import subprocess; subprocess.Popen([mark])",
    "system": "import os; os.system(mark)",
    "exec": "import os; os.execv(mark, [mark])",
    "fork": "import os; os.fork() or os._exit(7)",
    "spawn": "import os; os.posix_spawn(mark, [mark], {})",
    "terminal": "import pty; pty.spawn([mark])",
}


@pytest.mark.parametrize("way", STARTING)
def test_no_process_is_started(tmp_path: Path, way: str) -> None:
    mark = tmp_path / "leaves_a_mark"
    mark.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    mark.chmod(0o755)
    module = str(Path(guarded_pip.__file__).parent)
    script = (
        f"import sys; sys.path.append({module!r}); import guarded_pip\n"
        "sys.addaudithook(guarded_pip.refuse_processes)\n"
        f"mark = {str(mark)!r}\n{STARTING[way]}"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, check=False)
    assert done.returncode == 1
    assert b"nothing is built" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_a_source_distribution_of_the_index_is_not_built(index: Site, tmp_path: Path) -> None:
    index.add("/files/evil-1.tar.gz", source_distribution("evil", tmp_path / "ran"))
    index.add("/simple/evil/", b"<!DOCTYPE html><a href='/files/evil-1.tar.gz'>evil-1.tar.gz</a>")
    wheels, said = fetch(tmp_path, "evil", index)
    assert (wheels, "No matching distribution" in said) == ([], True), said
    assert not (tmp_path / "ran").exists()


def test_a_file_that_the_index_has_elsewhere_needs_a_host_that_was_named(
    index: Site, stranger: Site, tmp_path: Path
) -> None:
    elsewhere = stranger.add("/files/first-1-py3-none-any.whl", wheel("first"))
    index.list_wheel("first", address=elsewhere)
    assert "sandbox.index_hosts" in fetch(tmp_path, "first", index)[1]
    assert stranger.asked == []
    assert fetch(tmp_path, "first", index, stranger)[0] == ["first-1-py3-none-any.whl"]


@pytest.mark.parametrize("way", ["path", "address"])
def test_a_file_of_this_machine_comes_from_a_configured_folder_alone(
    index: Site, tmp_path: Path, way: str
) -> None:
    mine, outside = tmp_path / "mine", tmp_path / "outside"
    for folder, name in ((mine, "first"), (mine, "page"), (outside, "second"), (outside, "third")):
        folder.mkdir(exist_ok=True)
        (folder / f"{name}-1-py3-none-any.whl").write_bytes(wheel(name))
    (mine / "third-1-py3-none-any.whl").symlink_to(outside / "third-1-py3-none-any.whl")
    index.list_wheel("second", address=(outside / "second-1-py3-none-any.whl").as_uri())
    index.list_wheel("page", address=f"{mine.as_uri()}/../mine/page-1-py3-none-any.whl")
    moved = index.url + "/files/moved-1-py3-none-any.whl"
    index.list_wheel("moved", address=moved)
    index.moved["/files/moved-1-py3-none-any.whl"] = (
        outside / "second-1-py3-none-any.whl"
    ).as_uri()
    find_links = str(mine) if way == "path" else mine.as_uri()
    took = {
        name: fetch(tmp_path, name, index, find_links=find_links)
        for name in ("first", "second", "third", "moved")
    }
    assert took["first"][0] == ["first-1-py3-none-any.whl"], took["first"][1]
    for name in ("second", "third", "moved"):
        assert took[name][0] == [], name
        assert "in pip's configuration" in took[name][1]
    assert "in pip's configuration" in fetch(tmp_path, "page", index)[1]


def add_to_mirror(simple: Path, name: str, link: str, file: Path) -> None:
    """Write a wheel and its metadata, and the page of an index that names it by a link."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(wheel(name))
    with zipfile.ZipFile(file) as archive:
        metadata = archive.read(f"{name}-1.dist-info/METADATA")
    file.with_name(f"{file.name}.metadata").write_bytes(metadata)
    (simple / name).mkdir(parents=True, exist_ok=True)
    page = f"<!DOCTYPE html><a href='{link}' data-dist-info-metadata='true'>{file.name}</a>"
    (simple / name / "index.html").write_text(page)


@pytest.mark.parametrize(
    ("link", "file", "is_taken"),
    [
        ("../../packages/a/first-1-py3-none-any.whl", "mirror/packages/a", True),
        ("../../simple/first/first-1-py3-none-any.whl", "mirror/simple/first", True),
        ("../../../outside/first-1-py3-none-any.whl", "outside", False),
        ("../../packages/../../outside/first-1-py3-none-any.whl", "outside", False),
        ("../../packages/%2e%2e/%2e%2e/outside/first-1-py3-none-any.whl", "outside", False),
        ("../../link/first-1-py3-none-any.whl", "outside", False),
    ],
)
def test_pages_of_a_mirror_name_the_files_of_that_mirror_alone(
    tmp_path: Path, link: str, file: str, is_taken: bool
) -> None:
    name = "first-1-py3-none-any.whl"
    simple = tmp_path / "mirror" / "simple"
    add_to_mirror(simple, "first", link, tmp_path / file / name)
    (tmp_path / "mirror" / "link").symlink_to(tmp_path / "outside")
    wheels, said = fetch(tmp_path, "first", simple.as_uri())
    assert wheels == ([name] if is_taken else []), said
    assert is_taken or "in pip's configuration" in said


def test_a_page_of_the_web_names_no_file_of_a_mirror(index: Site, tmp_path: Path) -> None:
    file = tmp_path / "mirror" / "packages" / "first-1-py3-none-any.whl"
    add_to_mirror(tmp_path / "mirror" / "simple", "second", "x", file)
    index.list_wheel("first", address=file.as_uri())
    mirror = (tmp_path / "mirror" / "simple").as_uri()
    wheels, said = fetch(tmp_path, "first", index, find_links=mirror)
    assert (wheels, "in pip's configuration" in said) == ([], True), said


LARGE = {
    "one file": {"big": "0" * 3 * MEGABYTE},
    "small files": {f"small{number}": "" for number in range(500)},
    "folders": {f"{'d/' * 100}{number}/{'e/' * 100}f": "" for number in range(5)},
    "scripts": {
        "large-1.dist-info/entry_points.txt": "[console_scripts]\n"
        + "\n".join(f"s{number}=a:b" for number in range(500))
    },
}


@pytest.mark.parametrize("kind", LARGE)
def test_more_than_the_limit_is_not_installed(index: Site, tmp_path: Path, kind: str) -> None:
    index.list_wheel("large", files=LARGE[kind])
    wheels, said = fetch(tmp_path, "large", index, most=MEGABYTE)
    assert (wheels, said.splitlines()[-1]) == ([], "limit: more than 1 MB (sandbox.install_mb)")


def test_more_than_the_limit_is_not_fetched(index: Site, tmp_path: Path) -> None:
    noise = os.urandom(MEGABYTE).hex()
    index.list_wheel("first", "second", "third", files={"x": noise})
    for name in ("second", "third"):
        index.list_wheel(name, files={"x": noise})
    wheels, said = fetch(tmp_path, "first", index, most=5 * MEGABYTE // 2)
    assert wheels == []
    assert "ERROR: limit: more than 2 MB (sandbox.install_mb)" in said.splitlines()
    assert "/files/third-1-py3-none-any.whl" in index.asked


def test_metadata_without_end_take_no_more_than_their_process_may(
    index: Site, tmp_path: Path
) -> None:
    content = io.BytesIO()
    with (
        zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("large-1.dist-info/WHEEL", "w") as metadata,
    ):
        for _ in range(1100):
            metadata.write(bytes(MEGABYTE))
    index.list_wheel("large")
    index.add("/files/large-1-py3-none-any.whl", content.getvalue())
    wheels, said = fetch(tmp_path, "large", index)
    assert (wheels, "MemoryError" in said) == ([], True), said[-500:]


@pytest.mark.parametrize("how", ["its own time", "its caller"])
def test_what_is_ended_leaves_nothing(tmp_path: Path, how: str) -> None:
    with running(Silent()) as index:
        with fetching(tmp_path, "x", index, seconds=3 if how == "its own time" else 60) as process:
            while not index.connections and process.poll() is None:  # a busy machine: its time
                threading.Event().wait(0.05)
            if how == "its caller":
                assert list((tmp_path / "temporary").iterdir())
                process.terminate()
            assert process.wait(60)
            process.communicate()
        index.over.set()
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_cache_keeps_what_was_used_last(tmp_path: Path) -> None:
    for age, name in enumerate(("new", "old", "older")):
        (tmp_path / name).write_bytes(bytes(MEGABYTE))
        os.utime(tmp_path / name, (1_000_000 - age, 1_000_000 - age))
    prune(tmp_path, 2 * MEGABYTE)
    assert {file.name for file in tmp_path.iterdir()} == {"new", "old"}
    prune(tmp_path, 0)
    assert list(tmp_path.iterdir()) == []


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
    assert guarded_pip.place_of(address) == place
