"""This machine's pip in a process of its own, in which nothing of a distribution runs.

`sandbox.backends.docker.wheels` starts it. ``--only-binary`` lets pass what a distribution's own
metadata demand by address (``Requires-Dist: x @ http://...``): such an address could have pip build
a source distribution, which runs its code, take a file of this machine, or send a request to
wherever it likes. So no requirement may hold an address, every way in which pip runs code, which is
a process, is refused, and its session sends requests to the places of its own configuration alone.
The process ends at limits of time, memory and disk, and its files with it.
"""

import contextlib
import json
import os
import resource
import signal
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

_PORTS = {"http": 80, "https": 443}
_PROCESSES = frozenset(
    {"subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn"}
    | {"os.spawn", "pty.spawn"}
)
_MEMORY = 2**30  # bytes: an archive can claim that its metadata are as long as it likes
_SMALLEST = 4096  # bytes that a file or folder takes, however little is in it
_A_SCRIPT = 6  # bytes of an entry point, for which pip writes a file


def refuse_processes(event: str, _: object) -> None:
    """Be the interpreter's audit hook that refuses to start a process."""
    if event in _PROCESSES:
        raise PermissionError("only wheels are installed: nothing is built and no tool is run")


def place_of(url: str) -> str:
    """Return ``host:port`` of an address; "" where it is none of the web's."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        return ""
    return f"{parts.hostname}:{parts.port or _PORTS[parts.scheme]}"


def path_of(address: str) -> Path:
    """Return where a file is, by its path or its address."""
    parts = urlsplit(address)
    return Path(unquote(parts.path) if parts.scheme == "file" else address).resolve()


def refuse_addresses() -> None:
    """Let pip read requirements that are names with versions alone."""
    from pip._internal.exceptions import InstallationError  # noqa: PLC0415 - whatever pip there is
    from pip._vendor.packaging.requirements import Requirement  # noqa: PLC0415

    known: Any = Requirement
    make = known.__init__

    def make_without_address(requirement: Any, text: str) -> None:  # noqa: ANN401 - pip's
        make(requirement, text)
        if requirement.url:
            raise InstallationError(f"only wheels of the index are installed, and not {text}")

    known.__init__ = make_without_address


class Sources:
    """The hosts and folders of pip's configuration.

    A folder's own pages may name files beside it, as the pages of a mirror do (``simple`` beside
    ``packages``); nothing above the folder that holds both, nor where that is the root of all.

    Args:
        further: Other hosts, each ``host:port``.
    """

    def __init__(self, further: Sequence[str]) -> None:
        self._places = set(further)
        self._folders = set[Path]()
        self._named = set[Path]()

    def add(self, address: str, files_of: Mapping[str, str]) -> None:
        """Add an index or a folder; ``files_of`` names the host of an index's files."""
        host = str(urlsplit(address).hostname)
        if place := place_of(address):  # which may redirect to TLS whoever asks without
            self._places.update((place, f"{host}:443"))
        else:
            self._folders.add(path_of(address))
        if host in files_of:
            self._places.add(f"{files_of[host]}:443")

    def fault_of(self, url: str, page: object = "") -> str:
        """Return why an address may not be asked, "" where it may.

        A page of the web, or where it redirects to, may name any file of this machine.

        Args:
            url: The address.
            page: The page that names it; "" where none does or none is known, as of the request
                for a file that was allowed before.
        """
        if urlsplit(url).scheme != "file":
            place = place_of(url)
            if place in self._places:
                return ""
            return f"{place or 'an address'} is none of the package index's (sandbox.index_hosts)"
        path, origin = path_of(url), str(page)
        if not place_of(origin):
            mirrors = (one.parent for one in self._folders if path_of(origin).is_relative_to(one))
            around = chain(self._folders, (root for root in mirrors if root != root.parent))
            if path in self._named or any(map(path.is_relative_to, around)):
                self._named.add(path)
                return ""
        return f"{path} is no file of a folder in pip's configuration"


def refuse_strangers(sources: Sources, folder: Path, most: int) -> None:
    """Let pip, its redirections included, take from the sources of its configuration alone.

    Args:
        sources: The further sources, to which those of the configuration are added.
        folder: The folder of all that is fetched.
        most: Bytes that it may take.
    """
    from pip._internal.exceptions import InstallationError  # noqa: PLC0415
    from pip._internal.index.collector import LinkCollector  # noqa: PLC0415
    from pip._internal.models.index import PyPI  # noqa: PLC0415
    from pip._internal.network.session import PipSession  # noqa: PLC0415
    from pip._internal.operations import prepare  # noqa: PLC0415

    collecting: Any = LinkCollector
    asking: Any = PipSession
    preparing: Any = prepare
    make, send, take = collecting.__init__, asking.send, preparing.get_file_url

    def make_and_note(collector: Any, session: Any, search_scope: Any) -> None:  # noqa: ANN401 - pip's
        make(collector, session, search_scope)
        for address in (*search_scope.index_urls, *search_scope.find_links):
            sources.add(address, {PyPI.netloc: PyPI.file_storage_domain})

    def send_to_the_index(session: Any, request: Any, **options: Any) -> Any:  # noqa: ANN401 - pip's
        if fault := sources.fault_of(request.url):
            raise InstallationError(fault)
        response = send(session, request, **options)
        here = sum(path.lstat().st_size for path in folder.rglob("*"))
        if here + int(response.headers.get("Content-Length") or 0) > most:
            raise InstallationError(limit_message(most))
        return response

    def take_from_a_folder(link: Any, *others: Any, **options: Any) -> Any:  # noqa: ANN401 - pip's
        if fault := sources.fault_of(link.url, link.comes_from):
            raise InstallationError(fault)
        return take(link, *others, **options)

    collecting.__init__ = make_and_note
    asking.send = send_to_the_index
    preparing.get_file_url = take_from_a_folder


