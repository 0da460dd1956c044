"""Who imports Ray."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["flows.annotate", "flows.cli.main", "flows.study"])
def test_ray_is_imported_only_where_there_is_work(module: str) -> None:
    # prefect-ray puts a lazy stand-in named 'ray' there, which imports nothing until it is used
    script = f"import sys, {module}; sys.exit('ray._raylet' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
