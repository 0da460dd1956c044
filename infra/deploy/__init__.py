"""Files for running on servers: containers, compose, and templates of Prefect's work pools.

``pools`` has a base job template for each type of pool whose runs need more than a folder.
"""

import json
from pathlib import Path
from typing import Any

_POOLS = Path(__file__).with_name("pools")


def job_template(pool_type: str) -> dict[str, Any] | None:
    """Return this program's base job template for a type of work pool, None for Prefect's own."""
    file = _POOLS / f"{pool_type}.json"
    return json.loads(file.read_text("utf-8")) if file.is_file() else None
