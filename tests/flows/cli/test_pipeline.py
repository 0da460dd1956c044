"""What the pipeline's commands print, and what they leave out without agents."""

import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from flows.cli import commands, pipeline
from flows.cli.app import app
from flows.cli.pipeline import print_plan, print_report
from flows.options import settings_of
from infra.collected import whole
from infra.errors import CosqaError, SettingsError
from infra.settings import Settings, load_settings
from infra.settings.reference import lasting_settings
from infra.store import open_database
from infra.store.corpus import replace_collections
from tasks.reports.run import BenchmarkScores
from tasks.reports.text import NONE
from tasks.runtime.input_checks import check, check_source
from tasks.sources import open_source, sources
from tasks.stages.generate.write import verifying_committee
from tasks.stages.preflight import check_agents, check_annotators
from tasks.stages.report import WrittenReport
from tests.fakes.llm_server import KEY, ScriptedServer
from tests.flows.published_files import standard_library, write_codesearchnet

METRICS = ("MAP", "MRR", "NDCG(gain=exponential)@10", "Recall@10", "Precision@10", "bpref", "MMRR")


def scores(**update: object) -> BenchmarkScores:
    return BenchmarkScores(
        name="python-source-documentation",
        label_origin="documentation",
        queries=500,
        codes=15_228,
        depth=1000,
        methods={
            "bm25": dict.fromkeys(METRICS, 0.28),
            "bag-of-words+tf-idf+bm25+all-MiniLM-L6-v2+unixcoder": {"MAP": 0.3959, "MRR": 0.4395},
        },
    ).model_copy(update=update)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_scores_fit_the_terminal_and_no_figure_is_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    print_report(WrittenReport(file=Path("/out/report.html"), benchmarks=(scores(),), links={}))
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert max(map(len, lines)) <= width
    assert "means over 500 queries with a match · 15,228 functions" in " ".join(lines)
    (bm25,) = [line for line in lines if line.startswith("bm25")]
    (fused,) = [line for line in lines if line.startswith("bag-of")]
    assert "0.2800" in bm25
    assert fused.split()[1:3] == ["0.3959", "0.4395"]
    (header,) = [line for line in lines if line.startswith("method")]
    assert ("all of it in /out/report.html" in " ".join(lines)) == ("MMRR" not in header)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with queries and codes, in which commands run no flow."""
    sources.get("jsonl").write_example(tmp_path)
    checkpoint = tmp_path / "a b'\""
    checkpoint.mkdir()
    (checkpoint / "config.json").write_text('{"model_type": "roberta"}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COSQA_CONFIG", raising=False)
    monkeypatch.setattr(pipeline, "run_flow", lambda *_: None)
    return tmp_path


def ran(*words: str) -> str:
    outcome = CliRunner().invoke(app, words)
    assert outcome.exit_code == 0, outcome.output
    return outcome.output


GIVEN = (
    *("--source", "jsonl", "--path", ".", "--set", "source.filters=testable", "--top-k", "3"),
    *("--encoder", "minilm", "--checkpoint", "codebert-search=a b'\"", "--model", "openai/m"),
    *("--set", "publish.include_unlicensed=true", "--set", "publish.folder=out"),
)


def test_the_first_command_with_an_input_keeps_its_options_for_later_ones(folder: Path) -> None:
    assert "cosqa.toml keeps these options" in ran(
        "collect", *GIVEN, "--set", "annotation.limit=3", "--reread"
    )
    kept = load_settings()
    assert kept.source.name == "jsonl"
    assert kept.source.options == {"path": ".", "filters": "testable"}
    assert (kept.search.top_k, kept.search.encoders) == (3, ("minilm",))
    assert kept.encoder.checkpoints == {"codebert-search": Path("a b'\"")}
    assert kept.llm.model == "openai/m"
    assert (kept.publish.include_unlicensed, kept.publish.folder) == (True, Path("out"))
    assert (kept.annotation.limit, kept.source.reread) == (None, False), "of that run alone"


def test_later_commands_change_no_kept_options_but_go_by_their_own(folder: Path) -> None:
    ran("collect", *GIVEN)
    kept = (folder / "cosqa.toml").read_bytes()
    printed = ran("collect", "--source", "jsonl", "--top-k", "9")
    assert (folder / "cosqa.toml").read_bytes() == kept
    assert "keeps" not in printed
    assert "later commands take other input or candidates, or another store: give" in printed


def test_who_collects_what_later_commands_do_not_take_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the next `cosqa annotate` would judge the first collection in silence."""
    (folder / "two").mkdir()
    sources.get("jsonl").write_example(folder / "two")
    ran("collect", *GIVEN)
    for same in ((), GIVEN, ("--path", "./"), ("--path", str(folder)), ("--reread",)):
        assert "later commands take" not in ran("collect", *same), same
    other = ("collect", "--path", "two", "--collection", "two")
    told = "Without these options later commands take the collection jsonl: give them the same"
    assert told in ran(*other)
    checked = []
    monkeypatch.setattr(pipeline, "check", lambda *given: checked.append(given))
    assert "later commands take" not in ran("collect", *GIVEN)
    assert "later commands take" in ran(*other, "--top-k", "9")
    assert not checked, "the input is read again only where nothing else tells"
    monkeypatch.setenv("COSQA_CONFIG", "own.toml")
    (folder / "own.toml").write_text("[search]\ntop_k = 0\n")
    assert "later" not in ran(*other, *GIVEN[:2], "--top-k", "2"), "they are told the mistake"


