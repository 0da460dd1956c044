"""The commands that run flows.

Each is a Typer function: its docstring is its help, its parameters are its options, and the titled
ones are the fields of its deployment's form. Of options that most never need there (``quiet``) the
help says only that they are taken. Checks come first, so that a mistake is answered before Prefect
is imported; what a command does is imported when it runs, so ``--help`` is quick.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows import options as o
from flows.cli.output import STARTING, command, errors, group, print_document, say
from flows.options import settings_of
from flows.runtime import flow_state
from infra.errors import SourceError

if TYPE_CHECKING:
    from infra.settings import Settings
    from tasks.runtime.input_checks import ValidatedInputs

app = typer.Typer(rich_markup_mode="rich")
challenge_app = group("Enter other people's challenges.")


def _result(
    flow: str,
    settings: "Settings",
    needs: Callable[["Settings"], object],
    *,
    judges: bool = False,
    **arguments: object,
) -> Any:  # noqa: ANN401
    """Check what the flow of a name needs, run it, and return its result."""
    from tasks.runtime.input_checks import check

    return _run(flow, check(settings, needs), judges=judges, **arguments)


def _run(flow: str, ready: "ValidatedInputs", *, judges: bool = False, **arguments: object) -> Any:  # noqa: ANN401
    errors.print(STARTING)
    if judges:
        from tasks.stages.preflight import check_committee

        check_committee(ready)
    return flow_state(flow, ready, **arguments).result()


def _run_pipeline(function: Any, given: Mapping[str, object]) -> None:  # noqa: ANN401 - a function
    """Check the input of a pipeline's command, then run its flow or plan it."""
    settings = settings_of(function, given)
    is_plan = bool(given.get("plan"))
    from flows.cli import checks

    ready = checks.pipeline(function.__name__, settings, is_plan=is_plan)
    errors.print(STARTING)
    from flows.cli import pipeline

    if is_plan:
        pipeline.print_plan(function.__name__, ready)
    else:
        pipeline.run_flow(function.__name__, ready)
        pipeline.remember(o.overrides_of(function, given), settings.preset)
        if function.__name__ in checks.COLLECTING:
            pipeline.say_what_later_commands_take(function, ready)
        if settings.llm.is_recorded:
            say(pipeline.NEXT)


@command(
    app,
    "cosqa benchmark --top-k 5",
    "cosqa benchmark --top-k 5 --model openai/gpt-4o-mini --limit 10 --plan",
    panel="Build",
    quiet=(
        "collection", "reread", "index", "reasons", "accept_gold", "until_ranked", "margin",
        "labels", "unlicensed",
    ),
)  # fmt: skip
def benchmark(
    preset: o.Preset = None, source: o.Source = None, path: o.SourcePath = None,
    queries: o.Queries = None, codes: o.Codes = None, collection: o.Collection = None,
    reread: o.Reread = None, encoders: o.Encoders = None, top_k: o.TopK = None,
    index: o.Index = None, checkpoint: o.Checkpoints = None, model: o.Model = None,
    limit: o.Limit = None, reasons: o.Reasons = None, budget_usd: o.Budget = None,
    approve: o.Approve = None, accept_gold: o.AcceptGold = None,
    until_ranked: o.UntilRanked = None, margin: o.Margin = None, methods: o.Scored = None,
    output: o.Output = None, labels: o.Labels = None, unlicensed: o.Unlicensed = None,
    store: o.Store = None, sets: o.Set = None, *, plan: o.Plan = False,
) -> None:  # fmt: skip
    """Run the whole pipeline: collect, annotate, publish, evaluate.

    In an empty folder it runs the packaged sample, of 40 queries with five candidates each, by
    recorded replies: nothing is asked of a model. --source or --path names other input, --model who
    judges it; the defaults below are those that hold in this folder.

    What was done before is not done again: run it again after a crash, with new queries, or with
    another model.
    """
    _run_pipeline(benchmark, locals())


