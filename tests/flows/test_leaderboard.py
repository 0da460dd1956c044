"""Leaderboards and differences from end to end, on benchmarks that came as folders.

Covers `flows.leaderboard`, `tasks.stages.leaderboard`, `tasks.stages.diff`, `tasks.stages.pooling`.
"""

import json
import shutil
from pathlib import Path
from statistics import fmean

import pyarrow.parquet as pq
import pytest

from flows.cli.evaluation import print_leaderboard
from flows.cli.output import print_document
from flows.leaderboard import diff as compare_folders
from flows.leaderboard import leaderboard
from infra.errors import PublishError, SettingsError, SourceError, UnknownNameError
from infra.records import GivenVote
from infra.settings import Settings
from infra.store import open_database
from infra.store.samples import Sample, SampleItem, add_sample, assign
from infra.store.votes import record_votes
from tasks.benchmarks import benchmark_fingerprint, write_benchmark
from tasks.benchmarks.interchange import write_beir
from tasks.benchmarks.sealing import seal_benchmark, write_answers
from tasks.encoders import encoders
from tasks.inputs.formats.beir import Beir
from tasks.inputs.formats.export import read_benchmark
from tasks.reports.diff import difference
from tasks.reports.estimation import EstimationReport, MethodEstimate
from tasks.reports.labels import answers_figure
from tasks.runtime.input_checks import check_training
from tasks.stages.label.report import orders_document
from tasks.stages.label.results import LabelResults, RightAnswers, label_results
from tasks.stages.label.sample import Drawing, sample_results
from tests.fakes.checkpoints import make_checkpoint
from tests.fakes.llm_server import KEY, ScriptedServer
from tests.flows.cases import CASES, script
from tests.flows.world import World, environment, settings_in
from tests.tasks.reports.cases import AFTER, BEFORE, benchmark

METHODS = ("bm25", "bag-of-words", "bm25+tf-idf")


@pytest.fixture
def export(tmp_path: Path) -> Path:
    write_benchmark(benchmark(), tmp_path / "benchmark")
    return tmp_path / "benchmark"


@pytest.mark.usefixtures("prefect_server")
def test_methods_and_foreign_runs_are_ranked_scored_stored_and_shown(
    tmp_path: Path, export: Path
) -> None:
    settings = settings_in(tmp_path, *METHODS)
    first = leaderboard(export, settings=settings)
    files = {file: file.stat().st_mtime_ns for file in first.folder.glob("runs/*.trec")}
    assert len(files) == 3
    with open_database(settings.store).transaction() as tx:
        stored = {
            str(method): (str(benchmark_id), int(str(queries)))
            for method, benchmark_id, queries in tx.rows(
                "SELECT method, benchmark_id, count(DISTINCT query_id) FROM evaluations "
                "JOIN scores USING (benchmark_id, method_key) GROUP BY ALL"
            )
        }
    checksum = benchmark_fingerprint(benchmark())
    assert stored == dict.fromkeys(METHODS, (checksum, 40))

    assert first.corrected is None
    let_a_person_label(settings, queries=12)
    foreign, partial = tmp_path / "foreign.trec", tmp_path / "partial.trec"
    foreign.write_text(next(iter(files)).read_text())
    ranked = foreign.read_text().splitlines(keepends=True)
    partial.write_text("".join(line for line in ranked if line.split()[0] == ranked[0].split()[0]))
    second = leaderboard(export, runs=[foreign, partial], settings=settings)
    assert {file: file.stat().st_mtime_ns for file in files} == files, "no method ranks twice"
    rows = {row.method: row.cells for row in second.before.rows}
    assert set(rows) == {*METHODS, "foreign", "partial"}
    unranked = {row.method: row.unranked for row in second.before.rows}
    assert (unranked["partial"], unranked["foreign"]) == (39, 0)
    assert rows["foreign"] in [rows[method] for method in METHODS]
    table = pq.read_table(second.folder / "per_query.parquet")
    assert table.num_rows == 5 * 40
    page = (second.folder / "leaderboard.html").read_text()
    assert all(method in page for method in rows)
    lines = (second.folder / "unjudged.jsonl").read_text().splitlines()
    assert len(lines) == second.unjudged > 0
    assert second.corrected
    assert (second.corrected.sampled_queries, second.corrected.queries) == (12, 40)
    best = second.before.rows[0]
    figure = second.corrected.figures[0]
    assert (figure.metric, figure.method) == ("NDCG@10", best.method)
    assert "Corrected by people" in page


