"""The images that boxes start from: one for each language, and from it one for each user number.

The sandbox's image is Python's. Another language's (`sandbox.executed`) is made where its first box
is: from the sandbox's image and Debian's packages, by ``sandbox/image/LANGUAGE.Dockerfile``.

The kernel counts some of what a user takes over all containers together: inotify instances, pages
of pipes, queued signals, descriptors on their way through sockets. Boxes of one number would take
these from each other, so each has its own. What a program asks about its user is the same in every
box but for the number itself: name and home by number, and number by name. So a box starts from an
image of its number, which is its language's with one line of ``/etc/passwd`` changed. It is made
where there is none (a third of a second, a kilobyte), never started, and named by the image that it
was made from.
"""

import contextlib
import io
import logging
import re
import tarfile
import threading
from collections.abc import Mapping
from pathlib import Path

import requests
from docker.client import DockerClient
from docker.errors import APIError, BuildError, ImageNotFound

from infra.errors import SandboxError
from infra.identity import digest
from sandbox.backends.docker.connection import translate_errors
from sandbox.executed import EXECUTED

_log = logging.getLogger(__name__)

IMAGE_USER = 10_001  # of containers that run nothing of a program: they install, or keep a network
GROUP = IMAGE_USER
_SANDBOX = Path(__file__).parents[2]
_USER_REPOSITORY = "cosqa-sandbox-user"
_LANGUAGE_REPOSITORY = "cosqa-sandbox-{}"
_USER_TABLE = "/etc/passwd"
_USER_LINE = re.compile(rf"^([^:\n]*:[^:\n]*):{IMAGE_USER}:", re.MULTILINE)
_SHORT_ID = slice(len("sha256:"), len("sha256:") + 12)
_LONGEST_LOG = 1_000  # characters, from the end of the log of a build
_building = threading.Lock()


class BoxImages:
    """The images of boxes on one engine, in blocking calls; threads may share it.

    Args:
        client: The engine's client.
        base: The sandbox's image.
        labels: What the containers are labelled with of which images are made.
    """

    def __init__(self, client: DockerClient, base: str, labels: Mapping[str, str]) -> None:
        self._client = client
        self._base = base
        self._labels = dict(labels)

    def user_image(self, number: int, language: str = "python") -> str:
        """Return the name of the image for boxes of a user number, made where there is none.

        Args:
            number: The user's.
            language: The language of the box.

        Raises:
            ImageMissingError: The sandbox's image is missing; the message says what to do.
            SandboxError: The language's could not be made, as without an archive of Debian's
                packages.
        """
        with translate_errors():
            image = str(self._client.images.get(self.language_image(language)).id)
            tag = f"{image[_SHORT_ID]}-{number}"
            name = f"{_USER_REPOSITORY}:{tag}"
            with contextlib.suppress(ImageNotFound):
                self._client.images.get(name)
                return name
            container = self._client.containers.create(image, labels=self._labels)
            try:
                chunks, _ = container.get_archive(_USER_TABLE)
                with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
                    [entry] = archive
                    file = archive.extractfile(entry)
                    text = file.read().decode(errors="surrogateescape") if file else ""
                changed = _USER_LINE.sub(rf"\g<1>:{number}:", text)
                container.put_archive("/etc", _archive({entry: changed}))
                container.commit(_USER_REPOSITORY, tag)
            finally:
                container.remove(force=True)
        return name

    def remove_all(self) -> int:
        """Remove all that no container uses, and those of languages; return how many."""
        languages = [_LANGUAGE_REPOSITORY.format(name) for name in EXECUTED if name != "python"]
        named = {"reference": [f"{name}:*" for name in (_USER_REPOSITORY, *languages)]}
        removed = 0
        with translate_errors():
            images = self._client.images.list(filters=named)
            for tag in (tag for image in images for tag in image.tags):
                try:
                    self._client.images.remove(tag, noprune=True)
                    removed += 1
                except ImageNotFound:
                    pass
                except APIError as error:
                    if error.status_code != requests.codes.conflict:  # a container uses it
                        raise
        return removed

    def language_image(self, language: str) -> str:
        """Return the name of a language's image, made where it is missing.

        Raises:
            ImageNotFound: The sandbox's image is missing.
            SandboxError: As of `user_image`.
        """
        if language == "python":
            return self._base
        base = str(self._client.images.get(self._base).id)
        text = (_SANDBOX / "image" / f"{language}.Dockerfile").read_text("utf-8")
        files = {"Dockerfile": text.replace("${BASE}", base)}
        folder = _SANDBOX / "inside" / language
        for file in sorted(folder.rglob("*.*")):
            files[file.relative_to(folder.parent).as_posix()] = file.read_text("utf-8")
        name = f"{_LANGUAGE_REPOSITORY.format(language)}:{digest(*files.values())[:12]}"
        with _building:
            try:
                self._client.images.get(name)
            except ImageNotFound:
                self._build(language, name, files)
        return name

    def _build(self, language: str, name: str, files: Mapping[str, str]) -> None:
        _log.info("making the image of boxes for %s, once, from Debian's packages", language)
        label = {"cosqa.language": language}
        packed = _archive({tarfile.TarInfo(file): text for file, text in files.items()})
        try:
            self._client.images.build(
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
        self._client.images.prune(filters=old)


def _archive(files: Mapping[tarfile.TarInfo, str]) -> io.BytesIO:
    """Return an archive of files, by their entries in it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for entry, text in files.items():
            content = text.encode(errors="surrogateescape")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    packed.seek(0)
    return packed
