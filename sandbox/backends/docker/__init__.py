"""The sandbox backend that runs programs in Docker containers.

``backend`` gives out boxes, whose containers the ``pool`` starts in advance on the ``engine``.
``connection`` connects to that engine and reads the limits that it can hold a box to; ``channel``
puts the sources of `sandbox.inside` on a container's command line, and exchanges ``jobs`` and
reports with the runner that waits there; ``wheels`` are installed by containers of their own.
``images`` has one for each language and each box's user number, and ``owners`` what processes have
made on an engine, for its removal when they have ended.
"""

from sandbox.backends.docker.backend import DockerSandbox

__all__ = ["DockerSandbox"]