@pytest.mark.usefixtures("prefect_server")
def test_a_leaderboard_says_what_methods_took_also_where_all_was_stored_before(
    tmp_path: Path, export: Path
) -> None:
    folder = make_checkpoint("minilm", tmp_path / "mine", 384)
    mine = encoders.adopt(f"checkpoint:mine={folder}?like=minilm")
    settings = settings_in(tmp_path, "bm25", mine, f"bm25+{mine}")
    first = leaderboard(export, settings=settings)
    speeds = {row.method: row.speed for row in first.before.rows}
    speed, fused, words = speeds[mine], speeds[f"bm25+{mine}"], speeds["bm25"]
    assert speed
    assert fused
    assert words
    codes = len(benchmark().codes)
    assert speed.megabytes == fused.megabytes == codes * 384 * 4 / 1e6
    assert speed.texts
    assert speed.texts == fused.texts
    assert (len(speed.machines), speed.usd) == (1, None)
    assert (words.texts, words.megabytes, words.machines) == (None, None, ())
    assert words.queries
    again = leaderboard(export, settings=settings)
    assert {row.method: row.speed for row in again.before.rows} == speeds
    assert "Which to take" in (again.folder / "leaderboard.html").read_text()


@pytest.mark.usefixtures("prefect_server")
def test_an_encoder_behind_an_api_has_the_price_of_a_thousand_texts(
    tmp_path: Path, export: Path
) -> None:
    theirs = encoders.adopt("api:theirs=openai/text-embedding-3-small?dimension=8")
    unlisted = encoders.adopt("api:openai/tiny")
    with ScriptedServer([]) as server:
        tokens = 12 * len(benchmark().codes)  # at $0.02 a million
        server.embedding_steps = [{"usage": {"prompt_tokens": tokens, "total_tokens": tokens}}]
        encoder = {"base_url": server.base_url, "api_key": KEY}
        settings = settings_in(tmp_path, theirs, unlisted, encoder=encoder)
        board = leaderboard(export, settings=settings).before
    speeds = {row.method: row.speed for row in board.rows}
    speed, unknown = speeds[theirs], speeds[unlisted]
    assert speed
    assert unknown
    assert speed.usd == pytest.approx(12 * 0.02 / 1_000)
    assert (speed.machines, speed.megabytes) == (("API",), len(benchmark().codes) * 8 * 4 / 1e6)
    assert speed.texts
    assert unknown.usd is None, "a price that nobody lists is unknown, not 0"
    assert unknown.megabytes, "its dimension is that of the vectors"


def let_a_person_label(settings: Settings, queries: int) -> None:
    """Let a person label all judged pairs of some queries of the benchmark as it does itself."""
    content = benchmark()
    chosen = {query.query_id for query in content.queries[:queries]}
    labels = [label for label in content.labels if label.query_id in chosen]
    items = [
        SampleItem(
            query_id=label.query_id, code_id=label.code_id, position=place
        )
        for place, label in enumerate(labels, 1)
    ]  # fmt: skip
    sample = Sample(collection="", body={"drawn": "queries"}, items=tuple(items))
    database = open_database(settings.store)
    add_sample(database, sample, [*content.queries, *content.codes])
    votes = [
        GivenVote(
            query_id=label.query_id, code_id=label.code_id, origin=sample.origin, annotator="a",
            relevance=label.relevance,
        )
        for label in labels
    ]  # fmt: skip
    with database.transaction() as tx:
        record_votes(tx, "", votes)


@pytest.mark.usefixtures("prefect_server")
def test_our_beir_folder_gets_the_scores_of_the_export(tmp_path: Path, export: Path) -> None:
    settings = settings_in(tmp_path, "bm25")
    whole = leaderboard(export, settings=settings).before
    beir = leaderboard(export / "beir", settings=settings).before
    assert [row.cells for row in beir.rows] == [row.cells for row in whole.rows]


