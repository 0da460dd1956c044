"""Languages other than Python that boxes run: an image and a harness for each.

An image is made where its first box is: from the sandbox's image and Debian's packages, by
``sandbox/image/LANGUAGE.Dockerfile``, which finds the folder ``sandbox/inside/LANGUAGE`` where
there is one. To add a language, write that file, a harness in ``sandbox/inside``, and a line in
`_COMMANDS`.
"""

import io
import logging
import tarfile
import threading
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from docker.client import DockerClient
from docker.errors import BuildError, ImageNotFound

from infra.errors import SandboxError
from infra.identity import digest

_log = logging.getLogger(__name__)

_LONGEST_LOG = 1_000  # characters, from the end of the log of a build
_SANDBOX = Path(__file__).parents[2]
_building = threading.Lock()


def _node(seed: int, memory_mb: int) -> list[str]:
    # A heap as large as the box: what exceeds its memory is stopped by the kernel, which counts it.
    flags = (f"--random-seed={seed + 1}", f"--hash-seed={seed + 1}", "--v8-pool-size=1")
    return ["node", *flags, f"--max-old-space-size={memory_mb}", "-e", _source("javascript.js")]


_COMMANDS: dict[str, Callable[[int, int], list[str]]] = {
    "go": lambda *_: ["/opt/go/harness"],  # which the image has: compiled, and nobody can read it
    "javascript": _node,
}
COMPILED = ("go",)  # those whose harness makes executables
# What matches the names of the images of all languages but Python.
REFERENCES = [f"cosqa-sandbox-{language}:*" for language in _COMMANDS]


def harness_of(language: str, seed: int, memory_mb: int) -> list[str]:
    """Return the command line of a language's harness, () for Python.

    Args:
        language: Its registered name.
        seed: Seed of its random numbers and hashes.
        memory_mb: Memory of the box.
    """
    return _COMMANDS[language](seed, memory_mb) if language in _COMMANDS else []


def image_of(language: str, client: DockerClient, base: str) -> str:
    """Return the name of a language's image, made where it is missing.

    Args:
        language: Its registered name.
        client: The engine's client.
        base: The sandbox's image, which is Python's.

    Raises:
        ImageNotFound: The sandbox's image is missing.
        SandboxError: The language's could not be made, as without an archive of Debian's packages.
    """
    if language not in _COMMANDS:
        return base
    identifier = str(client.images.get(base).id)
    text = (_SANDBOX / "image" / f"{language}.Dockerfile").read_text("utf-8")
    files = {"Dockerfile": text.replace("${BASE}", identifier)}
    folder = _SANDBOX / "inside" / language
    for file in sorted(folder.rglob("*.*")):
        files[file.relative_to(folder.parent).as_posix()] = file.read_text("utf-8")
    name = f"cosqa-sandbox-{language}:{digest(*files.values())[:12]}"
    with _building:
        try:
            client.images.get(name)
        except ImageNotFound:
            _log.info("making the image of boxes for %s, once, from Debian's packages", language)
            label = {"cosqa.language": language}
            packed = _packed(files)
            try:
                client.images.build(
                    fileobj=packed, custom_context=True, tag=name, rm=True, labels=label
                )
            except BuildError as error:
                log = "".join(str(line.get("stream", "")) for line in error.build_log)
                message = (
                    f"the image of boxes for {language} could not be made: {error}\n"
                    f"{log[-_LONGEST_LOG:]}\n"
                    "It needs Debian's archive from within the engine, once: give the engine a way "
                    "there (its proxy or mirror), or make the image where there is one and load it "
                    f"here by `docker load`, as {name}. Code in {language} waits until then."
                )
                raise SandboxError(message) from error
            # Those before it, once no container has them; another checkout's of today stay.
            old = {"dangling": False, "until": "24h", "label": f"cosqa.language={language}"}
            client.images.prune(filters=old)
    return name


def _packed(files: Mapping[str, str]) -> io.BytesIO:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in files.items():
            content, entry = text.encode(), tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    packed.seek(0)
    return packed


@cache
def _source(name: str) -> str:
    return (_SANDBOX / "inside" / name).read_text("utf-8")