@command(
    app,
    "cosqa collect --source python-source --path src/",
    "cosqa collect --source jsonl --path my-folder",
    "cosqa collect --queries cosqa=CoSQA/ --codes codesearchnet=python/",
    "cosqa collect --path src/ --queries written --model openai/gpt-4o-mini --plan",
    panel="Build",
    quiet=("preset", "reread", "index", "checkpoint", "budget_usd"),
)
def collect(
    preset: o.Preset = None, source: o.Source = None, path: o.SourcePath = None,
    queries: o.Queries = None, codes: o.Codes = None, collection: o.Collection = None,
    reread: o.Reread = None, encoders: o.Encoders = None, top_k: o.TopK = None,
    index: o.Index = None, checkpoint: o.Checkpoints = None, model: o.Model = None,
    budget_usd: o.Budget = None, store: o.Store = None, sets: o.Set = None, *,
    plan: o.PlanOfWriting = False,
) -> None:  # fmt: skip
    """Read queries and code, embed them, and find the candidates of each query.

    With --queries written the model writes the queries, for functions drawn over the files. The
    first command in a folder that names its input writes its options to cosqa.toml for later
    commands; otherwise the model is for them.
    """
    _run_pipeline(collect, locals())


@command(
    app,
    "cosqa annotate --model openai/gpt-4o-mini --limit 10",
    "cosqa annotate --plan",
    "cosqa annotate --reason new_queries --reason failed --budget-usd 5",
    "cosqa annotate --until-ranked 3 --method bm25 --method minilm",
    panel="Build",
    quiet=(*o.STORED_INPUT, *o.STORED_CANDIDATES, "accept_gold", "margin"),
)
def annotate(
    preset: o.Preset = None, source: o.Source = None, path: o.SourcePath = None,
    queries: o.Queries = None, codes: o.Codes = None, collection: o.Collection = None,
    encoders: o.Encoders = None, top_k: o.TopK = None, index: o.Index = None,
    checkpoint: o.Checkpoints = None, model: o.Model = None, limit: o.Limit = None,
    reasons: o.Reasons = None, budget_usd: o.Budget = None, approve: o.Approve = None,
    accept_gold: o.AcceptGold = None, until_ranked: o.UntilRanked = None, margin: o.Margin = None,
    methods: o.Ranked = None, store: o.Store = None, sets: o.Set = None, *, plan: o.Plan = False,
) -> None:  # fmt: skip
    """Let the agents judge every candidate without an up-to-date label.

    Run `cosqa collect` with the same --source and --top-k first. A label is up to date until a
    part of the settings changes that it depends on: `--plan` says what is pending, and why.
    With --until-ranked it ends as soon as the first methods' order is sure, and says what it saved.
    """
    _run_pipeline(annotate, locals())


@command(
    app,
    "cosqa publish",
    "cosqa publish --output cosqa-benchmarks-2",
    panel="Build",
    quiet=(*o.STORED_INPUT, *o.STORED_CANDIDATES, "accept_gold"),
)
def publish(
    preset: o.Preset = None, source: o.Source = None, path: o.SourcePath = None,
    queries: o.Queries = None, codes: o.Codes = None, collection: o.Collection = None,
    encoders: o.Encoders = None, top_k: o.TopK = None, index: o.Index = None,
    checkpoint: o.Checkpoints = None, output: o.Output = None, labels: o.Labels = None,
    unlicensed: o.Unlicensed = None, accept_gold: o.AcceptGold = None, store: o.Store = None,
    sets: o.Set = None, mutants: o.Mutants = None, sealed: o.Sealed = None,
) -> None:  # fmt: skip
    """Export the labelled benchmarks as Parquet and as BEIR folders, with dataset cards.

    With --sealed the test part's labels go to a file for the benchmark's keeper, beside the export;
    `cosqa evaluate --answers FILE` and `cosqa leaderboard --answers FILE` score against it. With
    --mutants each right code gets distractors that a test program proved wrong; leaderboards have
    the share of right codes that a method ranks above all of theirs.
    """
    _run_pipeline(publish, locals())


