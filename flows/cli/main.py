"""The command line: the table of all commands, and how errors end a run."""

import logging
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from threading import Event, Thread
from time import sleep
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from flows.cli.lazy import Command, Group, LazyGroup
from flows.cli.output import hide_tracebacks, print_error
from flows.runtime import when_stopped
from infra.working_folder import refuse_prefect_settings

if TYPE_CHECKING:
    from typer._click import Context

_TRACEBACK = "--traceback"
_STOPPED = 130  # exit status after Ctrl-C, by convention
_STOPPED_MESSAGE = "stopped: what is finished is kept; the same command goes on\n"
_STOPPING_S = 4.0
# What a user has set for other work: flows tried again without a condition, results as pickles in
# the store, errors in place of log lines.
_PREFECT = {
    "PREFECT_FLOWS_DEFAULT_RETRIES": "0",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
}
_HELP = (
    "Build, maintain and evaluate multi-choice code-search benchmarks.\n\n"
    "Eight commands are all that most need: benchmark, which is collect, annotate, publish and "
    "evaluate in one; leaderboard; server and status.\n\n"
    "Settings that have no option here are read from cosqa.toml and from the environment, such as "
    "COSQA_LLM__API_KEY; `cosqa settings` prints them all."
)


_OF_STUDY = {
    "kape": Command(
        "Compare estimates of scores on unlabelled queries with the truth: KAPE and its rivals.",
        "StudyKape",
        ("checks:inputs", "evaluation:study_kape"),
        details="Computes the tables and figures of the paper for each encoder on each data set, "
        "beside the published ones: estimates by budget, by number of neighbours and by weighting, "
        "and on queries near to and far from the training queries. What was computed before is "
        "not computed again. `cosqa estimate` estimates scores where the truth is not known.",
        examples=(
            "cosqa study kape --data docs=documentation",
            "cosqa study kape --data ruby=jsonl --encoder checkpoint:m=DIR?like=codexglue",
        ),
    ),
    "training": Command(
        "Train bases on data sets by several seeds, and compare what each data set gains.",
        "StudyTraining",
        ("checks:inputs", "evaluation:study_training"),
        details="Each training is that of `cosqa train`: an encoder of its own, which is not "
        "trained again, named after base, data set and seed. Bases stand beside themselves before "
        "training, data sets of the same test queries beside one another, and beside the papers' "
        "figures what has the names that the papers use (cosqa and cosqa-plus; python, java, ...).",
        examples=(
            "cosqa study training --base minilm --data docs=A --data web=B --test beir/mine",
            "cosqa study training --base cnn --base ncs --data docs=A --seeds 3",
        ),
    ),
}

_ANNOTATORS = {
    "compare": Command(
        "Score annotators against known labels: the agents, a baseline, and people.",
        "CompareAnnotators",
        ("checks:compare_annotators", "annotators:compare"),
        details="Every model judges the pairs in every configuration of the agents. Pairs "
        "judged before by the same model and configuration are taken from the store.",
        examples=(
            "cosqa annotators compare --truth CoSQA/cosqa-dev.json --limit 100",
            "cosqa annotators compare --truth pairs.jsonl --configuration spec",
        ),
    ),
}

_LABEL = {
    "sample": Command(
        "Draw pairs at random for people to label, and write a blind sheet for each person.",
        "LabelSample",
        ("checks:store", "label:sample"),
        details="A sheet has query and code and nothing that others say of them, in an order of "
        "the person's own. Fill in grade (? for undecided), notes (quality, ambiguity, "
        "project_specific, direction_reversed), comment, minutes, and a test program that may "
        "`import target`, the code. Two people label all pairs, a third what they disagree on.",
        examples=(
            "cosqa label sample --pairs 400 --annotator ann --annotator bob",
            "cosqa label sample --stratum undecided=100 --stratum uniform --annotator ann",
            "cosqa label sample --benchmark DIR --stratum pool=99 --graded --annotator ann",
            "cosqa label sample --benchmark DIR --stratum answers=23 --annotator ann",
            "cosqa label sample --conflicts-of s1f0c9a --annotator cam",
            "cosqa label sample --revise s1f0c9a --annotator ann",
        ),
    ),
    "preference": Command(
        "Draw two codes a query, one of each benchmark, and write sheets on which people choose.",
        "LabelPreference",
        ("checks:store", "label:preference"),
        details="Which code is A and which B is random. `cosqa label read` prints how often the "
        "first benchmark's is preferred, with an interval.",
        examples=("cosqa label preference mine CoSQA/cosqa-dev.json --annotator ann",),
    ),
    "read": Command(
        "Read sheets that people filled in; print how far they agree, and what they say.",
        "LabelRead",
        ("checks:store", "label:read"),
        details="All rows of all files are stored, or none. Test programs run in a box of the "
        "sandbox, and are stored with their results. What one person says is not shown before "
        "all pairs given to that person have a label.",
        examples=("cosqa label read ann.csv bob.csv", "cosqa label read ann.jsonl --unexecuted"),
    ),
}

