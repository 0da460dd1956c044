"""The task that has queries written for functions, before a source is collected that has none.

All that a model wrote goes to a file in the store's folder, which the source then reads; replies
are in the journal, so that a run that is killed asks nothing twice. The file stays until the code,
the options or ``--reread`` ask for another one, whichever model judges by then.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa

from agents import build_model, check_model, journal_ledger
from agents.llm.client import LanguageModel
from agents.llm.prompt import system_text
from agents.roles.write import QueriesOfFunction, QueryWriter
from infra.budget import run_budget
from infra.errors import PromptDeclinedError, SourceError, UnreadableReplyError
from infra.files import write_outputs
from infra.journal import Journal
from infra.records import Code, Record
from infra.settings import GenerationSettings, LanguageModelSettings, SourceSettings
from infra.store import Database
from infra.store.database import TempTable
from tasks.corpus.written import (
    UNREAD,
    Form,
    WrittenQueries,
    WrittenQuery,
    draw_by_file,
    leave_out,
    masked,
    tally_of,
)
from tasks.inputs.text import one_line
from tasks.reports.plan import expected_note
from tasks.reports.text import counted, format_cost, tally
from tasks.runtime.caching import MODEL_AWAY, is_done, stage
from tasks.runtime.progress import artifact_key, get_run_logger, progress
from tasks.sources import lacks_written, written_queries
from tasks.stages.annotate.cost import expected_of_texts
from tasks.stages.collect import collect_source
from tasks.stages.generate.write import ask_each, require_writer

_RECEIVED = 70  # tokens of a reply
_MOST_UNREAD = 10  # replies, before one can be read


class Written(Record):
    """Numbers of queries that are taken, and of those that are left out, by reason."""

    taken: int
    left_out: dict[str, int]


def is_unwritten(database: Database, source: SourceSettings, fingerprint: str) -> bool:
    """Return True if a model is to write queries before the source can be collected."""
    given = {"database": database, "source": source, "fingerprint": fingerprint}
    return lacks_written(source) and not is_done(collect_source, **given)


def writing_plan(source: SourceSettings, llm: LanguageModelSettings) -> str:
    """Return whom a model would write queries for, and what that is expected to take."""
    written = written_queries(source)
    return _plan_of(_drawn(written.functions(), written), written, llm)


def _plan_of(drawn: Sequence[Code], written: WrittenQueries, llm: LanguageModelSettings) -> str:
    text = system_text(QueryWriter.text_name())
    prompts = [text + masked(code)[: llm.max_code_characters] for code in drawn]
    files = {code.origin.rpartition(":")[0] for code in drawn}
    forms = ", ".join(written.options.forms)
    return (
        f"{llm.model} writes queries ({forms}) for {counted(len(drawn), 'functions')} of "
        f"{counted(len(files), 'files')}\n"
        f"{expected_note(expected_of_texts(prompts, _RECEIVED, llm))}"
    )


def _drawn(codes: Iterable[Code], written: WrittenQueries) -> list[Code]:
    drawn = draw_by_file(codes, written.options.functions, written.options.seed)
    if not drawn:
        raise SourceError(
            "no queries can be written: the code has no function with a name that its filters "
            "keep: set source.filters, or give other input"
        )
    return drawn


@stage(
    "write-queries",
    "write queries for functions of {source.title} by {llm.model}",
    retries=MODEL_AWAY,
)
def write_queries(
    database: Database,
    source: SourceSettings,
    llm: LanguageModelSettings,
    generation: GenerationSettings,
    budget_usd: float | None,
) -> Written:
    """Have queries written for functions of the source's code, and write them to their file.

    Raises:
        SourceError: No function has a name, or no query is left.
        LanguageModelError: The model failed; what it wrote is in the journal.
    """
    require_writer(llm)
    check_model(llm)
    log, written = get_run_logger(), written_queries(source)
    # The code is read once: what the queries are compared with in the end waits on the disk.
    with database.space(), TempTable({"text": pa.string()}, database.settings.folder) as texts:

        def read_functions() -> Iterator[Code]:
            for code in written.functions():
                texts.add({"text": code.text})
                yield code

        drawn = _drawn(read_functions(), written)
        log.info("%s", _plan_of(drawn, written, llm))
        budget = run_budget(database.settings, llm, budget_usd)
        model = build_model(llm, journal_ledger(database.settings, llm, budget))
        with progress(artifact_key("written", source.title), "functions read", len(drawn)) as bar:
            replies = asyncio.run(_ask(drawn, model, generation.concurrency, bar.advance))
        money = Journal(database.settings.journal).spent(llm.model)
        tokens, usd = budget.spent(money)
        found = [
            row
            for code in drawn
            for row in _rows(code, replies.get(code.code_id), written.options.forms, llm.model)
        ]
        functions: dict[str, Code] = {code.code_id: code for code in drawn}
        all_texts = (text for batch in texts.read() for text in batch["text"].to_pylist())
        rows = leave_out(found, all_texts, functions, written.options)
    left_out = tally_of(rows)
    if not any(not row.left_out for row in rows):
        raise SourceError(
            f"no written query is left; left out: {tally(left_out)}: name another model with "
            "--model, or have more written by --set source.written.functions=N"
        )
    text = "".join(f"{row.model_dump_json()}\n" for row in rows)
    write_outputs(written.file.parent, {written.file.name: text})
    taken = sum(not row.left_out for row in rows)
    log.info(
        "%s written for %s by %s tokens, cost %s; left out: %s; all of them: %s",
        counted(taken, "queries"), counted(len(drawn), "functions"), f"{tokens:,.0f}",
        format_cost(None if money.unpriced else usd), tally(left_out), written.file,
    )  # fmt: skip
    return Written(taken=taken, left_out=left_out)


async def _ask(
    drawn: Sequence[Code], model: LanguageModel, at_once: int, advance: Callable[[int], None]
) -> dict[str, QueriesOfFunction]:
    """Return id of a function → what the model wrote for it, if that can be read."""
    writer, replies, unread = QueryWriter(model), dict[str, QueriesOfFunction](), 0

    async def ask(code: Code) -> None:
        nonlocal unread
        try:
            replies[code.code_id] = await writer.write(masked(code))
        except (UnreadableReplyError, PromptDeclinedError):
            unread += 1
            if not replies and unread >= _MOST_UNREAD:
                raise

    try:
        await ask_each(drawn, ask, at_once, advance)
    finally:
        await model.close()
    return replies


def _rows(
    code: Code, reply: QueriesOfFunction | None, forms: Sequence[Form], model: str
) -> Iterator[WrittenQuery]:
    for form in forms:
        query = one_line(getattr(reply, form)) if reply else ""
        query = " ".join(re.split(r"[\s,;]+", query)) if form == "keywords" else query
        yield WrittenQuery(
            query=query, form=form, function=code.code_id, place=code.origin, model=model,
            left_out="" if reply else UNREAD,
        )  # fmt: skip
