"""Laws of ``cosqa deploy``: what it prints, and what it needs.

Covers `flows.cli.server`.
"""

import re
from pathlib import Path

import pytest
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.client.orchestration import get_client
from typer.testing import CliRunner

from flows.cli.main import app
from flows.cli.server import deploy, register
from flows.deployments import DEPLOYMENTS
from flows.options import Deploy
from flows.runtime.automations import NOTIFY
from infra.errors import SettingsError

RUNNER = CliRunner()


def test_prefect_yaml_is_printed_without_a_server() -> None:
    done = RUNNER.invoke(app, ["deploy", "--yaml"])
    assert done.exit_code == 0
    assert done.stdout.count("entrypoint:") == len(DEPLOYMENTS)


def test_a_folder_that_is_not_there_is_refused_unless_it_is_in_a_container(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is not a folder"):
        Deploy(folder=tmp_path / "absent")
    chosen = Deploy(folder=Path("/cosqa"), pool="remote", pool_type="docker")
    assert chosen.place == Path("/cosqa")


def test_it_says_what_it_did_and_the_second_time_that_nothing_was_to_do(
    prefect_server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = Deploy(folder=tmp_path, prune=True)
    deploy(chosen)
    first = capsys.readouterr().out
    assert re.search(r"(made|changed) +deployment collect \(.*nightly at 0 1 \* \* \*", first)
    assert f"Runs work in {tmp_path}." in first
    assert f"The UI: {prefect_server.removesuffix('/api')}/deployments" in first
    assert f"PREFECT_API_URL={prefect_server} prefect worker start --pool cosqa" in first
    deploy(chosen)
    second = capsys.readouterr().out
    assert not re.search("^(made|changed|removed)", second, re.MULTILINE)
    assert "left     deployment collect (nightly at 0 1 * * *)" in second


@pytest.mark.usefixtures("prefect_server")
def test_alarms_are_set_up_by_the_folder_of_the_runs_and_a_missing_block_keeps_no_server_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '[operation]\nnotification_block = "slack-webhook/nowhere"\n'
    (tmp_path / "cosqa.toml").write_text(text)
    chosen = Deploy(folder=tmp_path)
    register(chosen, briefly=True)
    assert "no notification block slack-webhook/nowhere" in capsys.readouterr().out
    with pytest.raises(SettingsError, match="slack-webhook/nowhere"):
        deploy(chosen)
    assert "automation cosqa: stop on budget" in capsys.readouterr().out, "all else is registered"


@pytest.mark.usefixtures("prefect_server")
def test_alarms_go_nowhere_once_the_folder_of_the_runs_names_no_block(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    block = CustomWebhookNotificationBlock(name="x", url="http://127.0.0.1:9/", json_data={})
    block.save("of-alarms", overwrite=True)
    text = '[operation]\nnotification_block = "custom-webhook/of-alarms"\n'
    (tmp_path / "cosqa.toml").write_text(text)
    chosen = Deploy(folder=tmp_path)
    register(chosen, briefly=True)
    assert f"made     automation {NOTIFY}" in capsys.readouterr().out
    (tmp_path / "cosqa.toml").write_text("")
    register(chosen, briefly=True)
    assert f"removed  automation {NOTIFY}" in capsys.readouterr().out
    with get_client(sync_client=True) as client:
        assert client.read_automations_by_name(NOTIFY) == []
