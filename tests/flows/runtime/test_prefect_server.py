"""Laws of Prefect's servers on this machine: what they are told, and what is said without one."""

import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.runtime import prefect_server
from flows.runtime.prefect_server import running_server, without_secrets
from infra.errors import SettingsError


def test_a_server_is_not_told_the_keys_of_providers() -> None:
    environment = {
        "PATH": "/bin",
        "COSQA_LLM__API_KEY": "sk",
        "AWS_SECRET_ACCESS_KEY": "sk",
        "hf_token": "sk",
        "PREFECT_API_DATABASE_PASSWORD": "its own",
    }
    assert set(without_secrets(environment)) == {"PATH", "PREFECT_API_DATABASE_PASSWORD"}


def test_without_a_server_it_is_said_how_to_start_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefect_server, "USUAL_PORT", 1)
    with (
        temporary_settings(restore_defaults={PREFECT_API_URL}),
        pytest.raises(SettingsError, match="make server"),
        running_server(),
    ):
        pass
