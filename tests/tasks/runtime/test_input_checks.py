"""Laws of the names that a flow goes on with, and of the check that is made once."""

import gzip
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from infra.errors import EncoderError, PublishError, SettingsError, SourceError, UnknownNameError
from infra.settings import (
    EncoderSettings,
    EvaluationSettings,
    PublishSettings,
    SearchSettings,
    Settings,
    SourceSettings,
)
from tasks.benchmarks.manifest import MANIFEST
from tasks.encoders import encoders
from tasks.runtime.input_checks import (
    check,
    check_challenge,
    check_comparison,
    check_estimate,
    check_judging,
    check_kape,
    check_source,
    check_training,
    handed_on,
    take_checked,
    with_named_encoders,
)
from tasks.sources import sources
from tests.fakes.checkpoints import make_checkpoint


def settings(encoders: tuple[str, ...], methods: tuple[str, ...] = ()) -> Settings:
    return Settings(
        search=SearchSettings(encoders=encoders), evaluation=EvaluationSettings(methods=methods)
    )


def test_references_become_names_in_encoders_and_methods(tmp_path: Path) -> None:
    folder = make_checkpoint("roberta-base", tmp_path / "a+b", 16)
    tuned = f"checkpoint:tuned={folder}?pooling=mean"
    api = "api:openai/text-embedding-3-small"
    named = with_named_encoders(
        settings(("minilm", tuned), ("lucene", "tuned", "bm25+tuned", f"bm25+{api}"))
    )
    assert named.search.encoders == ("minilm", "tuned")
    assert named.evaluation.methods == (
        "lucene", "tuned", "bm25+tuned", "bm25+text-embedding-3-small",
    )  # fmt: skip
    assert encoders.get("tuned").spec.source == str(folder)
    assert with_named_encoders(named) == named


def test_one_name_for_two_encoders_is_refused(tmp_path: Path) -> None:
    one, other = (make_checkpoint("roberta-base", tmp_path / n / "model", 16) for n in "ab")
    with pytest.raises(SettingsError, match=r"are both named 'model'.*checkpoint:NAME="):
        with_named_encoders(
            settings((f"checkpoint:{one}?pooling=mean", f"checkpoint:{other}?pooling=mean"))
        )
    with pytest.raises(SettingsError, match="'minilm' twice"):
        with_named_encoders(settings(("minilm", "minilm")))
    with pytest.raises(UnknownNameError, match="unknown encoder 'minilmm'"):
        with_named_encoders(settings(("minilmm",)))


def test_a_folder_stands_in_for_a_registered_encoder_until_it_is_not_given_any_more(
    tmp_path: Path,
) -> None:
    folder = make_checkpoint("codebert-base", tmp_path / "codebert", 768)
    pinned = encoders.get("codebert-search")
    chosen = settings(("codebert-search",)).model_copy(
        update={"encoder": EncoderSettings(checkpoints={"codebert-search": folder})}
    )
    with_named_encoders(chosen)
    placed = encoders.get("codebert-search")
    assert placed.spec.name == "codebert-search"
    assert placed.spec.key != pinned.spec.key
    assert placed().encode(["a b"], "query", 1).shape == (1, 768)
    with_named_encoders(settings(("codebert-search",)))
    assert encoders.get("codebert-search") == pinned


def test_products_are_not_averaged_with_other_similarities(tmp_path: Path) -> None:
    folder = make_checkpoint("codexglue", tmp_path / "model", 16)
    kape = f"checkpoint:kape={folder}?like=codexglue&dimension=16"
    both = settings(("minilm", kape))
    with pytest.raises(SettingsError, match=r"kape.* is compared by products.*FUSION=scaled"):
        check_source(both)
    scaled = both.search.model_copy(update={"fusion": "scaled"})
    check_source(both.model_copy(update={"search": scaled}))
    check_source(settings((kape,)))


