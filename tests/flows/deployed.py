"""The deployments of prefect.yaml by their names, and the forms of their flows."""

from pathlib import Path
from typing import Any

import yaml

from flows import options
from flows.options import Options

PREFECT_YAML = Path(__file__).parents[2] / "prefect.yaml"
DEPLOYMENTS: dict[str, dict[str, Any]] = {
    each["name"]: each for each in yaml.safe_load(PREFECT_YAML.read_text("utf-8"))["deployments"]
}
FORMS: dict[str, type[Options]] = {
    name: getattr(options, name.title().replace("-", "")) for name in DEPLOYMENTS
}