_SANDBOX = {
    "check": Command(
        "Check the Docker engine, the image and all behaviours that a sandbox must have.",
        "Options",
        ("sandbox:check",),
        examples=("cosqa sandbox check",),
    ),
    "run": Command(
        "Run a program in the sandbox and print its result as JSON; exit status 0 if it passed.",
        "RunProgram",
        ("sandbox:run",),
        examples=(
            "cosqa sandbox run program.py --code function.py",
            "cosqa sandbox run program.py --requirement numpy --hash-seed 1",
        ),
    ),
    "clean": Command(
        "Remove containers and volumes that processes which have ended left behind.",
        "Clean",
        ("sandbox:clean",),
        examples=("cosqa sandbox clean", "cosqa sandbox clean --all"),
    ),
}

_STORE = {
    "check": Command(
        "Check the store: schema version, counts and references; say what is wrong.",
        "CheckStore",
        ("store:check",),
        details="Nothing is changed. The exit status is 1 if something is lost or wrong.",
        examples=("cosqa store check", "cosqa store check --store cosqa-data"),
    ),
    "backup": Command(
        "Write a backup of the whole store into a new folder, while runs may go on.",
        "Backup",
        ("store:backup",),
        details="It has the database, the journal of replies and of what was spent, and vectors "
        "(by a second name where the disk is the same). It is there when it is whole, or not at "
        "all.",
        examples=("cosqa store backup backups/monday",),
    ),
    "restore": Command(
        "Put a backup into the store's folder, which must be empty or absent.",
        "Backup",
        ("store:restore",),
        details="Nothing is overwritten: move a store that is there away, or name another folder.",
        examples=(
            "cosqa store restore backups/monday",
            "cosqa store restore backups/monday --store another-store",
        ),
    ),
}