@command(
    app,
    "cosqa repair beir/mine --method bm25 --method minilm --plan",
    "cosqa repair beir/mine --method bm25 --model openai/gpt-4o-mini --budget-usd 5",
    panel="Build",
    quiet=("limit", "accept_gold", "metrics", "checkpoint", "unlicensed", "sets"),
)
def repair(
    benchmark: o.Repaired, pool: o.Pool = 10, *, plan: o.PlanOfRepair = False,
    methods: o.Scored = None, model: o.Model = None, limit: o.Limit = None,
    budget_usd: o.Budget = None, approve: o.Approve = None, accept_gold: o.AcceptGold = None,
    metrics: o.Metrics = None, checkpoint: o.Checkpoints = None, output: o.Output = None,
    unlicensed: o.Unlicensed = None, store: o.Store = None, sets: o.Set = None,
) -> None:  # fmt: skip
    """Let the agents judge a benchmark's positives and what methods find beside them.

    Out come its next version, as an export and as an mteb task, with its own ids; a line for each
    label that changed or is new, with its evidence; a page of the methods before and after; and a
    text for its maintainers. Within a budget positives are judged first, then what several methods
    return. Run it again to go on: nothing is paid for twice.
    """
    settings = settings_of(repair, locals())
    settings.llm.require_model()
    from tasks.runtime.input_checks import check_comparison

    needs = partial(check_comparison, benchmarks=[benchmark])
    done = _result(
        "repair", settings, needs, judges=not plan, benchmark=benchmark, pool=pool, plan=plan
    )
    from tasks.reports.plan import plan_document
    from tasks.reports.repair import CHANGES, repair_document
    from tasks.stages.repair import PAGE

    if plan:
        print_document(plan_document(done))
        return
    document = repair_document(done.figures, (), ())
    print_document(document, done.folder / f"{PAGE}.html", parts=("places",))
    say(f"next version: {done.version}")
    say(f"labels that changed: {done.folder / CHANGES}")
    say(f"for the maintainers: {done.folder / 'maintainers.md'}")


@command(
    app,
    "cosqa evaluate --method bm25 --method minilm",
    "cosqa evaluate --metric Recall@10 --metric NDCG@10",
    panel="Score",
    quiet=o.STORED_INPUT + o.STORED_CANDIDATES,
)
def evaluate(
    preset: o.Preset = None, source: o.Source = None, path: o.SourcePath = None,
    queries: o.Queries = None, codes: o.Codes = None, collection: o.Collection = None,
    encoders: o.Encoders = None, top_k: o.TopK = None, index: o.Index = None,
    checkpoint: o.Checkpoints = None, methods: o.Scored = None, metrics: o.Metrics = None,
    answers: o.Answers = None, output: o.Output = None, store: o.Store = None, sets: o.Set = None,
) -> None:  # fmt: skip
    """Score retrieval methods on the exported benchmarks and write the report."""
    _run_pipeline(evaluate, locals())


@command(
    app,
    "cosqa generate --model openai/gpt-4o --limit 20",
    "cosqa generate --confirmed cosqa-benchmarks/cosqa-generated.csv",
    panel="Build",
    quiet=o.STORED_INPUT + o.STORED_CANDIDATES,
)
def generate(
    confirmed: o.Confirmed = None, preset: o.Preset = None, source: o.Source = None,
    path: o.SourcePath = None, queries: o.Queries = None, codes: o.Codes = None,
    collection: o.Collection = None, encoders: o.Encoders = None, top_k: o.TopK = None,
    index: o.Index = None, checkpoint: o.Checkpoints = None, model: o.WritingModel = None,
    limit: o.WritingLimit = None, output: o.Output = None, store: o.Store = None,
    sets: o.Set = None,
) -> None:  # fmt: skip
    """Let a model write answers to queries without a match, for people to confirm.

    The agents verify each answer with a test program in a box. The verified ones come on a sheet;
    those that a person confirms are published as further pairs, their origin beginning with
    `generated:`. Run `cosqa annotate` with the same preset, input and candidates first. It asks for
    no approval: --limit and COSQA_LLM__BUDGET_USD bound what it costs.
    """
    settings = settings_of(generate, locals())
    if confirmed:
        from infra.store import require_store

        require_store(settings.store)
        from flows.cli.pipeline import read_back

        read_back(confirmed, settings.store)
        return
    from flows.cli import checks

    ready = checks.pipeline("generate", settings)
    errors.print(STARTING)
    from flows.cli import pipeline

    pipeline.generate(ready)


