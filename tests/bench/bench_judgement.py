"""How often committees are right on pairs with proved labels, judged by a reader of known error.

    python -m tests.bench.bench_judgement [--set made|real|all] [--queries 20] [--candidates 20]
        [--configurations spec] [--busy 6]
    COSQA_LLM__BASE_URL=http://127.0.0.1:8080/v1 COSQA_LLM__API_KEY=x \\
        python -m tests.bench.bench_judgement --model openai/NAME --set all --queries 12 \\
        --folder FOLDER --page tests/README.md

It goes through the product's own flow: a Prefect server, judges on Ray, the queue, the store and
real boxes; the model is the reader, which answers at once. The rival of each configuration is the
first one, which reads alone. A figure has its 95% interval (Wilson). Codes of the set ``made`` run
as they stand; those of ``real`` lack names, or their class, and work on files or print. The reader
knows what they lack, and writes programs that are right by construction. A configuration may be
named with what evidence it wants, as in ``spec:all``, which has a program written for every pair.

- The reader misreads some pairs on purpose. Accuracy and false passes stand twice: over all pairs,
  and over those that it reads right, for which the goals hold: 99% and at most 2%.
- False passes are wrong codes labelled 1, false fails right codes labelled 0; near misses are wrong
  codes that many calls do not show.
- A label is decided by execution where it rests on a valid oracle; where the gates are off, where
  its last program passed or failed an assertion.
- Of first programs that are right for their code, those are accepted that no gate refuses; each
  refusal is listed with its reason.
- Claims run are those of a specification that a code held or failed, of those that it would have
  could all its calls be written down.
- Pairs without example are those of a query whose specification has none that can be written down.
- With ``--busy`` all is judged once more beside so many processes that never rest; the last line
  says of how many pairs label, path or support is another one then.
- A real model (``--model``) judges one pair of each query, in turn a match and none, without Ray
  and Prefect, and gets rows of the page's table (`model_table`); with a folder the same command
  goes on where it stopped.
- Tokens are those of requests that were sent and their replies: a specification is asked for once a
  query. Seconds are those of the stage, with the start of its workers.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from prefect import flow
from pydantic import SecretStr
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agents.claims.executed import is_claims_program
from flows.annotate import judge_candidates
from flows.runtime.prefect_server import prefect_api
from infra.ray import ensure_ray
from infra.records import Annotation, Code, Execution, Pair, Query
from infra.settings import (
    AnnotationSettings,
    LanguageModelSettings,
    SandboxSettings,
    Settings,
    StoreSettings,
    load_settings,
)
from infra.store import annotations, open_database
from infra.subsets import batched
from sandbox.backends import make_sandbox
from tasks.stages.annotate.plan import AnnotationRun, current_recipe
from tasks.stages.compare_annotators import annotate_in_process
from tests.bench.judging import fill
from tests.bench.model_table import (
    ENDS,
    by_execution,
    figures_of,
    gain_of_evidence,
    sample,
    share,
    write_row,
)
from tests.bench.provable_pairs.case import load_cases
from tests.bench.provable_pairs.made import ProvedPair, proved_pairs
from tests.fakes.fallible_reader import FallibleReader, Habits
from tests.fakes.llm_server import KEY

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

CONFIGURATIONS = ("single", "paper", "spec")
_LONGEST_REASON = 300  # characters
_STORED_TOGETHER = 2  # pairs of a real model, which takes a minute for one


class Judged(NamedTuple):
    """What a configuration says of the pairs, in their order, in how many seconds, to whom."""

    annotations: list[Annotation]
    seconds: float
    reader: FallibleReader


def judged(folder: Path, made: Sequence[ProvedPair], reader: FallibleReader, name: str) -> Judged:
    """Judge the pairs in a store of their own."""
    pairs = [Pair(query=Query.of(pair.query), code=Code.of(pair.code)) for pair in made]
    configuration, _, evidence = name.partition(":")
    settings = Settings(
        llm=LanguageModelSettings(
            model="openai/stand-in", base_url=reader.base_url, api_key=SecretStr(KEY)
        ),
        annotation=AnnotationSettings.model_validate(
            {"configuration": configuration, "evidence": evidence or "auto", "gold_questions": 0}
        ),
        store=StoreSettings(folder=folder / name),
    )
    database = open_database(settings.store)
    search = fill(database, pairs)
    recipe = current_recipe(settings.committee, require_shown=True)

    @flow(name="bench-judgement")
    def judge() -> None:
        judge_candidates(AnnotationRun.of(search, recipe, settings))

    started = time.monotonic()
    judge()
    seconds = time.monotonic() - started
    found = annotations.load_annotations(database, recipe.recipe_id, [pair.key for pair in pairs])
    if len(found) != len(pairs):
        raise SystemExit(f"{len(found)} of {len(pairs)} pairs were judged: nothing is measured")
    return Judged(found, seconds, reader)


def first_program(pair: ProvedPair, item: Annotation, reader: FallibleReader) -> Execution | None:
    """Return the last run of a pair's first program, None where that is not right for sure.

    Nor is there one where a wrong code never ends.
    """
    runs = [run for run in item.executions if not is_claims_program(run.program)]
    of_it = [run for run in runs if run.program == runs[0].program in reader.right]
    is_endless = bool(of_it) and pair.label == 0 and of_it[-1].result.outcome == "timeout"
    return of_it[-1] if of_it and not is_endless else None


def refusal_of(item: Annotation, run: Execution) -> str:
    """Return why a program of a pair does not count, "" where it does."""
    if run.oracle is not None:
        return "; ".join(f"{gate}: {fault}" for gate, fault in run.oracle.faults.items())
    if run.result.outcome in ENDS and item.support == "ungated":
        return ""
    return f"{run.result.outcome}: {run.result.error_type}: {run.result.message}"


def claims_run(item: Annotation, examples: int) -> int:
    """Return how many of a specification's examples a code held or failed."""
    names, counts = {f"test_claim_{number}" for number in range(1, examples + 1)}, [0]
    for run in item.executions:
        if is_claims_program(run.program):
            of_it = [case for case in run.result.tests if case.name in names]
            passed = [case.outcome == "passed" for case in of_it]
            counts.append(
                sum(passed) + sum(case.message.startswith(("gave ", "formed ")) for case in of_it)
            )
    return max(counts)


