"""Laws of what the files of a stranger's folder may decide."""

import json
from pathlib import Path

import pytest

from infra.errors import SettingsError
from infra.settings import load_settings
from infra.settings.origins import _tell

ADDRESS = "http://elsewhere.invalid/v1"
FILE = f'[llm]\nmodel = "openai/m"\nbase_url = "{ADDRESS}"\n'
OF_ENCODER = f'encoder.base_url = "{ADDRESS}"\n'


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    _tell.cache_clear()


@pytest.mark.parametrize(
    ("text", "variables", "named"),
    [
        (FILE, {"COSQA_LLM__API_KEY": "k"}, "COSQA_LLM__API_KEY"),
        (FILE, {"COSQA_LLM": '{"api_key": "k"}'}, "COSQA_LLM__API_KEY"),
        (FILE, {"OPENAI_API_KEY": "k"}, "OPENAI_API_KEY"),
        (FILE + 'api_key = "own"', {"COSQA_LLM__API_KEY": "k"}, "COSQA_LLM__API_KEY"),
        (FILE + 'api_key = "own"', {"AWS_SECRET_ACCESS_KEY": "k"}, "AWS_SECRET_ACCESS_KEY"),
        (FILE + 'api_key_block = "b"', {}, "Prefect's block 'b'"),
        (FILE, {"COSQA_LLM__API_KEY_BLOCK": "b"}, "llm.api_key_block"),
        (OF_ENCODER, {"COSQA_ENCODER__API_KEY": "k"}, "COSQA_ENCODER__API_KEY"),
    ],
)
def test_no_key_goes_to_an_address_that_a_folder_alone_names(
    monkeypatch: pytest.MonkeyPatch, text: str, variables: dict[str, str], named: str
) -> None:
    file = Path("cosqa.toml")
    file.write_text(text)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as refused:
        load_settings()
    line = 1 if text == OF_ENCODER else 3
    for part in (f"cosqa.toml:{line}", ADDRESS, f"the key in {named},", "__BASE_URL"):
        assert part in str(refused.value)
    section = "ENCODER" if text == OF_ENCODER else "LLM"
    for ways in ({f"COSQA_{section}__BASE_URL": ADDRESS}, {"COSQA_CONFIG": str(file)}):
        with monkeypatch.context() as patch:
            for name, value in ways.items():
                patch.setenv(name, value)
            assert ADDRESS in str(load_settings())


@pytest.mark.parametrize("own", ["", 'api_key = "own"\n'])
def test_an_address_with_its_own_key_or_none_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, own: str
) -> None:
    Path("cosqa.toml").write_text(FILE + own)
    monkeypatch.setenv("COSQA_ENCODER__API_KEY", "another")
    if own:
        monkeypatch.setenv("OPENAI_API_KEY", "another")
    for _ in range(2):
        assert load_settings().llm.base_url == ADDRESS
    assert capsys.readouterr().err == f"cosqa.toml:3 decides that llm.base_url = '{ADDRESS}'\n"


def test_what_a_folder_has_run_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("cosqa.toml").write_text(
        '[ray]\naddress = "ray://a:1"\n'
        '[sandbox]\nimage = "b:1"\nbackend = "docker"\nindex_hosts = ["c"]\n'
        'accept_without = ["seccomp"]\n[search]\ntop_k = 3\n'
    )
    load_settings({"sandbox": {"image": "mine:1"}})
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" decides that ")[1].split(" = ")[0] for line in lines] == [
        "ray.address", "sandbox.index_hosts", "sandbox.accept_without",
    ]  # fmt: skip


def test_no_model_is_an_address() -> None:
    with pytest.raises(SettingsError, match=r"llm\.model .*no address"):
        load_settings({"llm": {"model": f"huggingface/{ADDRESS}"}})


@pytest.mark.parametrize("end", ["\r", "\n", " ", "\t\r\n", "\u00a0"])
def test_white_space_around_a_key_or_another_value_is_no_part_of_it(
    monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setenv("COSQA_LLM__API_KEY", f"k{end}")
    monkeypatch.setenv("COSQA_LLM__MODEL", f"openai/m{end}")
    Path("cosqa.toml").write_text(f"encoder.api_key = {json.dumps(f'k{end}')}")
    settings = load_settings()
    for section in (settings.llm, settings.encoder):
        assert section.api_key
        assert section.api_key.get_secret_value() == "k"
    assert settings.llm.model == "openai/m"


@pytest.mark.parametrize("key", ["a\rb", "a b", "sk-\u00e9", "\ufeffsk", "a\x7f"])
def test_a_key_that_no_header_takes_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("COSQA_LLM__API_KEY", key)
    with pytest.raises(SettingsError, match=r"llm\.api_key.*COSQA_LLM__API_KEY.*ASCII") as refused:
        load_settings()
    assert key not in str(refused.value)