def test_a_preset_is_kept_by_its_name(folder: Path) -> None:
    file = folder / "kept.toml"
    file.write_text(lasting_settings({"source": {"path": None}}, "codesearchnet-documentation"))
    assert file.read_text() == 'preset = "codesearchnet-documentation"\n'


def test_what_runs_nothing_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "print_plan", lambda *_: None)
    open_database(load_settings().store)
    ran("annotate", *GIVEN, "--plan")
    assert not (folder / "cosqa.toml").exists()


def test_the_sample_is_kept_until_other_input_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "cosqa.toml"
    ran("benchmark")
    assert file.read_text() == 'preset = "sample"\n'
    monkeypatch.setenv("COSQA_LLM__MODEL", "openai/m")  # after which the sample is still meant
    assert settings_of(commands.annotate, {}).source.name == "stdlib-sample"
    other = settings_of(commands.annotate, {"path": "src"})
    assert (other.source.name, other.search.top_k) == ("python-source", 20)
    ran("collect", *GIVEN)
    assert (load_settings().preset, load_settings().source.name) == (None, "jsonl")
    file.write_text('preset = "sample"\n\n[search]\ntop_k = 7\n')
    ran("collect", *GIVEN)
    assert load_settings().search.top_k == 7, "what the user has written is left"


def test_who_names_a_settings_file_gets_no_other(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "own.toml").write_text("")
    monkeypatch.setenv("COSQA_CONFIG", "own.toml")
    ran("collect", *GIVEN)
    assert not (folder / "cosqa.toml").exists()
    assert (folder / "own.toml").read_bytes() == b""


def test_a_command_that_fails_keeps_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise SettingsError("no")

    monkeypatch.setattr(pipeline, "run_flow", fail)
    assert CliRunner().invoke(app, ["collect", *GIVEN]).exit_code
    assert not (folder / "cosqa.toml").exists()


