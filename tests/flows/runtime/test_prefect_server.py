"""Laws of Prefect's servers on this machine: what they are told, and what is said without one."""

from urllib.parse import urlsplit

import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.runtime import prefect_server as prefect_server_module
from flows.runtime.prefect_server import running_server, without_secrets
from flows.runtime.waiting_runs import answer_run
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


def test_runs_that_wait_are_answered_at_the_usual_address_without_any_setting(
    prefect_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = urlsplit(prefect_server).port
    with temporary_settings(restore_defaults={PREFECT_API_URL}):
        monkeypatch.setattr(prefect_server_module, "USUAL_PORT", port)
        with pytest.raises(SettingsError, match=r"no (waiting )?run"):
            answer_run("of no such name", {})
        monkeypatch.setattr(prefect_server_module, "USUAL_PORT", 1)
        with pytest.raises(SettingsError, match="make server"):
            answer_run("", {})


def test_without_a_server_it_is_said_how_to_start_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefect_server_module, "USUAL_PORT", 1)
    with (
        temporary_settings(restore_defaults={PREFECT_API_URL}),
        pytest.raises(SettingsError, match="make server"),
        running_server(),
    ):
        pass
