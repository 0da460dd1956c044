"""Laws of settings from a file, an environment or a stranger's folder, which may hold anything."""

import json
import traceback
from pathlib import Path

import pytest

from infra.errors import SettingsError
from infra.settings import load_settings
from infra.settings.origins import _tell

DIGITS = "9" * 5_000
DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (f"[llm]\n\nbudget_usd = {DIGITS}", r"cosqa\.toml:3: a number of thousands of digits"),
        (f"[llm]\nbudget_usd = 0x{'f' * 5_000}", r"cosqa\.toml:2: a number of thousands"),
        (f"[llm]\nbudget_usd = {DEEP}", r"cosqa\.toml is not valid TOML: .*deep"),
        ("a." * 100_000 + "a = 1", r"cosqa\.toml"),
        (b"\xff", r"cosqa\.toml is not valid TOML, .*: save it as UTF-8"),
        ("[llm]".encode("utf-16"), r"cosqa\.toml is not .*: save it as UTF-8"),
        ("[llm]".encode("utf-16-le"), r"cosqa\.toml is not .*: save it as UTF-8"),
        ("# für".encode("latin-1"), r"cosqa\.toml is not .*: save it as UTF-8"),
        ("[llm\n", r"cosqa\.toml is not valid TOML"),
        ("[llm]\nbudget_usd = nan", "llm.budget_usd"),
        ("[llm]\nbudget_usd = 1979-05-27", "llm.budget_usd"),
    ],
)
def test_a_file_that_no_parser_takes_is_named(
    tmp_path: Path, content: str | bytes, problem: str
) -> None:
    data = content.encode() if isinstance(content, str) else content
    (tmp_path / "cosqa.toml").write_bytes(data)
    with pytest.raises(SettingsError, match=problem):
        load_settings()


def test_a_byte_order_mark_is_no_part_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cosqa.toml").write_text('ray.address = "ray://a:1"\n', "utf-8-sig")
    assert load_settings().ray.address == "ray://a:1"
    assert capsys.readouterr().err == "cosqa.toml:1 decides that ray.address = 'ray://a:1'\n"


@pytest.mark.parametrize("given", [{}, {"source": {"path": "."}, "llm": {}}])
@pytest.mark.parametrize(
    ("content", "name"), [('source = "sk-key"', "source"), ("llm = 3", "llm"), ("[[llm]]", "llm")]
)
def test_a_value_where_a_section_belongs_is_refused_whatever_the_options(
    tmp_path: Path, given: dict[str, dict[str, object]], content: str, name: str
) -> None:
    (tmp_path / "cosqa.toml").write_text(content)
    with pytest.raises(
        SettingsError, match=rf"{name} \(cosqa\.toml\): must be a section"
    ) as caught:
        load_settings(given)
    assert "sk-key" not in str(caught.value), "a value may be a key"


def test_a_file_that_may_not_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cosqa.toml").write_text("")

    def refused(_file: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(SettingsError, match=r"cosqa\.toml cannot be read: Permission denied"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("COSQA_SEARCH__ENCODERS", DEEP),
        ("COSQA_SEARCH__ENCODERS", f"[{DIGITS}]"),
        ("COSQA_LLM", DEEP),
        ("COSQA_LLM", '{"api_key": "sk-secret", "budget_usd": ' + DIGITS + "}"),
        ("COSQA_LLM", '{"api_key": "sk-secret"'),
        ("COSQA_SEARCH__TOP_K", DIGITS),
    ],
)
def test_a_variable_that_no_parser_takes_is_named_without_a_key(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    message = str(caught.value)
    assert "sk-secret" not in message
    assert len(message) < 1_000
    assert name in message or name.removeprefix("COSQA_").lower().replace("__", ".") in message


NO_BUDGETS = ("1e999", "inf", "nan", "-1", "0", "0x10", "$5", "5,0", "", "1e-400")


@pytest.mark.parametrize(
    "name", ["llm.budget_usd", "encoder.budget_usd", "reannotation.budget_usd"]
)
@pytest.mark.parametrize("value", NO_BUDGETS)
def test_a_budget_that_is_no_sum_of_money_is_refused_with_its_name_and_bounds(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    variable = f"COSQA_{name.upper().replace('.', '__')}"
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert f"{name} = {value!r} ({variable}): must be a number above 0" in str(caught.value)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("COSQA_LLM__BUDGET_USD", "COSQA_LLM__BUDGET_USD__X"),
        ("COSQA_LLM__BUDGET_USD", "cosqa_llm__budget_usd"),
        ("cosqa_reannotation__limits", "COSQA_REANNOTATION__LIMITS__X"),
        ("COSQA_LLM", "Cosqa_LLM"),
    ],
)
def test_of_two_variables_none_is_dropped_in_silence(
    monkeypatch: pytest.MonkeyPatch, first: str, second: str
) -> None:
    for name in (first, second):
        monkeypatch.setenv(name, "{}")
    with pytest.raises(SettingsError, match="are both set"):
        load_settings()


def test_a_section_and_its_keys_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSQA_LLM", '{"model": "a/b", "budget_usd": 3}')
    monkeypatch.setenv("COSQA_LLM__BUDGET_USD", "5")
    settings = load_settings()
    assert (settings.llm.model, settings.llm.budget_usd) == ("a/b", 5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("COSQA_LLM__BASE_URL", "https://user:hunter2@host/v1"),
        ("COSQA_LLM__BASE_URL", "https://hunter2@host/v1"),
        ("COSQA_LLM__BASE_URL", "https://user:hunter2/more@host/v1"),
        ("COSQA_LLM__BASE_URL", "https://host/v1?version=1&api-key=hunter2"),
        ("COSQA_LLM__MODEL", "openai/https://user:hunter2@host"),
        ("COSQA_ENCODER__BASE_URL", "http://user:hunter2@host"),
        ("COSQA_RAY__ADDRESS", "ray://user:hunter2@host:10001"),
        ("COSQA_LLM", '{"base_url": "https://user:hunter2@host/v1"}'),
    ],
)
def test_an_address_with_a_password_is_refused_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match="_API_KEY") as caught:
        load_settings()
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "address", ["127.0.0.1:8080/v1", "localhost", "ftp://host/v1", "user:hunter2@host/v1"]
)
@pytest.mark.parametrize("section", ["LLM", "ENCODER"])
def test_an_address_without_a_scheme_is_refused_and_no_password_in_it_is_shown(
    monkeypatch: pytest.MonkeyPatch, section: str, address: str
) -> None:
    monkeypatch.setenv(f"COSQA_{section}__BASE_URL", address)
    with pytest.raises(SettingsError, match="begins with http:// or https://") as caught:
        load_settings()
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_an_address_without_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    address = "https://host:8443/v1?api-version=2024-10-21"
    monkeypatch.setenv("COSQA_LLM__BASE_URL", address)
    assert load_settings().llm.base_url == address


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
