"""The command line: the table of all commands, and how errors end a run."""

import logging
import os
import signal
import sys
from importlib.metadata import version
from threading import Event
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from flows.cli.lazy import Command, Group, LazyGroup
from flows.cli.operating import OPERATING
from flows.cli.output import hide_tracebacks, print_error
from flows.cli.watching import WATCHING

if TYPE_CHECKING:
    from typer._click import Context

_TRACEBACK = "--traceback"
_STOPPED = 130  # exit status after Ctrl-C, by convention
_RUN_LIMITS = ("reason", "pairs", "budget_usd")  # options of what annotates
_HELP = (
    "Build, maintain and evaluate multi-choice code-search benchmarks.\n\n"
    "Settings that have no option here are read from cosqa.toml and from the environment, such as "
    "COSQA_LLM__API_KEY; `cosqa settings` prints them all."
)


_OF_STUDY = {
    "kape": Command(
        "Compare estimates of scores on unlabelled queries with the truth: KAPE and its rivals.",
        options="kape_options:study_kape",
        check="checks:study_kape",
        action="evaluation:study_kape",
        details="Computes the tables and figures of the paper for each encoder on each data set, "
        "beside the published ones: estimates by budget, by number of neighbours and by weighting, "
        "on queries near to and far from the training queries; and how many per cent of the "
        "queries must be labelled before a random sample does better. What was computed before is "
        "not computed again. `cosqa estimate` estimates scores where the truth is not known.",
        examples=(
            "cosqa study kape --data docs=documentation",
            "cosqa study kape --data ruby=ruby/final/jsonl --encoder codebert-search",
        ),
    ),
}


