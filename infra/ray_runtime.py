"""The Ray runtime: a cluster when an address is given, else one on this machine."""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from infra.errors import SettingsError
from infra.settings import RaySettings

# Ray's own switches: no usage report over the network, and no rewriting of CUDA_VISIBLE_DEVICES
# for tasks that ask for no GPU.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "0",
}


@contextmanager
def ray_runtime(settings: RaySettings, env: Mapping[str, str] | None = None) -> Iterator[None]:
    """Connect to Ray for the length of a ``with``; a runtime that is there already is used.

    Args:
        settings: The cluster's address, or what of this machine to offer.
        env: Environment variables that the workers get.

    Raises:
        SettingsError: The cluster does not answer.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    import ray  # noqa: PLC0415 - takes a second, and a run without work needs none of it

    if ray.is_initialized():
        yield
        return
    options: dict[str, Any] = {
        "runtime_env": {"env_vars": dict(env or {})},
        "logging_level": logging.WARNING,
        "log_to_driver": False,
    }
    if settings.address:
        options["address"] = settings.address
    else:
        options |= {
            "num_cpus": settings.cpus,
            "num_gpus": settings.gpus,
            "object_store_memory": settings.object_store_mb * 1024 * 1024,
            "include_dashboard": False,
        }
    try:
        ray.init(**options)
    except ConnectionError as error:
        raise SettingsError(
            f"no Ray cluster answers at {settings.address}; start one there, or unset RAY_ADDRESS "
            "to use this machine"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()