@pytest.mark.usefixtures("prefect_server")
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"benchmark": Path("/")}, SourceError, "is not a benchmark: it has neither"),
        ({"method": "bm26"}, UnknownNameError, "unknown retrieval method 'bm26'"),
        ({"metric": "NDCQ"}, UnknownNameError, "unknown metric 'NDCQ'"),
        ({"runs": ["a/x.trec", "b/x.trec"]}, SettingsError, "two runs are named 'x'"),
        ({"runs": ["bm25.trec"]}, SettingsError, "two runs are named 'bm25'"),
        ({"runs": ["absent.trec"]}, SourceError, "absent.trec cannot be read"),
        ({"runs": ["bad.trec"]}, SourceError, "bad.trec:1: score is 'high', no number"),
        ({"runs": ["nan.trec"]}, SourceError, "nan.trec:1: a score is not a number"),
        ({"runs": ["other.trec"]}, SourceError, "'other' ranks none of the queries of toy"),
        ({"annotate_unjudged": True}, PublishError, "was not published from the store"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused_with_the_reason(
    tmp_path: Path, export: Path, change: dict[str, object], error: type[Exception], message: str
) -> None:
    (tmp_path / "other.trec").write_text("q Q0 c 1 1.0 t\n")
    (tmp_path / "bad.trec").write_text("q Q0 c 1 high t\n")
    (tmp_path / "nan.trec").write_text("q Q0 c 1 nan t\n")
    settings = settings_in(tmp_path, str(change.get("method", "bm25")))
    metrics = (str(change["metric"]),) if "metric" in change else ()
    evaluation = settings.evaluation.model_copy(update={"metrics": metrics})
    runs = change.get("runs", [])
    with pytest.raises(error, match=message):
        leaderboard(
            Path(str(change.get("benchmark", export))),
            runs=[tmp_path / str(run) for run in runs] if isinstance(runs, list) else [],
            settings=settings.model_copy(update={"evaluation": evaluation}),
            annotate_unjudged=bool(change.get("annotate_unjudged")),
        )
    assert not list((tmp_path / "out").rglob("*.trec")), "all faults are found before any ranking"


@pytest.mark.usefixtures("prefect_server")
def test_a_keeper_scores_runs_by_sealed_answers_as_before_sealing(
    tmp_path: Path, export: Path
) -> None:
    settings = settings_in(tmp_path, "bm25")
    before = leaderboard(export, settings=settings)
    theirs = tmp_path / "theirs.trec"
    theirs.write_text(next(before.folder.glob("runs/bm25.trec")).read_text())
    public, answers = seal_benchmark(benchmark(), "a salt")
    sealed = tmp_path / "keeper" / "toy"
    write_benchmark(public, sealed)
    file = write_answers(answers, sealed)
    keeper = settings_in(tmp_path / "keeper", evaluation={"answers": file, "depth": 30})
    after = leaderboard(sealed, runs=[theirs], settings=keeper)
    assert [(row.method, row.cells) for row in after.before.rows] == [
        ("theirs", before.before.rows[0].cells)
    ]
    file.write_text(file.read_text().replace("1.0", "0.0", 1))
    with pytest.raises(PublishError, match="an answer was changed"):
        leaderboard(sealed, runs=[theirs], settings=keeper)


@pytest.mark.usefixtures("prefect_server")
def test_without_its_answers_a_sealed_benchmark_is_ranked_and_not_scored(
    tmp_path: Path, export: Path
) -> None:
    settings = settings_in(tmp_path, "bm25")
    public, _ = seal_benchmark(benchmark(), "a salt")
    sealed = tmp_path / "sealed"
    write_benchmark(public, sealed)
    (tmp_path / "theirs.trec").write_text("q Q0 c 1 1.0 t\n")
    told = "the labels of toy-people are sealed: give --answers FILE"
    with pytest.raises(PublishError, match=f"{told}$"):
        leaderboard(sealed, runs=[tmp_path / "theirs.trec"], settings=settings)
    assert not list(tmp_path.rglob("runs/*.trec")), "theirs is refused before others are ranked"
    with pytest.raises(PublishError, match=f"{told}; its rankings, .* are in ") as caught:
        leaderboard(sealed, settings=settings)
    folder = Path(str(caught.value).rpartition(" are in ")[2])
    assert [file.name for file in folder.iterdir()] == ["bm25.trec"]
    with pytest.raises(PublishError, match="sealed: give another benchmark with --test"):
        check_training(settings, {"own": export}, sealed, ["cnn"])
    written = compare_folders(export, sealed, settings)
    assert (written.change.sealed, written.score_changes) == (("second",), ())
    page = (written.folder / "difference.md").read_text()
    assert "The second version's labels are sealed" in page


def test_questions_without_labels_are_ranked_not_scored_and_their_answers_labelled_by_people(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in KAPE's evaluation by people: two methods, three participants."""
    folder = tmp_path / "questions"
    write_beir(benchmark(), folder)
    shutil.rmtree(folder / "qrels")
    settings = settings_in(tmp_path, "bm25", "bag-of-words")
    written = leaderboard(folder, settings=settings)
    assert (written.before.scored, written.before.queries) == (0, len(benchmark().queries))
    print_leaderboard(written)
    assert "There is nothing to score" in capsys.readouterr().out
    assert (written.folder / "leaderboard.html").is_file()

    database = open_database(settings.store)
    drawing = Drawing(23, "answers")
    sample = sample_results(database, folder, (), drawing, settings.publish)
    answers: dict[str, dict[str, str]] = sample.body["answers"]  # type: ignore[assignment]
    assert {method: len(by) for method, by in answers.items()} == {"bag-of-words": 23, "bm25": 23}
    for name, right in (("ann", "bm25"), ("bob", "bm25"), ("cam", "bag-of-words")):
        assign(database, sample, name)
        votes = [
            GivenVote(
                query_id=item.query_id, code_id=item.code_id, annotator=name, origin=sample.origin,
                relevance=answers[right][item.query_id] == item.code_id,
            )
            for item in sample.items
        ]  # fmt: skip
        with database.transaction() as tx:
            record_votes(tx, sample.collection, votes)
    found = label_results(database, sample)
    found_right = {each.method: each.by_annotator for each in found.right}
    counts = [found_right["bm25"][n] for n in ("ann", "bob")] + [found_right["bag-of-words"]["cam"]]
    assert counts == [23, 23, 23]
    with pytest.raises(SourceError, match="qrels"):
        Beir(folder).benchmark()


def test_kapes_order_of_the_methods_stands_beside_the_peoples_and_answers_are_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = {"bag-of-words": {"ann": 12, "bob": 14}, "bm25": {"ann": 17, "bob": 19}}
    found = LabelResults(
        progress=(), agreement=None, conflicts=(), decided=0, by_label={}, preferred=(),
        right=tuple(
            RightAnswers(method=name, queries=23, mean=fmean(by.values()), by_annotator=by)
            for name, by in right.items()
        ),
    )  # fmt: skip
    figure = answers_figure(right, 23)
    assert [row[0] for row in figure.table.rows][:2] == ["ann: bag-of-words", "ann: bm25"]
    assert "right answers" in figure.image.svg()
    estimates = [
        MethodEstimate(method=method, k=5, training=9, queries=23, scores={"MRR": mrr})
        for method, mrr in (("bm25", 0.9), ("bag-of-words", 0.8))
    ]
    report = EstimationReport(title="q", training="t", generated_at="", estimates=tuple(estimates))
    (tmp_path / "estimate.json").write_text(report.model_dump_json())
    print_document(orders_document(found, tmp_path))
    told = " ".join(capsys.readouterr().out.split())
    assert "by people: bm25 (18) > bag-of-words (13)" in told
    assert "by KAPE: bm25 (0.9) > bag-of-words (0.8): the same order" in told
    assert "RoBERTa right 16.4" in told
    with pytest.raises(SettingsError, match="the sample has answers of no method"):
        orders_document(found.model_copy(update={"right": ()}), tmp_path)


@pytest.mark.usefixtures("prefect_server")
def test_no_method_is_scored_that_nobody_names(tmp_path: Path) -> None:
    for name, labelled in (("before", BEFORE), ("after", AFTER)):
        write_benchmark(labelled, tmp_path / name, include_undecided=True)
    written = compare_folders(tmp_path / "before", tmp_path / "after", settings_in(tmp_path))
    assert written.change.flips
    assert not written.score_changes
    assert not list(tmp_path.rglob("*.trec*"))
    assert not list(tmp_path.rglob("*.duckdb")), "two folders are read, and no store is made"


@pytest.mark.usefixtures("prefect_server")
def test_two_exports_are_compared_with_their_effect_on_the_methods(tmp_path: Path) -> None:
    for name, labelled in (("before", BEFORE), ("after", AFTER)):
        write_benchmark(labelled, tmp_path / name, include_undecided=True)
    evaluation = {"methods": ("bm25", "bag-of-words"), "metrics": ("MAP", "MRR")}
    settings = settings_in(tmp_path, evaluation=evaluation)
    written = compare_folders(tmp_path / "before", tmp_path / "after", settings)
    read = [read_benchmark(tmp_path / name) for name in ("before", "after")]
    assert written.change == difference(*read)
    assert {(row.method, row.metric) for row in written.score_changes} == {
        (method, metric) for method in ("bm25", "bag-of-words") for metric in ("MAP", "MRR")
    }
    for row in written.score_changes:
        assert row.shared == pytest.approx(row.after - row.before), "all queries are shared"
        assert row.shared != 0 or row.p_value == 1.0
    flips = (written.folder / "flips.jsonl").read_text().splitlines()
    assert [json.loads(line)["code_id"] for line in flips] == [
        flip.code_id for flip in written.change.flips
    ]
    assert "Effect on the methods" in (written.folder / "difference.md").read_text()


METHOD = "bow-sklearn"  # it ranks all codes, those too that share no word with the query


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.usefixtures("engine")
def test_unjudged_results_are_judged_once_and_scored_again(
    folder: Path, prefect_server: str
) -> None:
    cases = {name: CASES[name] for name in ("clear_match", "clear_non_match")}
    with ScriptedServer(script(cases)) as model:
        world = World(folder, environment(model.base_url, PREFECT_API_URL=prefect_server))
        world.write(list(cases.values()))
        first = world.run("benchmark", "--method", METHOD)
        assert first.returncode == 0, first.stdout
        assert len(model.calls) == 2

        options = ["--benchmark", str(world.output / "jsonl-agents"), "--method", METHOD]
        options.append("--annotate-unjudged")
        some = world.run_on_folder("leaderboard", *options, "--set", "reannotation.pairs=1")
        assert len(model.calls) == 3, some.stdout
        all_of_them = world.run_on_folder("leaderboard", *options)
        assert len(model.calls) == 4, "each unjudged pair is sent once"
    with_both = {case.query: {other.code for other in cases.values()} for case in cases.values()}
    sent = {(call["query"], call["code"]) for call in model.calls}
    assert sent == {(query, code) for query, codes in with_both.items() for code in codes}
    for run, judged in ((some, "0.750"), (all_of_them, "1.000")):
        assert run.returncode == 0, run.stdout
        rows = [line.split() for line in run.stdout.splitlines()]
        scored = [row for row in rows if row[:2] == ["a", METHOD] and len(row) > 9]  # not speeds
        shares = [row[-1] for row in scored]
        assert shares == ["0.500", judged], run.stdout
    _the_next_version_has_the_new_labels(world)
    page = next((world.output / "leaderboards").glob("*/leaderboard.html")).read_text()
    assert "Scores after they were judged" in page


def _the_next_version_has_the_new_labels(world: World) -> None:
    old, version = world.output / "jsonl-agents", world.folder / "second"
    published = world.run("publish", "--output", str(version))
    assert published.returncode == 0, published.stdout
    new = version / "jsonl-agents"
    first, second = read_benchmark(old), read_benchmark(new)
    assert (len(first.labels), len(second.labels)) == (2, 4)
    assert {label.origin for label in second.labels} == {first.label_origin}
    assert len(second.evidence) == 4, "each label has its evidence"
    change = difference(first, second)
    assert (len(change.pairs_added), change.pairs_removed, change.kept) == (2, (), 2)
    assert (change.flips, change.recipe) == ((), {})
