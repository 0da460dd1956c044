"""A user number for each box that exists, under the one name of the image's user.

The kernel counts some of what a user takes over all containers together: inotify instances, pages
of pipes, queued signals, descriptors on their way through sockets. Boxes of one number would take
these from each other. What a program asks about its user is the same in every box but for the
number itself: name and home by number, and number by name.

So a box starts from an image of its number, which is the sandbox's with one line of
``/etc/passwd`` changed. It is made where there is none (a third of a second, a kilobyte), never
started, and named by the image that it was made from.
"""

import contextlib
import io
import re
import tarfile
from collections.abc import Mapping

import requests
from docker.client import DockerClient
from docker.errors import APIError, ImageNotFound

from sandbox.backends.docker.connection import translated
from sandbox.backends.docker.harnesses import REFERENCES, image_of

IMAGE_USER = 10_001  # of containers that run nothing of a program: they install, or keep a network
GROUP = IMAGE_USER
MOST = 4096  # boxes on a machine; far more than it holds
_REPOSITORY = "cosqa-sandbox-user"
_FILE = "/etc/passwd"
_LINE = re.compile(rf"^([^:\n]*:[^:\n]*):{IMAGE_USER}:", re.MULTILINE)
_SHORT_ID = slice(len("sha256:"), len("sha256:") + 12)


def number_of(place: int) -> int:
    """Return the user number of a box, from the box's place among all on the machine."""
    return IMAGE_USER + 1 + place


class UserImages:
    """The images of user numbers on one engine, in blocking calls; threads may share it.

    Args:
        client: The engine's client.
        image: The sandbox's image.
        labels: What containers and images are labelled with.
    """

    def __init__(self, client: DockerClient, image: str, labels: Mapping[str, str]) -> None:
        self._client = client
        self._image = image
        self._labels = dict(labels)

    def of(self, number: int, language: str = "python") -> str:
        """Return the name of the image for boxes of a number, made where there is none.

        Args:
            number: The user's.
            language: The language of the box.

        Raises:
            ImageMissingError: The sandbox's image is missing; the message says what to do.
        """
        with translated():
            image = image_of(language, self._client, self._image)
            base = str(self._client.images.get(image).id)
            tag = f"{base[_SHORT_ID]}-{number}"
            with contextlib.suppress(ImageNotFound):
                self._client.images.get(f"{_REPOSITORY}:{tag}")
                return f"{_REPOSITORY}:{tag}"
            self._make(base, number, tag)
        return f"{_REPOSITORY}:{tag}"

    def remove_all(self) -> int:
        """Remove all that no container uses, and those of languages; return how many."""
        removed = 0
        with translated():
            named = {"reference": [f"{_REPOSITORY}:*", *REFERENCES]}
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

    def _make(self, base: str, number: int, tag: str) -> None:
        container = self._client.containers.create(base, labels=self._labels)
        try:
            chunks, _ = container.get_archive(_FILE)
            container.put_archive("/etc", _with_number(b"".join(chunks), number))
            container.commit(_REPOSITORY, tag)
        finally:
            container.remove(force=True)


def _with_number(archive: bytes, number: int) -> bytes:
    """Return an archive of ``/etc/passwd`` in which the image's user has another number."""
    changed = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(archive)) as before,
        tarfile.open(fileobj=changed, mode="w") as after,
    ):
        [entry] = before
        file = before.extractfile(entry)
        text = file.read().decode(errors="surrogateescape") if file else ""
        data = _LINE.sub(rf"\g<1>:{number}:", text).encode(errors="surrogateescape")
        entry.size = len(data)
        after.addfile(entry, io.BytesIO(data))
    return changed.getvalue()
