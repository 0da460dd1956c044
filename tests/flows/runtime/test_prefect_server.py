"""Laws of Prefect's servers on this machine: what they are told, and what is said without one.

Covers `flows.runtime.private_server`.
"""

import os
import socket
import subprocess
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.settings import (
    PREFECT_API_AUTH_STRING,
    PREFECT_API_URL,
    PREFECT_HOME,
    temporary_settings,
)

from flows.runtime import prefect_server as prefect_server_module
from flows.runtime.prefect_server import without_secrets
from infra.errors import SettingsError
from infra.locks import locked


def test_a_server_is_not_told_the_keys_of_providers() -> None:
    environment = {
        "PATH": "/bin",
        "COSQA_LLM__API_KEY": "sk",
        "AWS_SECRET_ACCESS_KEY": "sk",
        "hf_token": "sk",
        "COSQA_LLM": '{"api_key": "sk"}',
        "cosqa_encoder": '{"api_key": "sk"}',
        "GITHUB_PAT": "sk",
        "PYPI_AUTH": "sk",
        "NPM_PASS": "sk",
        "INDEX": "https://user:word@host/simple",
        "PROXY": "http://token@host",
        "HOME_PAGE": "https://host/@user",
        "PATTERN": "x",
        "PREFECT_API_DATABASE_PASSWORD": "its own",
    }
    kept = {"PATH", "PREFECT_API_DATABASE_PASSWORD", "HOME_PAGE", "PATTERN"}
    assert set(without_secrets(environment)) == kept


def test_a_private_server_answers_its_own_process_alone(prefect_server: str) -> None:
    port = urlsplit(prefect_server).port
    assert port
    auth = PREFECT_API_AUTH_STRING.value()
    assert os.environ["PREFECT_API_AUTH_STRING"] == auth  # so that Ray's workers have it
    status = prefect_server_module._status
    for path in ("/api/admin/version", "/api/flows/count", "/api/variables/name/health"):
        for other in ("", "cosqa:", f"{auth}x", auth[:-1]):
            assert status(port, path, other) == 401
    assert status(port, "/api/admin/version", auth) == 200
    with get_client(sync_client=True) as client:
        assert client.read_flows(limit=1) is not None


@pytest.mark.usefixtures("prefect_server")
def test_runs_of_commands_are_labelled_as_such() -> None:
    @flow
    def labelled() -> None:
        """Do nothing."""

    run: Any = labelled(return_state=True)
    with get_client(sync_client=True) as client:
        assert client.read_flow_run(run.state_details.flow_run_id).tags == ["command"]


@pytest.mark.parametrize("answers", [lambda auth: 200, lambda auth: 401, lambda auth: 500])
def test_another_server_is_not_taken_for_the_private_one(
    monkeypatch: pytest.MonkeyPatch, answers: Callable[[str], int]
) -> None:
    monkeypatch.setattr(prefect_server_module, "_status", lambda port, path, auth="": answers(auth))
    assert not prefect_server_module._is_private(1, "a:b")


def test_the_port_of_a_private_server_is_its_own_from_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[int] = []

    def start(bound: socket.socket, auth: str) -> subprocess.Popen[bytes]:
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(bound.getsockname())
        found.append(len(auth))
        return subprocess.Popen(["false"])

    monkeypatch.setattr(prefect_server_module, "_start", start)
    before = dict(os.environ)
    with (
        temporary_settings(restore_defaults={PREFECT_API_URL}),
        pytest.raises(SettingsError, match="did not start"),
        prefect_server_module.prefect_api(),
    ):
        pass
    assert found[0] > 40
    assert dict(os.environ) == before


def test_private_servers_over_one_database_start_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "home" / prefect_server_module._START_LOCK
    found: list[Path] = []

    def start(*_: object) -> subprocess.Popen[bytes]:
        with pytest.raises(BlockingIOError), locked(lock, wait=False):
            pass
        found.append(lock)
        return subprocess.Popen(["false"])

    monkeypatch.setattr(prefect_server_module, "_start", start)
    with (
        temporary_settings({PREFECT_HOME: lock.parent}, restore_defaults={PREFECT_API_URL}),
        pytest.raises(SettingsError, match="did not start"),
        prefect_server_module.prefect_api(),
    ):
        pass
    assert found
    with locked(lock, wait=False):
        pass


ANSWERS = {
    "/team/prefect/api/health": (200, b"true"),
    "/team/prefect/api/admin/version": (200, b'"3.4.1"'),
    "/ui/health": (200, b"<!DOCTYPE html>"),
    "/closed/api/health": (200, b"true"),
    "/closed/api/admin/version": (401, b"{}"),
}


class Answering(BaseHTTPRequestHandler):
    """A server with Prefect's API below a path, and other things below others."""

    def do_GET(self) -> None:
        status, content = ANSWERS.get(self.path, (404, b"{}"))
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/team/prefect/api", ""),
        ("/team/prefect/api/", ""),
        ("", "answers 404: correct the address, which ends with /api"),
        ("/ui", "is not Prefect's API"),
        ("/closed/api", "answers 401: set PREFECT_API_AUTH_STRING"),
        ("/team/prefect/api\r", "PREFECT_API_URL"),
    ],
)
def test_a_configured_address_is_that_of_an_api_or_refused(path: str, problem: str) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}{path}"
        with temporary_settings({PREFECT_API_URL: url}):
            if not problem:
                prefect_server_module._require_answer(url)
            else:
                with pytest.raises(SettingsError, match="PREFECT_API_URL") as refused:
                    prefect_server_module._require_answer(url)
                assert problem in str(refused.value)
        server.shutdown()