def figures(pairs: Sequence[ProvedPair], of_it: Judged, kinds: str) -> dict[str, str]:
    """Return the figures of one configuration on the pairs of a set by their names."""
    judged, seconds, reader = of_it
    real = {case.query for case in load_cases("real")}
    whole = zip(pairs, judged, strict=True)
    both = [one for one in whole if (one[0].query in real) == (kinds == "real")]
    pairs, items = [pair for pair, _ in both], [item for _, item in both]
    wrong = [item.label for pair, item in both if pair.label == 0]
    near = [item.label for pair, item in both if pair.is_near_miss]
    right = [item for pair, item in both if pair.label == 1]
    firsts = [(item, run) for one, item in both if (run := first_program(one, item, reader))]
    read = [(one, item) for one, item in both if not reader.misreads(one)]
    wrong_read = [item.label for one, item in read if one.label == 0]
    wanted = [min(len(pair.demands), Habits.examples) for pair in pairs if reader.examples]
    ran = sum(claims_run(item, reader.examples.get(pair.query, 0)) for pair, item in both)
    calls = [call for item in items for call in item.calls if not call.cached]
    tokens = sum((call.prompt_tokens or 0) + (call.completion_tokens or 0) for call in calls)
    return {
        "accuracy": share(sum(item.label == pair.label for pair, item in both), len(both)),
        "of pairs read right": share(sum(item.label == one.label for one, item in read), len(read)),
        "false passes": share(wrong.count(1), len(wrong)),
        "of wrong codes read right": share(wrong_read.count(1), len(wrong_read)),
        "of near misses": share(near.count(1), len(near)),
        "false fails": share(sum(item.label == 0 for item in right), len(right)),
        "by execution": share(sum(map(by_execution, items)), len(both)),
        "of matches": share(sum(map(by_execution, right)), len(right)),
        "first programs accepted": share(sum(not refusal_of(*one) for one in firsts), len(firsts)),
        "claims run": share(ran, sum(wanted)),
        "without example": share(
            sum(not reader.examples.get(one.query, 1) for one in pairs), len(both)
        ),
        "no label": str(sum(item.label is None for item in items)),
        "tokens a pair": f"{tokens / len(both):,.0f}",
        "seconds a pair": f"{seconds / len(judged):.2f}",
    }


