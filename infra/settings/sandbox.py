"""The settings of the sandbox."""

import os

from pydantic import Field

from infra.machine import physical_memory
from infra.settings.section import Section

_CORES = os.cpu_count() or 1
_MEGABYTE = 2**20
_BOXES_A_CORE = 2  # one runs while another is made or removed
_SHARE_OF_MEMORY = 0.5  # of the machine's, for boxes at their limit


class SandboxSettings(Section):
    """The sandbox and the limits of each program in it."""

    image: str = Field("cosqa-sandbox:5", description="Image of the containers.")
    backend: str = Field("docker", description="Name of a sandbox backend.")
    slots: int | None = Field(
        None,
        ge=1,
        description="Maximum boxes in use at once on a machine, over all processes and runs; none "
        "given takes two a core, or as many as half of the memory holds.",
    )
    ready: int = Field(
        _CORES, ge=0, description="Boxes started in advance on a machine, over all processes."
    )
    memory_mb: int = Field(512, ge=64, description="Maximum memory and swap of a box together.")
    processes: int = Field(64, ge=4, description="Maximum processes and threads in a box.")
    cpus: float = Field(1.0, gt=0, description="Cores that one box may use.")
    timeout_s: float = Field(
        10.0, gt=0, description="Seconds of one program, less those in which it waits for a core."
    )
    command_timeout_s: float = Field(
        30.0, gt=0, description="Time-out of one terminal command of the fixer, in seconds."
    )
    output_kb: int = Field(64, ge=1, description="Kilobytes kept of stdout and of stderr, each.")
    tmp_mb: int = Field(64, ge=1, description="Size of the writable file system in memory.")
    runtime: str | None = Field(None, description="Other container runtime, such as runsc.")
    accept_without: tuple[str, ...] = Field(
        ("swap",),
        description="Limits (memory, swap, processes, cpus, seccomp) that the engine need not be "
        "able to hold boxes to, and behaviours of `cosqa sandbox check` that boxes need not show; "
        "where it lacks anything else, nothing is run.",
    )
    install_timeout_s: float = Field(
        180.0, gt=0, description="Time-out of one installation, in seconds."
    )
    index_hosts: tuple[str, ...] = Field(
        (),
        description="Further hosts (HOST or HOST:PORT) that the package index serves its files "
        "from.",
    )
    allow_install: bool = Field(
        True, description="Let the fixer install wheels from the package index."
    )
    install_mb: int = Field(
        3072, ge=1, description="Megabytes that all that is installed for one pair may take."
    )

    @property
    def machine_slots(self) -> int:
        """Maximum boxes in use at once on the machine that asks, which runs them."""
        if self.slots is not None:
            return self.slots
        # Of the machine, not of this process's control group: the engine is outside of that.
        fitting = int(_SHARE_OF_MEMORY * physical_memory() / (self.memory_mb * _MEGABYTE))
        return max(2, min(_BOXES_A_CORE * _CORES, fitting))
