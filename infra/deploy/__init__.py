"""Files for running on servers: containers, compose, and what Prefect's work pools need.

``pools`` has for a type of pool what its runs need beyond Prefect's own base job template:
``defaults`` of the template's variables, and for Kubernetes parts of the job's ``pod`` and of its
``container``.
"""

import copy
import json
from pathlib import Path
from typing import Any

POOL = "cosqa"  # the work pool of the deployments where no other is named
_POOLS = Path(__file__).with_name("pools")


def job_template(pool_type: str, plain: dict[str, Any]) -> dict[str, Any]:
    """Return the base job template of a work pool for this program's runs.

    Args:
        pool_type: The type of the pool.
        plain: Prefect's own template for the type.
    """
    file = _POOLS / f"{pool_type}.json"
    if not file.is_file():
        return plain
    ours = json.loads(file.read_text("utf-8"))
    template = copy.deepcopy(plain)
    for name, value in ours.get("defaults", {}).items():
        template["variables"]["properties"][name]["default"] = value
    if "pod" in ours:
        pod = template["job_configuration"]["job_manifest"]["spec"]["template"]["spec"]
        pod |= ours["pod"]
        pod["containers"][0] |= ours["container"]
    return template