@command(
    app,
    "cosqa leaderboard --benchmark cosqa-benchmarks/python-source-documentation",
    "cosqa leaderboard --benchmark beir/mine --method bm25 --method bm25+minilm",
    "cosqa leaderboard --benchmark beir/mine --run theirs.trec",
    panel="Score",
)
def leaderboard(
    benchmark: o.BenchmarkFolder = None, runs: o.Runs = None, *,
    annotate_unjudged: o.AnnotateUnjudged = False, methods: o.Scored = None,
    metrics: o.Metrics = None, answers: o.Answers = None, checkpoint: o.Checkpoints = None,
    model: o.Model = None, output: o.Output = None, store: o.Store = None, sets: o.Set = None,
) -> None:  # fmt: skip
    """Compare retrieval methods on a benchmark, with intervals and significance tests.

    A method is a name such as bm25 or minilm, or several fused (bm25+minilm). With --answers and
    --run only methods that are named rank: a keeper of sealed answers needs none.
    """
    settings = settings_of(leaderboard, locals())
    if annotate_unjudged:
        settings.llm.require_model()
    from infra.store.benchmarks import only_benchmark
    from tasks.runtime.input_checks import check_comparison

    folder = benchmark or only_benchmark(settings.store)
    written = _result(
        "leaderboard", settings,
        partial(check_comparison, benchmarks=[folder], runs=runs or ()), judges=annotate_unjudged,
        benchmark=benchmark, runs=runs or (), annotate_unjudged=annotate_unjudged,
    )  # fmt: skip
    from flows.cli.evaluation import print_leaderboard

    print_leaderboard(written)


@command(
    app,
    "cosqa publish --output cosqa-benchmarks-2",
    "cosqa diff cosqa-benchmarks/cosqa cosqa-benchmarks-2/cosqa",
    panel="Score",
)
def diff(
    before: o.Before, after: o.After, methods: o.ScoredOnBoth = None, metrics: o.Metrics = None,
    checkpoint: o.Checkpoints = None, output: o.Output = None, store: o.Store = None,
    sets: o.Set = None,
) -> None:  # fmt: skip
    """Compare two versions of a benchmark: queries, code, labels, scores of named methods."""
    settings = settings_of(diff, locals())
    from tasks.runtime.input_checks import check_comparison

    needs = partial(check_comparison, benchmarks=[before, after])
    written = _result("diff", settings, needs, before=before, after=after)
    from flows.cli.evaluation import print_difference

    print_difference(written, is_scored=bool(settings.evaluation.methods))


@command(
    app,
    "cosqa estimate --train pairs.jsonl --queries asked.jsonl",
    "cosqa estimate --method minilm --train jsonl/train --queries asked.jsonl",
    panel="Score",
)
def estimate(
    train: o.TrainingPairs, queries: o.AskedQueries, methods: o.Estimated = None,
    checkpoint: o.Checkpoints = None, output: o.Output = None, store: o.Store = None,
    sets: o.Set = None,
) -> None:  # fmt: skip
    """Estimate how good encoders are on queries that nobody labelled.

    KAPE takes the score of each query from the training queries nearest to it, whose codes are
    known.
    """
    settings = settings_of(estimate, locals())
    from tasks.stages.estimate import open_input

    needs = partial(open_input, train=train, queries=queries)
    written = _result("estimate", settings, needs, train=train, queries=queries)
    from flows.cli.evaluation import print_estimate

    print_estimate(written)


