"""Languages beside Python that boxes run: an image for each, and the command line of its harness.

An image is made where its first box is: from the sandbox's image and Debian's packages, by
``sandbox/image/LANGUAGE.Dockerfile``. To add a language, write that file, a harness in
``sandbox/inside``, and a line in `_COMMANDS`.
"""

import io
import logging
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path

from docker.client import DockerClient
from docker.errors import BuildError, ImageNotFound

from infra.errors import SandboxError
from infra.identity import mark

_log = logging.getLogger(__name__)

_SANDBOX = Path(__file__).parents[2]
_building = threading.Lock()


def _node(seed: int, memory_mb: int) -> list[str]:
    # A heap as large as the box: what exceeds its memory is stopped by the kernel, which tells so.
    flags = (f"--random-seed={seed + 1}", f"--hash-seed={seed + 1}", "--v8-pool-size=1")
    return ["node", *flags, f"--max-old-space-size={memory_mb}", "-e", _source("javascript.js")]


_COMMANDS: dict[str, Callable[[int, int], list[str]]] = {"javascript": _node}


def has_box(language: str) -> bool:
    """Return whether boxes run programs of a language."""
    return language == "python" or language in _COMMANDS


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
    text = text.replace("${BASE}", identifier)
    name = f"cosqa-sandbox-{language}:{mark(text)[:12]}"
    with _building:
        try:
            client.images.get(name)
        except ImageNotFound:
            _log.info("making the image of boxes for %s, once, from Debian's packages", language)
            try:
                client.images.build(fileobj=io.BytesIO(text.encode()), tag=name, rm=True)
            except BuildError as error:
                message = f"the image of boxes for {language} could not be made: {error}"
                raise SandboxError(message) from error
    return name


@cache
def _source(name: str) -> str:
    return (_SANDBOX / "inside" / name).read_text("utf-8")
