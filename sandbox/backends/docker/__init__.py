"""The sandbox backend that runs programs in Docker containers.

``backend`` gives out boxes (``box``), whose containers ``pool`` starts in advance on the
``engine``. ``connection`` connects to that engine, ``boot`` puts the sources of `sandbox.inside` on
a container's command line, ``channel`` exchanges jobs and reports with the runner that waits there,
and ``installers`` runs the containers that install. ``users`` gives each box a user number,
``process_owner`` names the process that made a container, and ``abilities`` reads the limits that
an engine can hold a box to.
"""

from sandbox.backends.docker.backend import DockerSandbox

__all__ = ["DockerSandbox"]