@command(
    app,
    "cosqa train --data cosqa-benchmarks/python-source-documentation",
    "cosqa train --data jsonl --base codebert-base --recipe codexglue --name mine",
    "cosqa train --data jsonl --base cnn --method bm25 --method minilm",
    panel="Score",
)
def train(
    data: o.TrainingData, test: o.Test = None, base: o.Base = None, recipe: o.Recipe = None,
    name: o.EncoderName = None, methods: o.Compared = None, checkpoint: o.Checkpoints = None,
    output: o.Output = None, store: o.Store = None, sets: o.Set = None,
) -> None:  # fmt: skip
    """Fine-tune an encoder on labelled pairs, or train a model from nothing, and compare it.

    What comes out is an encoder, which `--method` and `--encoder` take as checkpoint:FOLDER, with
    the test queries and a report: loss and dev score by epoch, gains over the base with intervals.
    A killed run goes on from its last checkpoint and ends with the same weights.
    """
    settings = settings_of(train, locals())
    from tasks.stages.train import open_input, read_training

    needs = partial(open_input, data=data, test=test)
    written = _result("train", settings, needs, data=data, test=test)
    from tasks.reports.training import training_document

    document = training_document(read_training(written.encoder.folder))
    print_document(document, written.page, parts=("gain",))
    say(f"leaderboard: {written.leaderboard}")
    say(f"encoder: {written.encoder.reference}")


@command(
    app,
    "cosqa study",
    "cosqa study --method bm25 --method minilm",
    "cosqa study --annotators compared.json --score-sheet score_sheet.csv",
    panel="Papers",
    quiet=o.STORED_INPUT + o.STORED_CANDIDATES,
)
def study(
    annotators: o.AnnotatorFiles = None, annotation_store: o.AnnotationStore = None,
    score_sheet: o.ScoreSheet = None, preset: o.Preset = None, source: o.Source = None,
    path: o.SourcePath = None, queries: o.Queries = None, codes: o.Codes = None,
    collection: o.Collection = None, encoders: o.Encoders = None, top_k: o.TopK = None,
    index: o.Index = None, checkpoint: o.Checkpoints = None, limit: o.Limit = None,
    methods: o.Scored = None, output: o.Output = None, store: o.Store = None, sets: o.Set = None,
) -> None:  # fmt: skip
    """Compute the papers' tables and figures for a benchmark, next to the published ones.

    Each figure stands next to the published one, with the difference; a table has the conditions of
    this run and of the papers: data, model, size. Methods that are not scored yet are ranked first.
    Tables that cannot be computed say why.
    """
    settings = settings_of(study, locals())
    for file in (*(annotators or ()), annotation_store, score_sheet):
        if file is not None and not file.is_file():
            raise SourceError(f"{file} cannot be read: there is no such file")
    from flows.cli import checks

    ready = checks.pipeline("study", settings)
    from flows.cli.evaluation import print_study
    from tasks.stages.study.report import StudyFiles

    files = StudyFiles(
        annotators=tuple(annotators or ()),
        annotation_store=annotation_store,
        score_sheet=score_sheet,
    )
    print_study(_run("study", ready, files=files))


@command(
    app,
    "cosqa study-kape --data docs=documentation",
    "cosqa study-kape --data ruby=jsonl --encoder checkpoint:m=DIR?like=codexglue",
    panel="Papers",
)
def study_kape(
    data: o.DataSets, encoders: o.Encoders = None, checkpoint: o.Checkpoints = None,
    output: o.Output = None, store: o.Store = None, sets: o.Set = None,
) -> None:  # fmt: skip
    """Compare estimates of scores on unlabelled queries with the truth: KAPE and its rivals.

    The page has tables of each encoder on each data set: what was found, data and truth, estimates
    by budget, estimates for similar and for different queries, number of neighbours and weightings,
    queries and their nearest training queries; and the paper's tables. What was computed before is
    not computed again. `cosqa estimate` estimates scores where the truth is not known.
    """
    settings = settings_of(study_kape, locals())
    named = o.folders("--data", data)
    from tasks.stages.study.kape import PAGE, open_data, read_kape_report

    folder = _result("study_kape", settings, partial(open_data, data=named), data=named)
    from tasks.reports.kape import kape_document

    print_document(kape_document(read_kape_report(folder)), folder / PAGE, parts=("summary",))


