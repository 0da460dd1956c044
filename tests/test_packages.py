"""The law of the packages' plain names: nothing that is installed may stand before them."""

from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", ["flows", "tasks", "agents", "sandbox", "infra", "tests"])
def test_a_package_is_the_one_of_this_repository(name: str) -> None:
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin == str(ROOT / name / "__init__.py")
    # These bring their own tests under this name; in the root folder ours stand before them.
    others = {"mmd-critic", "ppi-python"} if name == "tests" else set()
    assert set(packages_distributions().get(name, [])) <= {"cosqa-plus", *others}