def test_a_metric_that_a_method_lacks_is_no_zero(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    print_report(WrittenReport(file=Path("/out/report.html"), benchmarks=(scores(),), links={}))
    (fused,) = [row for row in capsys.readouterr().out.splitlines() if row.startswith("bag-of")]
    assert fused.split()[1:] == ["0.3959", "0.4395", *[NONE] * 5]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings over two queries and two codes, without a model."""
    rows = {
        "queries": ({"query": "double"}, {"query": "halve"}),
        "codes": ({"code": "def f(x):\n    return 2 * x"}, {"code": "def g(x):\n    return x / 2"}),
    }
    for name, items in rows.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in items))
    return Settings.model_validate(
        {
            "source": {"name": "jsonl", "path": tmp_path},
            "store": {"folder": tmp_path / "store"},
            "annotation": {"configuration": "single"},
        }
    )


@pytest.fixture
def without_agents(settings: Settings) -> Settings:
    """The same settings with a model without a key, and the agents left out."""
    annotation = settings.annotation.model_copy(update={"agents": False})
    llm = settings.llm.model_copy(update={"model": "openai/gpt-4o-mini"})
    return settings.model_copy(update={"annotation": annotation, "llm": llm})


def test_without_agents_nothing_is_planned_and_no_model_is_checked(
    without_agents: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(SettingsError, match=r"annotation\.agents is false"):
        print_plan("benchmark", check(without_agents, check_source))
    with pytest.raises(SettingsError, match="COSQA_ANNOTATION__AGENTS=true"):
        check_agents(check(without_agents, check_source))


def test_without_agents_the_whole_pipeline_goes_from_candidates_to_the_export(
    without_agents: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module("flows.benchmark")
    done: list[str] = []
    ready = SimpleNamespace(settings=without_agents)
    monkeypatch.setattr(module, "check_inputs", lambda *_: ready)

    def note(name: str) -> tuple[str, list[str]]:
        done.append(name)
        return name, []

    for name in (
        "collect_candidates",
        "judge_as_far_as_asked",
        "publish_labels",
        "score_benchmarks",
    ):
        monkeypatch.setattr(module, name, lambda *_, name=name: note(name))
    for name in ("export_sentence", "with_notes"):
        monkeypatch.setattr(module, name, lambda *_: "")
    module.benchmark.fn(without_agents)
    assert done == ["collect_candidates", "publish_labels", "score_benchmarks"]


def test_the_agents_judge_nothing_of_the_preset_whose_labels_are_documentation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert not load_settings({}, "codesearchnet-documentation").annotation.agents
    assert load_settings({}, "cosqa-plus-v2").annotation.agents
    monkeypatch.setenv("COSQA_ANNOTATION__AGENTS", "true")
    assert load_settings({}, "codesearchnet-documentation").annotation.agents


class ServerStartedError(Exception):
    """A server was started."""


@pytest.fixture
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever starts a server fails."""

    def start(*_: object, **__: object) -> None:
        raise ServerStartedError

    monkeypatch.setattr("flows.runtime.command_run.prefect_api", start)
    for name in ("OPENAI_API_KEY", "COSQA_LLM__API_KEY"):
        monkeypatch.delenv(name, raising=False)


def told(command: str, *options: str) -> str:
    """Return the error of a command."""
    done = CliRunner().invoke(app, [command, *options])
    assert isinstance(done.exception, CosqaError | ServerStartedError), done.output
    return f"{type(done.exception).__name__}: {done.exception}"


@pytest.fixture
def answering_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """A server that answers harmless requests, and is asked by each command."""
    with ScriptedServer([]) as server:
        monkeypatch.setenv("COSQA_LLM__BASE_URL", server.base_url)
        monkeypatch.setenv("COSQA_LLM__API_KEY", KEY)
        yield server


def store_source(settings: Settings) -> None:
    """Store the collections of a source, as `cosqa collect` does."""
    source, database = open_source(settings.source), open_database(settings.store)
    contents = source.read()
    replace_collections(database, source.fingerprint(), contents, next(iter(contents)))


NAMED = ("--model", "openai/gpt-4o-mini")


@pytest.mark.usefixtures("no_server")
@pytest.mark.parametrize("command", ["benchmark", "annotate"])
def test_a_missing_key_is_told_before_a_server_starts(
    command: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_source(settings)
    source = ("--source", "jsonl", "--path", str(settings.source.path))  # type: ignore[attr-defined]
    store = ("--store", str(settings.store.folder))
    assert "needs a key: set COSQA_LLM__API_KEY" in told(command, *source, *store, *NAMED)
    monkeypatch.setenv("COSQA_LLM__API_KEY_BLOCK", "of-the-model")
    assert "ServerStarted" in told(command, *source, *store, *NAMED), "which alone knows the key"


@pytest.mark.usefixtures("no_server", "answering_model")
def test_code_without_licences_is_judged_for_private_use_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    codes = [{"function": "def f(x): return x", "url": "u"}]
    (tmp_path / "python_dedupe_definitions_v2.pkl").write_bytes(pickle.dumps(codes))
    (tmp_path / "queries.jsonl").write_text('{"query": "give x"}\n')
    source = ("--queries", "queries.jsonl", "--codes", f"codesearchnet={tmp_path}", *NAMED)
    missing = "python_licenses.pkl with the functions' licences is missing"
    assert missing in (refused := told("benchmark", *source))
    assert "--include-unlicensed for private use" in refused
    assert "ServerStarted" in told("benchmark", *source, "--include-unlicensed")


@pytest.mark.usefixtures("no_server")
@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("openai/", "names a provider and no model"), ("gpt4", "no provider is known for it"),
        ("openrouter/", "names a provider and no model"),
        ("unknown/model", "unknown/model"),
    ],
)  # fmt: skip
def test_the_name_of_a_model_is_checked_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COSQA_LLM__API_KEY", KEY)
    given = ("--source", "python-source", "--model", model)
    assert said in told("benchmark", *given)
    assert said in told("benchmark", *given, "--plan"), "a plan of it could not be run"
    assert not (tmp_path / "cosqa-data").exists()