@command(
    app,
    "cosqa study-training --base minilm --data docs=A --data web=B --test beir/mine",
    "cosqa study-training --base cnn --base ncs --data docs=A --seeds 3",
    panel="Papers",
)
def study_training(
    bases: o.Bases, data: o.DataSets, test: o.Test = None, seeds: o.Seeds = 1,
    recipe: o.Recipe = None, methods: o.Compared = None, checkpoint: o.Checkpoints = None,
    output: o.Output = None, store: o.Store = None, sets: o.Set = None,
) -> None:  # fmt: skip
    """Train bases on data sets by several seeds, and compare what each data set gains.

    Each training is that of `cosqa train`: an encoder of its own, which is not trained again, named
    after base, data set and seed. Each base is compared with itself before training, and data sets
    of the same test queries with one another; data sets that have the papers' names (cosqa and
    cosqa-plus; python, java, ...) are compared with the papers' figures.
    """
    settings = settings_of(study_training, locals())
    named = o.folders("--data", data)
    from tasks.stages.study.training import open_data, read_training_study

    folder = _result(
        "study_training", settings, partial(open_data, data=named, test=test, bases=bases),
        bases=tuple(bases), data=named, test=test, seeds=seeds,
    )  # fmt: skip
    from tasks.reports.training import training_study_document
    from tasks.stages.study.report import PAGE

    print_document(training_study_document(read_training_study(folder)), folder / PAGE)


@command(
    app,
    "cosqa compare-annotators --truth CoSQA/cosqa-dev.json --limit 100",
    "cosqa compare-annotators --truth pairs.jsonl --configuration spec",
    panel="Papers",
)
def compare_annotators(
    truth: o.Truth, models: o.Models = None, configurations: o.Configurations = None,
    limit: o.PairLimit = None, output: o.FiguresFile = None, store: o.Store = None,
    sets: o.Set = None,
) -> None:  # fmt: skip
    """Score annotators against known labels: the agents, and people.

    Every model judges the pairs in every configuration of the agents. Pairs judged before by the
    same model and configuration are taken from the store.
    """
    settings = settings_of(compare_annotators, locals())
    from infra.files import require_writable, write_outputs
    from infra.subsets import Draw
    from tasks.inputs.pairs import read_truth
    from tasks.runtime.input_checks import check

    if output:
        require_writable(output)
    draw = Draw(limit, settings.annotation.seed)
    ready = check(settings, lambda _: read_truth(truth, draw))
    from tasks.stages.compare_annotators import annotator_scores, annotators_document
    from tasks.stages.preflight import check_annotators, needs_server

    chosen: Any = configurations or ()
    if not needs_server(settings.llm, settings.encoder):
        check_annotators(ready, models or (), chosen)
    judged = _run("compare_annotators", ready, truth=truth, models=models or (),
                  configurations=chosen, limit=limit)  # fmt: skip
    scores = list(annotator_scores(ready.opened, judged, settings.store))
    print_document(annotators_document(scores), rest=str(output or "a file, by --output FILE"))
    if output:
        figures = [score.model_dump(mode="json") for score in scores]
        text = json.dumps(figures, indent=1, ensure_ascii=False)
        write_outputs(output.parent, {output.name: f"{text}\n"})


@command(
    app,
    "cosqa check-model --model openai/gpt-4o-mini",
    "cosqa check-model --set annotation.configuration=single --pairs 200",
    panel="Build",
)
def check_model(
    pairs: o.RunPairs = None, model: o.Model = None, store: o.Store = None, sets: o.Set = None,
) -> None:  # fmt: skip
    """Check whether a model labels pairs better than chance, and what a run by it takes.

    It judges twenty packaged pairs with known labels by the agents as they are configured. A model
    that is not better than chance is refused: the command fails, and says why.
    """
    settings = settings_of(check_model, locals())
    from tasks.runtime.input_checks import check_model_name

    check_model_name(settings.llm, needs_key=not settings.llm.api_key_block)
    errors.print(STARTING)
    from tasks.stages.check_model import check_judge
    from tasks.stages.preflight import checked_judge

    check_judge(*checked_judge(settings), pairs, say)


