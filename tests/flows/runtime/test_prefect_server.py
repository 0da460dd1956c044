"""Laws of Prefect's servers on this machine: what they are told, and what is said without one.

Covers `flows.runtime.loopback_server`.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import httpx
import prefect
import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.settings import (
    PREFECT_API_AUTH_STRING,
    PREFECT_API_DATABASE_CONNECTION_URL,
    PREFECT_API_URL,
    PREFECT_HOME,
    PREFECT_SERVER_API_AUTH_STRING,
    PREFECT_SERVER_CORS_ALLOWED_ORIGINS,
    temporary_settings,
)

from flows.cli.server import serve
from flows.runtime import prefect_server as prefect_server_module
from flows.runtime.prefect_server import (
    api_address,
    auth_file,
    server_auth,
    settings_of_server,
    with_auth,
    without_secrets,
)
from infra.errors import SettingsError
from infra.files import locked


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


FOREIGN = {"Origin": "http://evil.invalid", "Access-Control-Request-Method": "POST"}


def test_a_web_page_gets_no_answer_and_reaches_no_server_under_a_name_of_its_own(
    prefect_server: str,
) -> None:
    port = urlsplit(prefect_server).port
    name, _, password = PREFECT_API_AUTH_STRING.value().partition(":")
    with httpx.Client(auth=(name, password), base_url=prefect_server, trust_env=False) as client:
        for origin, is_told in (
            (f"http://127.0.0.1:{port}", True),
            (f"http://localhost:{port}", True),
            ("http://evil.invalid", False),
            ("null", False),
            ("http://127.0.0.1:1", False),
            (f"http://127.0.0.1:{port}.evil.invalid", False),
        ):
            for method in ("OPTIONS", "POST"):
                asked = client.request(
                    method, "/flows/filter", headers=FOREIGN | {"Origin": origin}
                )
                told = asked.headers.get("access-control-allow-origin")
                assert told == (origin if is_told else None), (method, origin)
        for host, status in (
            (f"127.0.0.1:{port}", 200),
            ("localhost", 200),
            ("evil.invalid", 400),
            (f"evil.invalid:{port}", 400),
            ("127.0.0.1.evil.invalid", 400),
            ("0.0.0.0", 400),
            ("", 400),
        ):
            for path in ("/health", "/admin/version"):
                assert client.get(path, headers={"Host": host}).status_code == status, (host, path)


def test_the_password_of_a_server_is_new_each_start_and_for_its_user_alone(tmp_path: Path) -> None:
    own = {PREFECT_SERVER_API_AUTH_STRING: "me:mine"}
    unset = {PREFECT_API_AUTH_STRING, PREFECT_SERVER_API_AUTH_STRING}
    with temporary_settings({PREFECT_HOME: tmp_path / "home"}, restore_defaults=unset):
        with temporary_settings(own):
            assert server_auth() == "me:mine"
        assert not auth_file().exists()
        auth = server_auth()
        assert len(auth) > 40
        assert server_auth() != auth
        assert auth_file().stat().st_mode & 0o777 == 0o600


def is_sent(url: str, auth: str) -> bool:
    """Return whether a password is sent to an address, here and from child processes."""
    before = dict(os.environ)
    with with_auth(url):
        found = {PREFECT_API_AUTH_STRING.value(), os.environ.get("PREFECT_API_AUTH_STRING")}
    assert dict(os.environ) == before
    assert found in ({auth}, {None})
    return found == {auth}


@pytest.fixture
def auth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Make the password of a `cosqa server`."""
    monkeypatch.delenv("PREFECT_API_AUTH_STRING", raising=False)  # that of the tests' own server
    unset = {PREFECT_API_AUTH_STRING, PREFECT_SERVER_API_AUTH_STRING}
    with temporary_settings({PREFECT_HOME: tmp_path / "home"}, restore_defaults=unset):
        yield server_auth()


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::1", "::"])
def test_the_password_goes_to_who_listens_on_this_machine_as_this_user(
    auth: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as listener:
        port = listener.getsockname()[1]
        for host, is_this_machine in (
            ("127.0.0.1", True),
            ("localhost", True),
            ("[::1]", True),
            ("127.0.0.1.evil.invalid", False),
            ("127.0.0.1@evil.invalid", False),
            ("10.0.0.1", False),
        ):
            assert is_sent(f"http://{host}:{port}/api", auth) == is_this_machine, host
        own = {PREFECT_API_AUTH_STRING: "me:mine"}
        with temporary_settings(own), with_auth(f"http://127.0.0.1:{port}/api"):
            assert PREFECT_API_AUTH_STRING.value() == "me:mine"
        with monkeypatch.context() as patch:
            patch.setattr(os, "geteuid", lambda: os.getuid() + 1)
            assert not is_sent(f"http://127.0.0.1:{port}/api", auth), "another user listens"
    assert not is_sent(f"http://127.0.0.1:{port}/api", auth), "nobody listens"


_LISTENER = """
import os, socket, sys
os.setuid(65534)
with socket.create_server((sys.argv[1], int(sys.argv[2])), family=int(sys.argv[3])):
    print(flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has processes of another user")
@pytest.mark.parametrize("beside", [False, True])
def test_no_password_goes_where_another_user_listens_too(auth: str, beside: bool) -> None:
    """As under ``::1``, which ``localhost`` may mean, beside a server at 127.0.0.1."""
    with socket.create_server(("127.0.0.1", 0)) as own:
        port = own.getsockname()[1]
        if not beside:
            own.close()
        place = ("::1", socket.AF_INET6) if beside else ("127.0.0.1", socket.AF_INET)
        words = [sys.executable, "-c", _LISTENER, place[0], str(port), str(int(place[1]))]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdin
            assert other.stdout
            assert other.stdout.readline()
            for host in ("localhost", "127.0.0.1"):
                assert not is_sent(f"http://{host}:{port}/api", auth)
            other.stdin.close()


def test_a_start_at_a_port_that_is_taken_leaves_the_password_of_the_server_there(
    auth: str, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        with pytest.raises(SettingsError, match="is taken already"):
            serve(tmp_path, server.getsockname()[1])
        assert auth_file().read_text() == auth


@pytest.mark.parametrize("port", ["", ":0", ":99999", ":x"])
def test_no_password_goes_to_an_address_without_a_port(auth: str, port: str) -> None:
    assert not is_sent(f"http://127.0.0.1{port}/api", auth)


def test_a_password_that_others_may_have_made_or_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with temporary_settings(
        {PREFECT_HOME: tmp_path}, restore_defaults={PREFECT_SERVER_API_AUTH_STRING}
    ):
        server_auth()
        for mode in (0o640, 0o604, 0o620):
            auth_file().chmod(mode)
            with pytest.raises(SettingsError, match=r"cosqa-auth.* can be read by others: remove"):
                prefect_server_module._read_auth()
        auth_file().chmod(0o600)
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        with pytest.raises(SettingsError, match="is another user's"):
            prefect_server_module._read_auth()
        monkeypatch.undo()
        auth_file().rename(tmp_path / "theirs")
        auth_file().symlink_to(tmp_path / "theirs")
        with pytest.raises(SettingsError, match=r"cosqa-auth.* cannot be read"):
            prefect_server_module._read_auth()
        assert server_auth() == prefect_server_module._read_auth(), (
            "a start makes a file of its own"
        )
        assert (tmp_path / "theirs").read_text() != server_auth()


@pytest.mark.parametrize("named", ["", "postgresql+asyncpg://a:b@c/d", "sqlite+aiosqlite:////x.db"])
def test_the_database_of_our_servers_is_no_other_projects(tmp_path: Path, named: str) -> None:
    name = "PREFECT_SERVER_DATABASE_CONNECTION_URL"
    chosen = {PREFECT_API_DATABASE_CONNECTION_URL: named} if named else {}
    with temporary_settings({PREFECT_HOME: tmp_path}), temporary_settings(chosen):
        told = settings_of_server(4300, "a:b")
    own = {name: f"sqlite+aiosqlite:///{tmp_path}/cosqa-{prefect.__version__}.db"}
    assert {key: each for key, each in told.items() if key == name} == ({} if named else own)


def test_origins_that_a_user_has_named_stay() -> None:
    name = "PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS"
    ours = "http://127.0.0.1:4300,http://localhost:4300"
    for theirs, told in ((None, ours), ("*", ours), ("https://a.b", f"{ours},https://a.b")):
        more = {} if theirs is None else {PREFECT_SERVER_CORS_ALLOWED_ORIGINS: theirs}
        with temporary_settings(more):
            assert settings_of_server(4300, "a:b")[name] == told


def test_a_server_of_ours_is_where_its_address_says_whatever_path_the_user_has_set() -> None:
    name = "PREFECT_SERVER_API_BASE_PATH"
    assert api_address(4300).endswith(f":4300{settings_of_server(4300, 'a:b')[name]}")


def test_a_command_says_where_the_password_is_that_a_server_asks_for(prefect_server: str) -> None:
    with (
        temporary_settings({PREFECT_API_AUTH_STRING: "me:another"}),
        pytest.raises(
            SettingsError, match=r"answers 401: set PREFECT_API_AUTH_STRING .*cosqa-auth"
        ),
        prefect_server_module.prefect_api(),
    ):
        pass
    assert prefect_server == PREFECT_API_URL.value()


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
    assert not prefect_server_module.is_private(1, "a:b")


def test_the_port_of_a_private_server_is_its_own_from_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[int] = []

    def start(bound: socket.socket, auth: str, _: object) -> subprocess.Popen[bytes]:
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
    "/busy/api/health": (503, b"{}"),
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
        ("/ui", "no Prefect server answers"),
        ("/closed/api", "answers 401: set PREFECT_API_AUTH_STRING"),
        ("/busy/api", "answers 503: it is busy or out of order for now: try again soon"),
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