def allow_metadata(sources: Sources) -> None:
    """Let pip take the metadata beside a wheel that a page names, and the wheel after them."""
    from pip._internal.models.link import Link  # noqa: PLC0415

    linking: Any = Link
    find = linking.metadata_link

    def find_and_note(link: Any) -> Any:  # noqa: ANN401 - pip's, which forgets the page here
        metadata = find(link)
        page = link.comes_from
        is_refused = metadata and any(sources.fault_of(one.url, page) for one in (link, metadata))
        return None if is_refused else metadata

    linking.metadata_link = find_and_note


def limit_message(most: int) -> str:
    """Return the message for more bytes than there may be."""
    return f"limit: more than {most // 2**20} MB (sandbox.install_mb)"


def installed_size(wheels: Sequence[Path]) -> int:
    """Return the most bytes that wheels take once pip has installed them.

    A reader of archives takes no more of a file than the archive's list says.
    """
    size, folders = 0, set[PurePosixPath]()
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for entry in archive.infolist():
                size += max(entry.file_size, _SMALLEST)
                folders.update(PurePosixPath(wheel.name, entry.filename).parents)
                if entry.filename.endswith("entry_points.txt"):
                    size += entry.file_size // _A_SCRIPT * _SMALLEST
    return size + len(folders) * _SMALLEST


def prune(cache: Path, most: int) -> None:
    """Remove the files of a cache that were not used for longest, until it has ``most`` bytes."""
    with contextlib.suppress(FileNotFoundError):  # another process was first
        files = [(path.stat(), path) for path in cache.rglob("*") if path.is_file()]
        for state, path in sorted(files, key=lambda file: -max(file[0].st_atime, file[0].st_mtime)):
            most -= state.st_size
            if most < 0:
                path.unlink()


def download(wanted: Mapping[str, Any], folder: Path) -> int:
    """Let pip fetch what is wanted into a folder; return its exit status."""
    from pip._internal.cli.main import main as pip  # noqa: PLC0415
    from pip._vendor.packaging import markers  # noqa: PLC0415

    markers.default_environment = lambda: dict(wanted["markers"])  # pip has no option for these
    refuse_addresses()
    sources = Sources(wanted["places"])
    refuse_strangers(sources, folder, wanted["most"])
    allow_metadata(sources)
    sys.addaudithook(refuse_processes)
    options = [
        "--only-binary", ":all:", "--dest", str(folder / "wheels"), "--cache-dir", wanted["cache"],
        "--no-input", "--progress-bar", "off", "--retries", "1", "--timeout", "15",
        "--disable-pip-version-check", "--python-version", wanted["python"],
        "--implementation", wanted["implementation"],
    ]  # fmt: skip
    for platform in wanted["platforms"]:
        options += ["--platform", platform]
    with contextlib.redirect_stdout(sys.stderr):
        return pip(["download", *options, "--", *wanted["names"]])


def main() -> None:
    """Fetch what the argument wants; write an archive of the wheels to stdout, a log to stderr."""
    wanted = json.loads(sys.argv[1])
    for number in (signal.SIGALRM, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)  # which no ``except Exception`` stops
    signal.setitimer(signal.ITIMER_REAL, wanted["seconds"], 1)
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * wanted["most"],) * 2)
    prune(Path(wanted["cache"]), wanted["most_cached"])
    with tempfile.TemporaryDirectory(prefix="cosqa-wheels-") as name:
        tempfile.tempdir = name
        folder = Path(name)
        for new in ("wheels", "nothing"):
            (folder / new).mkdir()
        os.chdir(folder / "nothing")  # where no requirement is the name of a file
        try:
            status = download(wanted, folder)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)  # nothing cuts the removal of files short
        if status:
            sys.exit(status)
        wheels = sorted((folder / "wheels").iterdir())
        taken = installed_size(wheels)
        if taken > wanted["most"]:
            sys.exit(limit_message(wanted["most"]))
        with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as archive:
            archive.add(folder / "wheels", wanted["there"], filter=_world_writable)
    print(f"taken {taken}", file=sys.stderr)


def _world_writable(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mode = 0o777  # whoever installs them removes them
    return entry


if __name__ == "__main__":
    main()