def refusals(pairs: Sequence[ProvedPair], judged_by: dict[str, Judged]) -> Table:
    """Return each refusal of a first program that is right by construction."""
    table = Table("configuration", "kind", "query", "why", title="wrong refusals")
    for name, of_it in judged_by.items():
        for pair, item in zip(pairs, of_it.annotations, strict=True):
            run = first_program(pair, item, of_it.reader)
            if run and (why := refusal_of(item, run)):
                table.add_row(name, pair.kind, pair.query, escape(why[:_LONGEST_REASON]))
    return table


def mistakes(pairs: Sequence[ProvedPair], judged_by: dict[str, Judged]) -> Table:
    """Return each wrong label, and whether the reader errs on the pair on purpose."""
    table = Table("configuration", "kind", "query", "path", "reader", title="wrong labels")
    for name, (annotations_of_it, _, reader) in judged_by.items():
        for pair, item in zip(pairs, annotations_of_it, strict=True):
            if item.label != pair.label:
                reading = "misreads" if reader.misreads(pair) else "reads right"
                table.add_row(name, pair.kind, pair.query, item.path, reading)
    return table


def by_role(pairs: Sequence[ProvedPair], judged_by: dict[str, Judged]) -> Table:
    """Return requests and tokens by role, of a pair on average."""
    table = Table("configuration", "role", "requests", "prompt", "reply", title="tokens a pair")
    for name, of_it in judged_by.items():
        calls = [call for item in of_it.annotations for call in item.calls if not call.cached]
        for role in sorted({call.role for call in calls}):
            of_role = [call for call in calls if call.role == role]
            prompt, reply = (
                sum(getattr(call, kind) or 0 for call in of_role) / len(pairs)
                for kind in ("prompt_tokens", "completion_tokens")
            )
            table.add_row(name, role, str(len(of_role)), f"{prompt:.0f}", f"{reply:.0f}")
    return table


def by_kind(pairs: Sequence[ProvedPair], judged_by: dict[str, Judged]) -> Table:
    """Return the share of right labels by kind of code."""
    table = Table(title="right labels by kind of code", title_justify="left")
    for column in ("kind", "pairs", *judged_by):
        table.add_column(column, justify="left" if column == "kind" else "right")
    places = defaultdict(list)
    for place, pair in enumerate(pairs):
        places[pair.kind].append(place)
    for kind, those in sorted(places.items()):
        cells = [
            f"{fmean(items[place].label == pairs[place].label for place in those):.1%}"
            for items, _, _ in judged_by.values()
        ]
        table.add_row(kind, str(len(those)), *cells)
    return table


@contextmanager
def busy(number: int) -> Iterator[None]:
    """Have so many processes that never rest inside the ``with``."""
    command = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(command) for _ in range(number)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def verdicts(of_it: Judged) -> list[tuple[object, ...]]:
    """Return label, path and support of each pair."""
    return [(item.label, item.path, item.support) for item in of_it.annotations]


