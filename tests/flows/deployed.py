"""The deployments of prefect.yaml by their names, and the commands that their forms are made of."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from flows.cli import commands

PREFECT_YAML = Path(__file__).parents[2] / "prefect.yaml"
DEPLOYMENTS: dict[str, dict[str, Any]] = {
    each["name"]: each for each in yaml.safe_load(PREFECT_YAML.read_text("utf-8"))["deployments"]
}
FORMS: dict[str, Callable[..., None]] = {
    name: getattr(commands, name.replace("-", "_")) for name in DEPLOYMENTS
}