@pytest.mark.parametrize(
    "check",
    [
        check_challenge,
        partial(check_comparison, benchmarks=[]),
        partial(check_estimate, files=[]),
        partial(check_kape, data={}),
        partial(check_training, data={}),
    ],
)
def test_an_output_that_cannot_be_a_folder_is_refused_before_the_work(
    tmp_path: Path, check: Callable[[Settings], None]
) -> None:
    (tmp_path / "file").write_text("mine")
    chosen = settings(("minilm",), ("minilm",))
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        own = {"publish": PublishSettings(folder=folder)}
        with pytest.raises(SettingsError, match=r"--output .*file is no folder; choose another"):
            check(chosen.model_copy(update=own))
    new = chosen.model_copy(update={"publish": PublishSettings(folder=tmp_path / "new" / "one")})
    check_challenge(new)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("content", ["", "\n \n", "packed"])
def test_a_run_without_results_is_refused(tmp_path: Path, content: str) -> None:
    run = tmp_path / ("theirs.trec.gz" if content == "packed" else "theirs.trec")
    run.write_bytes(gzip.compress(b"\n") if content == "packed" else content.encode())
    with pytest.raises(SourceError, match=r"theirs\.trec.* has no results: lines of query Q0"):
        check_comparison(settings(("minilm",)), [], [run])


def test_an_export_with_a_damaged_manifest_is_refused_before_anything_starts(
    tmp_path: Path,
) -> None:
    (tmp_path / MANIFEST).write_text('{"name": "mine", "files"')
    with pytest.raises(PublishError, match="is not a manifest"):
        check_comparison(settings(("minilm",)), [tmp_path])


@pytest.mark.parametrize("method", ["codebert-search", "bm25+codebert-search"])
def test_a_method_s_encoder_without_a_checkpoint_is_refused_before_anything_starts(
    tmp_path: Path, method: str
) -> None:
    lacking = settings(("minilm",), ("bm25", method))
    folders = EncoderSettings(checkpoints={"codebert-search": tmp_path})
    for needs in (partial(check_comparison, benchmarks=[]), check_source):
        with pytest.raises(EncoderError, match="give --checkpoint codebert-search=FOLDER"):
            needs(lacking)
        needs(lacking.model_copy(update={"encoder": folders}))


def test_a_flow_takes_what_its_command_has_checked_once_and_for_the_same_settings() -> None:
    ready = check(Settings(), lambda _: "opened")
    with handed_on(ready):
        assert take_checked(Settings()) is ready
        assert take_checked(Settings()) is None, "a flow that it starts checks its own"
    with handed_on(ready):
        assert take_checked(Settings(search=SearchSettings(top_k=3))) is None
    with handed_on(ready):
        pass
    assert take_checked(Settings()) is None, "the command has ended"


@pytest.mark.parametrize("queries", ["cosq=CoSQA/", "cosq", "cosqa-pls=x", "codesearchne"])
def test_a_misspelt_source_of_queries_is_answered_with_what_was_meant(queries: str) -> None:
    source = SourceSettings.model_validate({"name": "jsonl", "path": ".", "queries": queries})
    with pytest.raises(UnknownNameError, match="did you mean 'co"):
        check_source(Settings(source=source))


def test_metrics_that_are_misspelt_are_answered_before_anything_is_ranked() -> None:
    evaluation = EvaluationSettings(methods=("bm25",), metrics=("NDGC@10",))
    with pytest.raises(UnknownNameError, match="did you mean 'NDCG'"):
        check_source(Settings(evaluation=evaluation))


@pytest.mark.parametrize(
    "options",
    [
        {"name": "codesearchnet", "path": "csn"},
        {"name": "codesearchnet", "path": "csn", "queries": "cosqa=cosqa"},
        {"name": "jsonl", "queries": "cosqa=cosqa", "codes": ["codesearchnet=csn"]},
    ],
)
def test_agents_judge_no_codesearchnet_without_licences_wherever_it_is_named(
    options: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, source in (("csn", "codesearchnet"), ("cosqa", "cosqa")):
        Path(folder).mkdir()
        sources.get(source).write_example(Path(folder))
    given: dict[str, dict[str, object]] = {"source": options}
    check_judging(Settings.model_validate(given))
    Path("csn/python_licenses.pkl").unlink()
    with pytest.raises(SourceError, match=r"python_licenses\.pkl .* give --include-unlicensed"):
        check_judging(Settings.model_validate(given))
    for free in ({"publish": {"include_unlicensed": True}}, {"annotation": {"agents": False}}):
        check_judging(Settings.model_validate(given | free))