async def proved(options: argparse.Namespace, *sets: str) -> list[ProvedPair]:
    """Return the pairs of the sets; what each code gives is proved in the sandbox."""
    cases = load_cases(*sets)
    some = cases[:: max(len(cases) // (options.queries or len(cases)), 1)][: options.queries]
    sandbox = make_sandbox(SandboxSettings())
    try:
        return await proved_pairs(sandbox, some, options.candidates)
    finally:
        await sandbox.close()


def sampled(options: argparse.Namespace) -> list[ProvedPair]:
    """Return one pair of each query; a folder keeps them, as to prove them takes minutes."""
    kinds = ("made", "real") if options.set == "all" else (options.set,)
    kept = options.folder and options.folder / f"{'-'.join(kinds)}-{options.queries}.json"
    if kept and kept.exists():
        return [ProvedPair(**pair) for pair in json.loads(kept.read_text(encoding="utf-8"))]
    made = [pair for kind in kinds for pair in sample(asyncio.run(proved(options, kind)))]
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps([pair._asdict() for pair in made]), encoding="utf-8")
    return made


def bench_model(options: argparse.Namespace) -> None:
    """Judge a sample of the pairs by a real model, and print its rows of the table."""
    made = sampled(options)
    name = options.name or options.model.rpartition("/")[2]
    pairs = [Pair(query=Query.of(pair.query), code=Code.of(pair.code)) for pair in made]
    judged_by = {}
    with tempfile.TemporaryDirectory() as kept_nowhere:
        folder = options.folder or Path(kept_nowhere)
        for configuration in options.configurations:
            overrides = {
                "llm": {"model": options.model},
                "annotation": {"configuration": configuration},
                "store": {"folder": folder / name / configuration},
            }
            settings = load_settings(overrides)
            recipe = current_recipe(settings.committee, require_shown=True)
            for some in batched(pairs, _STORED_TOGETHER):
                annotate_in_process(some, recipe, settings.committee, settings.store)
            judged_by[configuration] = annotations.load_annotations(
                open_database(settings.store), recipe.recipe_id, [pair.key for pair in pairs]
            )
            cells = figures_of(name, configuration, made, judged_by[configuration])
            print(" | ".join(cells), flush=True)
            if options.page:
                write_row(options.page, cells)
    for line in gain_of_evidence(made, judged_by):
        print(line)


def bench(options: argparse.Namespace) -> None:
    """Judge the pairs by each configuration, and print the tables."""
    from litellm import token_counter  # noqa: PLC0415 - it takes seconds

    def tokens_of(text: str) -> int:
        return int(token_counter(model="openai/gpt-4o-mini", text=text))

    kinds = ("made", "real") if options.set == "all" else (options.set,)
    habits, pairs = Habits(options.near_miss_errors), asyncio.run(proved(options, *kinds))
    judged_by: dict[str, Judged] = {}
    differing: dict[str, int] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ["PREFECT_HOME"] = str(folder / "prefect")
        stack.enter_context(prefect_api())
        ensure_ray(Settings().ray)
        for name in options.configurations:
            with FallibleReader(pairs, habits, tokens_of) as reader:
                judged_by[name] = judged(folder, pairs, reader, name)
            if options.busy:
                with busy(options.busy), FallibleReader(pairs, habits, tokens_of) as reader:
                    again = judged(folder / "busy", pairs, reader, name)
                both = zip(verdicts(judged_by[name]), verdicts(again), strict=True)
                differing[name] = sum(one != other for one, other in both)
    columns = [(name, kind) for name in judged_by for kind in kinds]
    told = [figures(pairs, judged_by[name], kind) for name, kind in columns]
    matches = sum(pair.label for pair in pairs)
    title = f"{len(pairs)} pairs, {matches} matches, {habits}"
    table = Table("", *(f"{name}, {kind}" for name, kind in columns), title=title)
    for figure in told[0]:
        table.add_row(figure, *(of_it[figure] for of_it in told))
    console = Console(width=200)
    console.print(table)
    for made in (by_kind, by_role, mistakes, refusals):
        console.print(made(pairs, judged_by))
    for name, number in differing.items():
        beside = f"beside {options.busy} busy processes"
        console.print(f"{name}: {number} of {len(pairs)} pairs are judged otherwise {beside}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=("made", "real", "all"), default="made", help="(made)")
    parser.add_argument("--queries", type=int, help="so many of them, spread over the set (all)")
    parser.add_argument(
        "--candidates", type=int, default=20, help="codes a query, filled up with others' (20)"
    )
    parser.add_argument("--configurations", nargs="+", default=CONFIGURATIONS, help="which (all)")
    parser.add_argument(
        "--near-miss-errors", type=float, default=0.15, help="share of near misses misread (0.15)"
    )
    parser.add_argument("--busy", type=int, help="judge again beside so many processes (none)")
    parser.add_argument("--model", help="a real one for litellm, by COSQA_LLM__* (the stand-in)")
    parser.add_argument("--name", help="that model's name in the table (as --model has it)")
    parser.add_argument("--folder", type=Path, help="where stores are kept, to go on (none)")
    parser.add_argument("--page", type=Path, help="the page whose table gets the model's rows")
    given = parser.parse_args()
    (bench_model if given.model else bench)(given)
