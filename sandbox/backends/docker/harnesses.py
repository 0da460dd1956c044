"""Images of the languages other than Python that boxes run (`sandbox.executed`).

An image is made where its first box is: from the sandbox's image and Debian's packages, by
``sandbox/image/LANGUAGE.Dockerfile``.
"""

import io
import logging
import tarfile
import threading
from collections.abc import Mapping
from pathlib import Path

from docker.client import DockerClient
from docker.errors import BuildError, ImageNotFound

from infra.errors import SandboxError
from infra.identity import digest
from sandbox.executed import EXECUTED

_log = logging.getLogger(__name__)

_LONGEST_LOG = 1_000  # characters, from the end of the log of a build
_SANDBOX = Path(__file__).parents[2]
_building = threading.Lock()
# What matches the names of the images of all languages but Python.
REFERENCES = [f"cosqa-sandbox-{language}:*" for language in EXECUTED if language != "python"]


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
    if language == "python":
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
