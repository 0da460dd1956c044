"""The settings of the Ray cluster."""

from pydantic import Field

from infra.settings.section import Section


class RaySettings(Section):
    """The Ray cluster."""

    address: str | None = Field(
        None, description="Address of a cluster; none starts one on this machine, closed to others."
    )
    cpus: int | None = Field(
        None, ge=1, description="Cores of a local cluster; all when not given."
    )
    gpus: int | None = Field(None, ge=0, description="GPUs of a local cluster; all when not given.")
    object_store_mb: int = Field(
        512, ge=80, description="Memory of a local cluster's object store."
    )
    placement_timeout_s: float = Field(
        60.0,
        gt=0,
        description="After so many seconds without room on the cluster for any worker the log says "
        "what workers need, again and again; they wait on.",
    )
