"""Laws of `cosqa server`'s children: what dies is started again, a worker once there is a server.

Covers `flows.runtime.local_server`.
"""

import http.server
import os
import signal
from pathlib import Path
from threading import Thread

import pytest

from flows.runtime import local_server
from flows.runtime.local_server import LocalServer
from tests.ports import free_port


class Healthy(http.server.BaseHTTPRequestHandler):
    """Answers each request."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_worker_that_died_with_its_server_waits_until_that_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_server, "_PAUSE_S", 0)
    told: list[str] = []
    server, worker = (
        local_server._Child(name, ["sleep", "60"], os.environ, tmp_path, told.append)
        for name in ("server", "worker")
    )
    with http.server.HTTPServer(("127.0.0.1", 0), Healthy, bind_and_activate=False) as answers:
        answers.server_bind()
        system = LocalServer("", answers.server_port, server, worker)
        for child in (server, worker):
            child.start().kill()
            assert child.process
            child.process.wait()
        for _ in range(3):
            system.revive()
        assert [words.split()[1] for words in told] == ["server"], "it does not answer yet"
        answers.server_activate()
        Thread(target=answers.handle_request).start()
        system.revive()
    assert [words.split()[1] for words in told] == ["server", "worker"]
    server.end()
    worker.end()


def test_a_second_signal_changes_nothing_of_the_order_in_which_children_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[str] = []

    def end(child: local_server._Child) -> None:
        os.kill(os.getpid(), signal.SIGINT)  # Ctrl-C again, while they end
        happened.append(f"{child.name} ends")

    monkeypatch.setattr(local_server._Child, "start", lambda _: None)
    monkeypatch.setattr(local_server._Child, "end", end)
    monkeypatch.setattr(local_server, "await_server", lambda *_: None)
    before = signal.signal(signal.SIGINT, lambda *_: happened.append("interrupted"))
    try:
        with local_server.local_server(free_port(), tmp_path, "pool", happened.append):
            os.kill(os.getpid(), signal.SIGINT)
            pytest.fail("the first one ends it")
        os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert happened == [
        "ending the worker and the server", "worker ends", "server ends", "interrupted",
    ], "the former handler is back"  # fmt: skip
