"""The sandbox backend that runs programs in Docker containers.

``backend`` gives out boxes (``box``), whose containers ``pool`` starts in advance on the
``engine``, in one of the empty ``networks`` that it keeps. ``connection`` connects to that engine,
``boot`` puts the sources of `sandbox.inside` on a container's command line, ``channel`` exchanges
jobs and reports with the runner that waits there, and ``installers`` runs the containers that
install. ``process_owner`` says which process
left which containers, and ``abilities`` what an engine can hold a box to.
"""

from sandbox.backends.docker.backend import DockerSandbox

__all__ = ["DockerSandbox"]
