"""``cosqa list`` and ``cosqa settings``: what they print can be used as it is."""

import tomllib
from typing import get_args

import pytest
from typer.testing import CliRunner

from flows.cli.main import app
from flows.cli.show import Kind
from tasks.encoders import encoders
from tasks.metrics import metrics
from tasks.sources import sources


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_is_listed_a_name_a_line(kind: str) -> None:
    outcome = CliRunner().invoke(app, ["list", kind])
    assert outcome.exit_code == 0, outcome.output
    names = outcome.stdout.splitlines()
    assert names
    assert all(name == name.strip() != "" for name in names)


@pytest.mark.parametrize(
    ("kind", "registry"), [("sources", sources), ("encoders", encoders), ("metrics", metrics)]
)
def test_the_list_is_the_registry(kind: str, registry: object) -> None:
    outcome = CliRunner().invoke(app, ["list", kind])
    assert outcome.stdout.splitlines() == list(registry)  # type: ignore[call-overload]


def test_the_settings_are_toml() -> None:
    outcome = CliRunner().invoke(app, ["settings"])
    assert outcome.exit_code == 0, outcome.output
    assert tomllib.loads(outcome.stdout)["search"]["top_k"] == 20