@command(
    challenge_app,
    "cosqa challenge codesearchnet --queries q.csv --source codesearchnet --path D",
    "cosqa challenge codesearchnet --queries q.csv --source source-code --path D",
    "cosqa challenge codesearchnet --queries q.csv --annotations store.csv",
    name="codesearchnet",
    quiet=("collection", "reread"),
)
def challenge(
    queries: o.ChallengeQueries, annotations: o.ChallengeAnnotations = None,
    pool: o.ChallengePool = None, source: o.Source = None, path: o.SourcePath = None,
    collection: o.Collection = None, reread: o.Reread = None, methods: o.Scored = None,
    checkpoint: o.Checkpoints = None, output: o.Output = None, store: o.Store = None,
    sets: o.Set = None,
) -> None:  # fmt: skip
    """Rank all functions of each language for the challenge's queries, and score predictions.

    Each method gives a file of predictions as CodeSearchNet's challenge takes them (query,
    language, identifier, url; the row order is the ranking). With annotations they are scored as by
    `cosqa suite codesearchnet`. A killed run goes on with the method and language that it was at.
    """
    settings = settings_of(challenge, locals())
    from tasks.runtime.input_checks import whole_corpus
    from tasks.stages.challenge.codesearchnet import SCORES, challenge_document, open_challenge

    corpus = settings.model_copy(update={"source": whole_corpus(settings.source)})
    needs = partial(open_challenge, queries=queries, annotations=annotations)
    written = _result(
        "challenge", corpus, needs, queries=queries, annotations=annotations, pool=pool
    )
    print_document(challenge_document(written), rest=str(written.folder / SCORES))


@command(
    challenge_app,
    "cosqa challenge annotations s1f0c9a --output mine.csv",
    name="annotations",
)
def challenge_annotations(
    sample: Annotated[str, typer.Argument(help="Sample of `cosqa challenge ... --pool N`.")],
    output: Annotated[Path, typer.Option(help="File to write.")],
    store: o.Store = None,
) -> None:
    """Write people's grades of a challenge's sample as its annotation file.

    The sheets are those of `cosqa label sample --sample`, and `cosqa label read` reads them. The
    file is read by `cosqa challenge codesearchnet --annotations` and by the suite.
    """
    settings = settings_of(challenge_annotations, {"store": store})
    from infra.store import open_database, require_store
    from tasks.reports.text import counted
    from tasks.stages.challenge.codesearchnet import write_annotations

    require_store(settings.store)
    rows = write_annotations(open_database(settings.store), sample, output)
    say(f"{output}: {counted(rows, 'grades')}")


@command(
    challenge_app,
    "cosqa collect --source neural-code-search --path D --set source.repositories=R",
    "cosqa challenge neural-code-search --questions D/287_android_questions.json",
    "cosqa challenge neural-code-search --questions Q.json --post-rank",
    name="neural-code-search",
    quiet=("collection", "reread"),
)
def neural_code_search(
    questions: o.AnsweredQuestions, *, post_rank: o.PostRank = False, source: o.Source = None,
    path: o.SourcePath = None, collection: o.Collection = None, reread: o.Reread = None,
    methods: o.Scored = None, checkpoint: o.Checkpoints = None, output: o.Output = None,
    store: o.Store = None, sets: o.Set = None,
) -> None:  # fmt: skip
    """Rank Java methods for Neural Code Search's questions, and judge the first 50 by Aroma.

    A result is right if it has more than .25 of the features of the question's answer. What comes
    out is a score sheet as published, scored as by `cosqa suite neural-code-search`.
    """
    settings = settings_of(neural_code_search, locals())
    from tasks.stages.challenge.neural_code_search import open_questions, sheet_document

    written = _result(
        "neural_code_search", settings, partial(open_questions, questions=questions),
        questions=questions, post_rank=post_rank,
    )  # fmt: skip
    print_document(sheet_document(written), written.file)