@pytest.mark.usefixtures("no_server")
def test_a_model_that_does_not_answer_is_told_before_a_server_starts(
    tmp_path: Path, answering_model: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    (tmp_path / "mine.py").write_text("def f(x):\n    return x\n")
    monkeypatch.setenv("COSQA_LLM__API_KEY", "wrong")
    source = ("--path", str(tmp_path), "--include-unlicensed", *NAMED)
    assert "refused the request (401: " in (refused := told("benchmark", *source))
    assert "check the model's name, the key in COSQA_LLM__API_KEY" in refused
    assert [call["role"] for call in answering_model.calls] == ["probe"], "one request"
    monkeypatch.setenv("COSQA_LLM__BASE_URL", answering_model.base_url.removeprefix("http://"))
    assert "an address begins with http:// or https://" in told("benchmark", *source)


@pytest.mark.usefixtures("no_server", "answering_model", "benchmark")
@pytest.mark.parametrize(
    "command", [("repair", "beir"), ("leaderboard", "--benchmark", "beir", "--annotate-unjudged")]
)
def test_who_judges_a_benchmark_is_asked_before_a_server_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COSQA_LLM__API_KEY", "wrong")
    assert "refused the request (401: " in told(*command, "--method", "bm25", *NAMED)


@pytest.mark.usefixtures("no_server")
def test_what_writes_queries_is_planned_without_a_key_and_checked_before_a_server_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def double(x):\n    return x + x\n")
    (tmp_path / "plain.jsonl").write_text('{"query": "twice"}\n')
    source = ("collect", "--path", str(tmp_path), "--queries", "written")
    assert _NO_MODEL in told(*source)
    assert _NO_MODEL in told(*source, "--plan")
    planned = CliRunner().invoke(app, [*source, *NAMED, "--plan"])
    assert planned.exit_code == 0
    assert "for 1 function of 1 file" in planned.output
    assert "cost about $0.0" in planned.output
    plain = (*source[:3], "--queries", "plain.jsonl", "--plan")
    assert "Nothing is asked of a model" in CliRunner().invoke(app, plain).output
    assert not (tmp_path / "cosqa-data").exists(), "a plan makes no store"
    assert "needs a key: set COSQA_LLM__API_KEY" in told(*source, *NAMED)
    assert "cannot write anything" in told(*source, "--model", "recorded/stdlib-sample")
    assert (tmp_path / "cosqa-data").exists()
    assert "for 1 function" in CliRunner().invoke(app, [*source, *NAMED, "--plan"]).output
    monkeypatch.setenv("COSQA_LLM__API_KEY", KEY)
    monkeypatch.setenv("COSQA_LLM__BASE_URL", "http://127.0.0.1:9/v1")
    assert "check that its server runs, and COSQA_LLM__BASE_URL" in told(*source, *NAMED)


@pytest.mark.usefixtures("no_server")
def test_a_preset_says_before_its_run_that_the_export_is_for_private_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_codesearchnet(tmp_path / "csn", standard_library(9))
    options = ("--preset", "codesearchnet-documentation", "--path", str(tmp_path / "csn"))
    assert "keep it for private use" in CliRunner().invoke(app, ["benchmark", *options]).output


@pytest.mark.usefixtures("no_server")
def test_the_preset_of_annotated_functions_reads_the_grades_that_lie_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    codes = [{"function": "def f(x): return x", "url": "u"}]
    (tmp_path / "python_dedupe_definitions_v2.pkl").write_bytes(pickle.dumps(codes))
    (tmp_path / "python_licenses.pkl").write_bytes(pickle.dumps({}))
    words = ("benchmark", "--preset", "csn-python", "--path", str(tmp_path))
    assert "annotationStore.csv cannot be read" in told(*words)
    rows = "Language,Query,GitHubUrl,Relevance,Notes\nPython,give x,u,3,as asked\n"
    (tmp_path / "annotationStore.csv").write_text(rows)
    assert "ServerStarted" in told(*words)
    settings = load_settings({"source": {"path": tmp_path}}, "csn-python")
    [content] = open_source(settings.source).read().values()
    [label] = whole(content).labels
    assert (label.relevance, label.note) == (1, "as asked")


@pytest.fixture
def benchmark(tmp_path: Path) -> str:
    """A BEIR folder of one pair."""
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    for name in ("corpus.jsonl", "queries.jsonl"):
        (folder / name).write_text('{"_id": "1", "text": "x"}\n')
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\t1\t1\n")
    return str(folder)


@pytest.mark.usefixtures("no_server")
def test_the_keys_of_other_commands_are_checked_before_a_server_starts(
    settings: Settings, tmp_path: Path
) -> None:
    store_source(settings)
    source = ("--source", "jsonl", "--path", str(tmp_path), "--store", str(settings.store.folder))
    assert "needs a key" in told("generate", *source, *NAMED)


_NO_MODEL = (
    "SettingsError: no language model is named: give --model PROVIDER/NAME or COSQA_LLM__MODEL"
)


@pytest.mark.usefixtures("no_server")
def test_whatever_would_ask_a_model_and_has_none_is_refused_at_once_with_the_ways_out(
    settings: Settings, tmp_path: Path, benchmark: str
) -> None:
    store = ("--store", str(settings.store.folder))
    source = ("--source", "jsonl", "--path", str(tmp_path), *store)
    truth = tmp_path / "truth.jsonl"
    truth.write_text('{"query": "q", "code": "def f(): ...", "label": 1}\n')
    for words in (
        ("benchmark", *source),
        ("benchmark", *source, "--plan"),
        ("annotate", *source),
        ("annotate", *source, "--plan"),
        ("generate", *source),
        ("leaderboard", "--benchmark", benchmark, "--annotate-unjudged", *store),
        ("compare-annotators", "--truth", str(truth), *store),
    ):
        assert _NO_MODEL in told(*words), words
        assert "`cosqa benchmark` in an empty folder" in told(*words)
    assert not settings.store.folder.exists()


@pytest.mark.usefixtures("no_server")
def test_what_asks_no_model_goes_on_without_one(
    settings: Settings, tmp_path: Path, benchmark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_source(settings)
    store = ("--store", str(settings.store.folder))
    source = ("--source", "jsonl", "--path", str(tmp_path), *store)
    for command in ("collect", "publish", "evaluate"):
        assert "ServerStarted" in told(command, *source)
    by_terms = ("--benchmark", benchmark, "--method", "bm25", *store)
    assert "ServerStarted" in told("leaderboard", *by_terms)
    monkeypatch.setenv("COSQA_ANNOTATION__AGENTS", "false")
    assert "ServerStarted" in told("benchmark", *source)


def test_a_deployment_without_a_model_is_refused_before_an_engine_is_asked(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    ready = check(settings, check_source)
    for asked in (
        lambda: check_agents(ready),
        lambda: check_agents(ready, verifying_committee(settings.committee, "spec")),
        lambda: check_annotators(ready, [settings.llm.model], ["paper"]),
    ):
        with pytest.raises(SettingsError, match=r"no language model is named: .*COSQA_LLM__MODEL"):
            asked()


@pytest.mark.usefixtures("no_server")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("estimate", "--train", "bad.jsonl", "--queries", "good.jsonl"), "bad.jsonl"),
        (("estimate", "--train", "good.jsonl", "--queries", "bad.jsonl"), "bad.jsonl"),
        (("train", "--data", "bad.jsonl", "--base", "cnn"), "bad.jsonl"),
        (("train", "--data", "empty", "--base", "cnn"), "empty"),
        (("study-training", "--data", "docs=bad.jsonl", "--base", "cnn"), "bad.jsonl"),
        (("study-kape", "--data", "docs=parts"), "train.jsonl"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_before_a_server_starts(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("parts").mkdir()
    pairs = "".join(f'{{"query": "q {n}", "code": "def f{n}(): ..."}}\n' for n in range(9))
    Path("good.jsonl").write_text(pairs)
    for bad in ("bad.jsonl", "parts/train.jsonl"):
        Path(bad).write_text(pairs + '{"query": "q", "code": \n')
    Path("parts/test.jsonl").write_text(pairs)
    refused = told(*words)
    assert said in refused
    assert "ServerStarted" not in refused


@pytest.mark.usefixtures("no_server", "answering_model")
def test_an_engine_that_is_away_is_told_before_a_server_starts(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    options = ("--source", "jsonl", "--path", str(tmp_path), "--store", str(settings.store.folder))
    refused = told("benchmark", *options, *NAMED)
    assert "EngineUnavailableError" in refused
    assert "ensure_engine.sh" in refused


def test_to_find_that_nothing_is_left_to_do_takes_no_import_of_prefect() -> None:
    asked = (
        "import sys, flows.cli.pipeline, tasks.stages.up_to_date; "
        "from tasks.runtime.progress import run_logger; run_logger('x').info('y'); "
        "print([name for name in ('prefect', 'ray', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
