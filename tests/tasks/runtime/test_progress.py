"""Laws of the progress bar: it is a picture of a run, and ends none."""

import logging
from uuid import uuid4

import pytest

from infra.errors import StoreLockedError
from tasks.runtime import progress


def test_a_prefect_server_that_takes_no_progress_ends_no_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[float] = []

    def gone(_artifact: object, progress: float) -> None:
        tries.append(progress)
        raise ConnectionError("no server")

    monkeypatch.setattr(progress, "create_progress_artifact", lambda **_: uuid4())
    monkeypatch.setattr(progress, "update_progress_artifact", gone)
    monkeypatch.setattr(progress, "get_run_logger", lambda: logging.getLogger("run"))
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_REPORTS", 0.0)
    with progress.progress("key", "pairs judged", 4) as bar:
        bar.advance(1)
        bar.advance(1)  # no second try at once: the client waits long for a server
    assert tries == [25.0, 50.0], "at the first failure, and at the end"
    assert "no server" in caplog.text
    with (
        pytest.raises(StoreLockedError, match="held"),
        progress.progress("key", "pairs judged", 4),
    ):
        raise StoreLockedError("held")
