from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agents.committee.factory import build_committee
from agents.committee.trace import TracedModel
from agents.llm.client import LanguageModel
from agents.llm.embedded import (
    MODEL_BYTES,
    MODEL_FILE,
    adapted,
    embedded_server,
    find_model_file,
)
from agents.llm.endpoint import Endpoint
from agents.roles.screener import Screener
from infra.errors import SettingsError
from infra.journal import Journal
from infra.packages import model_folder
from infra.records import LanguageModelCall, Pair
from infra.settings import LanguageModelSettings, Settings
from tests.fakes.sandbox import PASSED, FakeSandbox


@pytest.fixture(scope="module")
def served() -> Iterator[Endpoint]:
    try:
        file = find_model_file()
    except SettingsError as error:
        pytest.skip(str(error))
    with embedded_server(file) as endpoint:
        yield endpoint


def test_a_missing_file_is_told_with_the_line_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COSQA_MODEL_CACHE", str(tmp_path))
    with pytest.raises(SettingsError, match=r"python -m agents\.llm\.download_embedded"):
        find_model_file()
    (tmp_path / MODEL_FILE).write_bytes(b"half")
    with pytest.raises(SettingsError, match="incomplete"):
        find_model_file()
    with (tmp_path / MODEL_FILE).open("wb") as file:
        file.truncate(MODEL_BYTES)
    assert find_model_file() == tmp_path / MODEL_FILE


def test_the_file_is_kept_in_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COSQA_MODEL_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert model_folder() == tmp_path / "cosqa-plus" / "models"


def test_only_the_embedded_model_is_held_short() -> None:
    other = LanguageModelSettings(model="openai/x")
    assert adapted(other) == other
    small = adapted(LanguageModelSettings())
    assert small.max_code_characters < other.max_code_characters
    assert small.max_field_characters is not None
    assert 2 * small.max_field_characters < small.max_tokens  # a full reply can be finished


def test_the_embedded_model_needs_its_server() -> None:
    with pytest.raises(SettingsError, match="endpoint"):
        build_committee(Settings(), "r", FakeSandbox(lambda *_: PASSED))


@pytest.mark.slow
async def test_the_embedded_model_replies_in_shape(
    served: Endpoint, tmp_path: Path, pair: Pair
) -> None:
    settings = adapted(LanguageModelSettings())
    model = LanguageModel(settings, Journal(tmp_path / "journal.sqlite"), served)
    calls: list[LanguageModelCall] = []
    screening = await Screener(TracedModel(model, calls)).screen(pair)
    await model.close()
    assert screening.verdict in {"clear_match", "clear_non_match", "unclear"}
    assert calls[0].prompt_tokens
    assert calls[0].cost_usd is None


@pytest.mark.slow
def test_only_who_holds_the_key_is_answered(served: Endpoint) -> None:
    assert served.base_url.startswith("http://127.0.0.1:")
    asked = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hello"}]}
    answers = [
        httpx.post(
            f"{served.base_url}/chat/completions", json=asked, headers=headers, timeout=60
        ).status_code
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": f"Bearer {served.api_key.get_secret_value()}"},
        )
    ]
    assert answers == [401, 401, 200]


@pytest.mark.slow
def test_the_server_is_gone_after_its_with() -> None:
    try:
        file = find_model_file()
    except SettingsError as error:
        pytest.skip(str(error))
    with embedded_server(file) as endpoint:
        assert httpx.get(f"{endpoint.base_url}/models", timeout=60).status_code in {200, 401}
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{endpoint.base_url}/models")