COMMANDS: Mapping[str, Command | Group] = {
    "benchmark": Command(
        "Run the whole pipeline: collect, annotate, publish, evaluate.",
        "Benchmark",
        ("checks:pipeline", "pipeline:run"),
        details="What was done before is not done again: run it again after a crash, with new "
        "queries, or with another model.",
        examples=(
            "cosqa benchmark --top-k 5",
            "cosqa benchmark --top-k 5 --model openai/gpt-4o-mini --limit 10 --plan",
        ),
    ),
    "collect": Command(
        "Read queries and code, embed them, and find the candidates of each query.",
        "Collect",
        ("checks:pipeline", "pipeline:run"),
        examples=(
            "cosqa collect --source python-source --path src/",
            "cosqa collect --source jsonl --path my-folder",
            "cosqa collect --queries cosqa=CoSQA/ --codes codesearchnet=python/",
        ),
    ),
    "annotate": Command(
        "Let the agents judge every candidate without a fresh label.",
        "Annotate",
        ("checks:pipeline", "pipeline:run"),
        details="Run `cosqa collect` with the same --source and --top-k first. A label "
        "is fresh until a part of the recipe changes that it depends on: `--plan` says what is "
        "pending, and why.",
        examples=(
            "cosqa annotate --model openai/gpt-4o-mini --limit 10",
            "cosqa annotate --plan",
            "cosqa annotate --reason new_queries --reason failed --budget-usd 5",
            "cosqa annotate --replay",
        ),
    ),
    "publish": Command(
        "Export the labelled benchmarks as Parquet and as BEIR folders, with dataset cards.",
        "Publish",
        ("checks:pipeline", "pipeline:run"),
        examples=("cosqa publish", "cosqa publish --output cosqa-benchmarks-2"),
    ),
    "generate": Command(
        "Let a model write answers to queries without a match, for people to confirm.",
        "Generate",
        ("checks:generation", "pipeline:generate"),
        details="The agents verify each answer with a test program in a box. The verified ones "
        "come on a sheet; those that a person confirms are published as further pairs, their "
        "origin beginning with `generated:`. Run `cosqa annotate` with the same preset, input "
        "and candidates first. It asks for no approval: --limit and COSQA_LLM__BUDGET_USD "
        "bound what it costs.",
        examples=(
            "cosqa generate --model openai/gpt-4o --limit 20",
            "cosqa generate --confirmed cosqa-benchmarks/cosqa-generated.csv",
        ),
    ),
    "label": Group("Let people label samples of pairs on sheets, and read them back.", _LABEL),
    "evaluate": Command(
        "Score retrieval methods on the exported benchmarks and write the report.",
        "Evaluate",
        ("checks:pipeline", "pipeline:run"),
        examples=("cosqa evaluate --method bm25 --method minilm",),
    ),
    "leaderboard": Command(
        "Compare retrieval methods on a benchmark, with confidence intervals, significance "
        "tests and charts.",
        "Leaderboard",
        ("checks:leaderboard", "evaluation:leaderboard"),
        details="A method is a name such as bm25 or minilm, or several fused (bm25+minilm).",
        examples=(
            "cosqa leaderboard --benchmark cosqa-benchmarks/python-source-documentation",
            "cosqa leaderboard --benchmark beir/mine --method bm25 --method bm25+minilm",
            "cosqa leaderboard --benchmark beir/mine --run theirs.trec",
        ),
    ),
    "diff": Command(
        "Compare two versions of a benchmark: queries, code, labels, scores of named methods.",
        "Diff",
        ("checks:inputs", "evaluation:diff"),
        examples=(
            "cosqa publish --output cosqa-benchmarks-2",
            "cosqa diff cosqa-benchmarks/cosqa cosqa-benchmarks-2/cosqa",
        ),
    ),
    "estimate": Command(
        "Estimate how good encoders are on queries that nobody labelled.",
        "Estimate",
        ("checks:inputs", "evaluation:estimate"),
        details="KAPE takes the score of each query from the training queries nearest to it, "
        "whose codes are known. Where a random sample of the queries is judged, --judged "
        "corrects the estimate by their true scores and gives it an interval.",
        examples=(
            "cosqa estimate --train pairs.jsonl --queries asked.jsonl",
            "cosqa estimate --method minilm --train jsonl/train --queries asked.jsonl",
            "cosqa estimate --train pairs.jsonl --queries asked.jsonl --judged beir/asked",
        ),
    ),
    "train": Command(
        "Fine-tune an encoder on labelled pairs, or train a model from nothing, and compare it "
        "with its base.",
        "Train",
        ("checks:inputs", "evaluation:train"),
        details="What comes out is an encoder, which `--method` and `--encoder` take as "
        "checkpoint:FOLDER, with the test queries and a report: curves, gains with intervals, "
        "what of the test was seen in training. A killed run goes on from its last checkpoint "
        "and ends with the same weights.",
        examples=(
            "cosqa train --data cosqa-benchmarks/python-source-documentation",
            "cosqa train --data jsonl --base codebert-base --recipe codexglue --name mine",
            "cosqa train --data jsonl --base cnn --method bm25 --method minilm",
        ),
    ),
    "server": Command(
        "Run a Prefect server, its deployments and a worker on this machine, until Ctrl-C.",
        "Server",
        ("server:serve",),
        details="The UI shows runs and starts them; runs of annotate and benchmark wait "
        "there until a person approves their plan, generate and compare-annotators do not. The "
        "server listens on loopback and keeps its database in PREFECT_HOME, or where "
        "PREFECT_API_DATABASE_CONNECTION_URL says. The deployments are those of prefect.yaml: what "
        "people changed of them in the UI is lost with each start.",
        examples=("cosqa server", "cosqa server --port 4300 --folder /srv/cosqa"),
    ),
    "status": Command(
        "Show what a store has, what runs on it and what is left to do.",
        "Store",
        ("status:show_status",),
        details="`prefect flow-run ls` and the Prefect UI show a server's last and next runs.",
        examples=("cosqa status", "cosqa status --store cosqa-data"),
    ),
    "pair": Command(
        "Show how a pair was judged: its texts, each label, all calls and executions.",
        "ShowPair",
        ("show:pair",),
        examples=("cosqa pair 1f0c9a 77b2e4",),
    ),
    "browse": Command(
        "Browse pairs with their evidence on local pages, and label samples there.",
        "Browse",
        ("browse:browse",),
        details="Pages show pairs by status, label, path, model and text; a pair with its code, "
        "verdicts, programs, tests and mutants; a query with its candidates; methods by query. "
        "They answer from a copy of the store, which is taken anew when that has changed. "
        "Samples of `cosqa label sample` are labelled there by keyboard, blind first. "
        "Programs that people write run in a box.",
        examples=(
            "cosqa browse",
            "cosqa browse cosqa-benchmarks/cosqa-agents",
            "cosqa browse --bundle pages",
        ),
    ),
    "store": Group("Check the store, back it up and restore it.", _STORE),
    "sandbox": Group("Check and try out the sandbox that untrusted code runs in.", _SANDBOX),
    "settings": Command(
        "Print all settings in force as a commented cosqa.toml.",
        "Preset",
        ("show:settings",),
        examples=("cosqa settings > cosqa.toml", "cosqa settings --preset cosqa-plus-v2"),
    ),
    "list": Command(
        "List the registered names: sources, filters, encoders, methods, metrics, suites, "
        "studies, estimators, languages, configurations, presets.",
        "Names",
        ("show:names",),
        examples=("cosqa list methods",),
    ),
    "study": Command(
        "Compute the papers' tables and figures for a benchmark, beside the published ones.",
        "Study",
        ("checks:study", "evaluation:study"),
        details="Each figure stands beside the published one, with the difference and with "
        "what differed: data, model, size. Methods that are not scored yet are ranked first. "
        "What cannot be computed says what is missing.",
        examples=(
            "cosqa study",
            "cosqa study --method bm25 --method minilm",
            "cosqa study --annotators compared.json --score-sheet score_sheet.csv",
            "cosqa study kape --data docs=FOLDER",
        ),
        below=_OF_STUDY,
    ),
    "annotators": Group("Measure how far labels can be trusted.", _ANNOTATORS),
    "suite": Group(
        "Score other people's evaluation suites from their own files.", "suites:commands"
    ),
}


