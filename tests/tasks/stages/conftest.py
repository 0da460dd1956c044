"""What tests of stages share."""

import pytest


@pytest.fixture(autouse=True)
def no_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Emit no events: outside of a flow's run Prefect would start a server for them."""
    monkeypatch.setattr("tasks.runtime.run_events.emit_event", lambda *_, **__: None)
