"""Laws of ``cosqa browse`` as a command: it writes a bundle, and serves until it is ended."""

import signal
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from flows.cli.tools import browse
from infra.errors import SettingsError, StoreError
from tests.fakes.stores import whole_store
from tests.flows.world import COSQA
from tests.ports import free_port


def test_a_bundle_is_written_of_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = whole_store(tmp_path / "store").settings.folder
    browse(store=store, bundle=tmp_path / "pages")
    written = list((tmp_path / "pages").glob("*.html"))
    assert f"{len(written):,} pages" in capsys.readouterr().out
    assert (tmp_path / "pages" / "index.html").is_file()


def test_where_there_is_no_store_the_command_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store"):
        browse(store=tmp_path / "none")


def test_the_command_serves_until_it_is_ended(tmp_path: Path) -> None:
    store = whole_store(tmp_path / "store").settings.folder
    port = free_port()
    command = [COSQA, "browse", "--store", str(store), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == f"The pages are at http://127.0.0.1:{port}/\n"
            deadline = time.monotonic() + 120
            while True:
                try:
                    answer = httpx.get(f"http://127.0.0.1:{port}/pairs", trust_env=False)
                    break
                except httpx.ConnectError:
                    assert time.monotonic() < deadline
                    time.sleep(0.1)
            assert "7 pairs" in answer.text
            with pytest.raises(SettingsError, match="cannot be listened at"):
                browse(store=store, port=port)
            assert "server" not in answer.headers
            process.send_signal(signal.SIGINT)
            process.wait(60)
        finally:
            process.kill()