class _Cosqa(LazyGroup):
    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Take ``--traceback`` wherever it stands on the line."""
        rest = [word for word in args if word != _TRACEBACK]
        return super().parse_args(ctx, [_TRACEBACK, *rest] if len(rest) < len(args) else args)

    entries: ClassVar = COMMANDS
    panels: ClassVar = {
        "benchmark": "Build", "evaluate": "Score", "server": "Run", "study": "Papers",
    }  # fmt: skip


app = typer.Typer(
    name="cosqa",
    cls=_Cosqa,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"cosqa {version('cosqa-plus')}")
        raise typer.Exit


@app.callback(help=_HELP)
def cosqa(
    *,
    traceback: Annotated[
        bool, typer.Option(_TRACEBACK, help="Show where in the program an error came from.")
    ] = False,
    version: Annotated[  # noqa: ARG001 - its callback does everything
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Read the options before a command's name."""
    if not traceback:
        hide_tracebacks()


def ask_loopback_directly() -> None:
    """Except this machine from the environment's proxies, here and in all that is started."""
    known = os.environ.get("no_proxy") or os.environ.get("NO_PROXY", "")
    if known != "*":
        direct = ",".join(filter(None, (known, "localhost,127.0.0.1,::1")))
        os.environ |= dict.fromkeys(("no_proxy", "NO_PROXY"), direct)


@contextmanager
def ended_soon_after_signals() -> Iterator[None]:
    """End this process seconds after Ctrl-C or SIGTERM in the ``with``, whatever it waits for.

    That is Ray, which starts and notices a lost worker in half a minute. It ends with this process,
    and so does a private Prefect server, which is told at once that the run is cancelled; what was
    finished is kept as after a crash.
    """
    heard, told = os.pipe()
    os.set_blocking(told, False)
    before = signal.set_wakeup_fd(told)

    def end() -> None:
        while number := os.read(heard, 1):
            if number[0] in (signal.SIGINT, signal.SIGTERM):
                for call in when_stopped:
                    Thread(target=call, daemon=True).start()
                sleep(_STOPPING_S)
                os.write(2, _STOPPED_MESSAGE.encode())
                os._exit(_STOPPED)
        os.close(heard)

    Thread(target=end, name="end", daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(told)


def main() -> None:
    """Run the command line; an error is one message and exit status 1, a signal status 130."""
    logging.captureWarnings(capture=True)
    os.environ.setdefault("DO_NOT_TRACK", "1")  # else Prefect tells of its usage data at first
    ask_loopback_directly()
    os.environ |= _PREFECT
    is_terminated = Event()

    def terminate(*_: object) -> None:
        is_terminated.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, terminate)
    try:
        refuse_prefect_settings(Path.cwd())
        with ended_soon_after_signals():
            app()
    except Exception as error:
        if _TRACEBACK in sys.argv:
            raise
        print_error(error)
        sys.exit(1)
    except BaseException as error:  # by now Ctrl-C is Typer's exit
        status = error.code if isinstance(error, SystemExit) else _STOPPED
        if status != _STOPPED or _TRACEBACK in sys.argv:
            raise
        sys.stderr.write(_STOPPED_MESSAGE)
        sys.stderr.flush()
        if is_terminated.is_set() or not isinstance(error, SystemExit):
            # Ray may have been ended too, and would abort at exit.
            os._exit(_STOPPED)
        raise


if __name__ == "__main__":
    main()
