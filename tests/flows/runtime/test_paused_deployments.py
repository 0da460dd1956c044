"""Laws of paused deployments: they are named wherever that is asked, and resumed by their names.

Covers `flows.cli.steering`.
"""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.settings import PREFECT_API_URL, temporary_settings
from typer.testing import CliRunner

from flows.cli.main import app
from flows.deployments import TAG
from flows.runtime.paused_deployments import paused_deployments
from flows.runtime.standing import standing_of
from infra.errors import SettingsError
from infra.settings import Settings, StoreSettings
from infra.store import open_database


@pytest.fixture
def client(prefect_server: str) -> Iterator[SyncPrefectClient]:
    with temporary_settings({PREFECT_API_URL: prefect_server}), get_client(sync_client=True) as it:
        yield it


@pytest.fixture
def paused(client: SyncPrefectClient) -> Iterator[dict[str, UUID]]:
    """Three deployments that are paused, of which one is somebody else's."""
    tags = {"first-paused": [TAG], "second-paused": [TAG], "theirs": []}
    made = {
        name: client.create_deployment(
            client.create_flow_from_name(name), name, tags=tags[name], paused=True
        )
        for name in tags
    }
    yield made
    for identity in made.values():
        client.delete_deployment(identity)


def run(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    if isinstance(done.exception, SettingsError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def test_what_is_paused_is_part_of_how_a_store_stands(
    paused: dict[str, UUID], tmp_path: Path
) -> None:
    store = StoreSettings(folder=tmp_path)
    open_database(store)
    found = standing_of(Settings(store=store)).paused
    assert {"first-paused", "second-paused"} <= set(found)
    assert "theirs" not in found


def test_resuming_annotation_leaves_deployments_paused_and_says_how_to_lift_that(
    client: SyncPrefectClient, paused: dict[str, UUID], tmp_path: Path
) -> None:
    open_database(StoreSettings(folder=tmp_path))
    said = run("resume", "--store", str(tmp_path))
    assert "No control is set." in said
    assert "The deployment first-paused stays paused" in said
    assert "`cosqa resume --deployment first-paused`" in said
    assert client.read_deployment(paused["first-paused"]).paused


def test_a_deployment_that_is_named_is_resumed_and_no_other(
    client: SyncPrefectClient, paused: dict[str, UUID]
) -> None:
    assert "Resumed: first-paused." in run("resume", "--deployment", "first-paused")
    assert not client.read_deployment(paused["first-paused"]).paused
    assert client.read_deployment(paused["second-paused"]).paused
    assert "first-paused" not in paused_deployments(client)


def test_a_deployment_that_is_not_paused_is_named_and_nothing_is_changed(
    client: SyncPrefectClient, paused: dict[str, UUID]
) -> None:
    with pytest.raises(SettingsError, match=r"named theirs is paused.*these are: .*second-paused"):
        run("resume", "--deployment", "first-paused", "--deployment", "theirs")
    assert all(client.read_deployment(identity).paused for identity in paused.values())