class _Cosqa(LazyGroup):
    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Take ``--traceback`` wherever it stands on the line."""
        rest = [word for word in args if word != _TRACEBACK]
        return super().parse_args(ctx, [_TRACEBACK, *rest] if len(rest) < len(args) else args)

    entries: ClassVar = {
        "benchmark": Command(
            "Run the whole pipeline: collect, annotate, publish, evaluate.",
            options="options:pipeline",
            check="checks:pipeline",
            action="pipeline:run",
            details="What was done before is not done again: run it again after a crash, with new "
            "queries, or with another model.",
            examples=(
                "cosqa benchmark --top-k 5",
                "cosqa benchmark --top-k 5 --model openai/gpt-4o-mini --limit 10 --plan",
            ),
        ),
        "forecast": Command(
            "Say what judging the candidates of so many queries takes: requests, tokens, money, "
            "time.",
            options="forecast_options:forecast",
            action="pipeline:forecast",
            details="Figures are those of pairs that the store has judged, with 95% prediction "
            "intervals, else built-in ones. Nothing is run and no store is made.",
            examples=(
                "cosqa forecast --queries 20604 --model openai/gpt-4o-mini",
                "cosqa forecast --queries 500 --top-k 5 --in-flight 256 --cores 64",
            ),
        ),
        "collect": Command(
            "Read queries and code, embed them, and find the candidates of each query.",
            options="options:pipeline",
            check="checks:pipeline",
            hidden=(
                *("model", "judge", "limit", "batch", "method", "output"),
                *("unlicensed", *_RUN_LIMITS, "plan", "replay"),
            ),
            action="pipeline:run",
            examples=(
                "cosqa collect --source python-source --path src/",
                "cosqa collect --source jsonl --path my-folder",
                "cosqa collect --queries cosqa=CoSQA/ --codes codesearchnet=python/",
            ),
        ),
        "annotate": Command(
            "Let the agents judge every candidate without a fresh label.",
            options="options:pipeline",
            check="checks:pipeline",
            hidden=("reread", "method", "output", "unlicensed"),
            action="pipeline:run",
            details="Run `cosqa collect` with the same --source and --top-k first. A label "
            "is fresh until a part of the recipe changes that it depends on: `--plan` says what is "
            "pending, and why.",
            examples=(
                "cosqa annotate --model openai/gpt-4o-mini --limit 10",
                "cosqa annotate --plan",
                "cosqa annotate --reason new_queries --reason failed --budget-usd 5",
                "cosqa annotate --reason audit --pairs 50",
                "cosqa annotate --replay",
            ),
        ),
        "generate": Command(
            "Let a model write answers to queries without a match, for people to confirm.",
            options="generation_options:generate",
            check="checks:generation",
            action="pipeline:generate",
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
        "publish": Command(
            "Export the labelled benchmarks as Parquet and as BEIR folders, with dataset cards.",
            options="options:pipeline",
            check="checks:pipeline",
            hidden=(
                *("reread", "model", "judge", "limit", "batch", "method"),
                *(*_RUN_LIMITS, "plan", "replay"),
            ),
            action="pipeline:run",
            examples=("cosqa publish", "cosqa publish --output cosqa-benchmarks-2"),
        ),
        "evaluate": Command(
            "Score retrieval methods on the exported benchmarks and write the report.",
            options="options:pipeline",
            check="checks:pipeline",
            hidden=(
                *("reread", "judge", "limit", "batch", "unlicensed"),
                *(*_RUN_LIMITS, "plan", "replay"),
            ),
            action="pipeline:run",
            examples=("cosqa evaluate --method bm25 --method minilm",),
        ),
        "study": Command(
            "Compute the papers' tables and figures for a benchmark, beside the published ones.",
            options="study_options:study",
            check="checks:study",
            action="evaluation:study",
            hidden=(
                *("reread", "model", "limit", "batch", "unlicensed"),
                *(*_RUN_LIMITS, "plan", "replay"),
            ),
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
        "leaderboard": Command(
            "Compare retrieval methods on a benchmark, with confidence intervals, significance "
            "tests and charts.",
            options="evaluation_options:leaderboard",
            check="checks:leaderboard",
            action="evaluation:leaderboard",
            details="A method is a name such as bm25 or minilm, several fused (bm25+minilm), or "
            "either re-ranked by the language model (llm:bm25).",
            examples=(
                "cosqa leaderboard --benchmark cosqa-benchmarks/python-source-documentation",
                "cosqa leaderboard --benchmark beir/mine --method bm25 --method bm25+minilm",
                "cosqa leaderboard --benchmark beir/mine --run theirs.trec",
            ),
        ),
        "estimate": Command(
            "Estimate how good encoders are on queries that nobody labelled, and how many to label "
            "for a precise figure.",
            options="estimate_options:estimate",
            check="checks:estimate",
            action="evaluation:estimate",
            details="KAPE takes the score of each query from the training queries nearest to it, "
            "whose codes are known. Where a random sample of the queries is judged, --judged "
            "corrects the estimate by their true scores and gives it an interval. The output "
            "folder's to_label.jsonl has the queries to judge next, in a random order, for "
            "`cosqa collect --queries`; sample.jsonl has those with the ones that are judged.\n\n"
            "Queries that lie too far from the training queries get no estimate: the report says "
            "why, and the exit status is 1.",
            examples=(
                "cosqa estimate --train pairs.jsonl --queries asked.jsonl",
                "cosqa estimate --method minilm --train jsonl/train --queries asked.jsonl",
                "cosqa estimate --train pairs.jsonl --queries asked.jsonl --judged beir/asked",
            ),
        ),
        "diff": Command(
            "Compare two versions of a benchmark: queries, code, labels, scores of named methods.",
            options="evaluation_options:diff",
            check="checks:diff",
            action="evaluation:diff",
            examples=(
                "cosqa publish --output cosqa-benchmarks-2",
                "cosqa diff cosqa-benchmarks/cosqa cosqa-benchmarks-2/cosqa",
            ),
        ),
        **OPERATING,
        **WATCHING,
        "annotators": Group(
            "Measure how far labels can be trusted.", "annotators_group:annotators"
        ),
        "suite": Group(
            "Score other people's evaluation suites from their own files.", "suites:suite"
        ),
        "sandbox": Group(
            "Check and try out the sandbox that untrusted code runs in.", "sandbox:app"
        ),
        "store": Group("Check the store, back it up and restore it, keep it small.", "store:app"),
        "list": Command(
            "List the registered names: sources, filters, encoders, methods, metrics, suites, "
            "studies, estimators, languages, configurations, presets.",
            options="show:names",
            examples=("cosqa list methods",),
        ),
        "settings": Command(
            "Print all settings in force as a commented cosqa.toml.",
            options="show:settings",
            examples=("cosqa settings > cosqa.toml", "cosqa settings --preset cosqa-plus-v2"),
        ),
    }


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


def main() -> None:
    """Run the command line; an error is one message and exit status 1, a signal status 130."""
    logging.captureWarnings(capture=True)
    ask_loopback_directly()
    is_terminated = Event()

    def terminate(*_: object) -> None:
        is_terminated.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, terminate)
    try:
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
        sys.stderr.write("stopped: what is finished is kept; the same command goes on\n")
        sys.stderr.flush()
        if is_terminated.is_set() or not isinstance(error, SystemExit):
            # Ray may have been ended too, and would abort at exit.
            os._exit(_STOPPED)
        raise


if __name__ == "__main__":
    main()
