"""Benchmarks as data: a labelled collection, and the checks before it is exported."""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ConfigDict, Field, InstanceOf, SkipValidation, field_validator

from infra.errors import PublishError
from infra.identity import digest, digest_of
from infra.records import Code, Label, Query, Record, SourceInfo
from infra.summaries import GoldCounts
from tasks.benchmarks.evidence import NO_ANNOTATIONS, AnnotationStream, RecordedAnnotations
from tasks.benchmarks.rows import LabelledPair, QuerySpecification, Rows, Undecided
from tasks.benchmarks.runs import refuse_unfit_ids

FORMAT_VERSION = 2
GENERATED = "generated:"  # begins the origin of written answers and of their labels
MUTANT = "mutant:"  # begins the origin of distractors and of their labels
PEOPLE = "people:"  # begins the origin of labels by the majority of a sample's annotators
MAJORITY = "people's majority"  # the origin of a benchmark of such labels alone, without agents
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"  # is part of paths, also when it comes from others


Item = TypeVar("Item", bound=Record)
Items = Annotated[Sequence[Item], SkipValidation]


def fit_name(name: str, otherwise: str) -> str:
    """Return a text as a name of files; ``otherwise`` where nothing of it can stay."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", name).lstrip("._-") or otherwise


class LabelRecipe(Record):
    """A recipe that gave labels: everything that could have changed them.

    Attributes:
        origin: The origin of these labels.
        recipe_id: The recipe's id; of several labelling rounds that of the first.
        body: What the recipe consists of.
        gold: How its agents judged pairs with known labels.
    """

    origin: str
    recipe_id: str
    body: dict[str, object]
    gold: GoldCounts = GoldCounts()


class Seal(Record):
    """The checksums of answers that an export does not hold: SHA-256 of salt and salted answers.

    Attributes:
        salt: Of the salt.
        answers: Of the salt, the benchmark's name and the labels.
        labels: Number of labels.
    """

    salt: str = Field(pattern="^[0-9a-f]{64}$")
    answers: str = Field(pattern="^[0-9a-f]{64}$")
    labels: int = Field(ge=1)


class Benchmark(Record):
    """Queries, codes, and the labels that one origin gives to pairs of them.

    Of the store and of exports, queries, codes and labels are `Rows`: whoever goes through them has
    one record at a time, and `columns_of` gives all of them without any record.

    Attributes:
        name: A name that is fit for a folder.
        label_origin: The origin of every label but those of written answers (`GENERATED`), of
            distractors (`MUTANT`), of people (`PEOPLE`) and of former recipes.
        sources: Where queries, codes and labels come from.
        recipe: Everything that could change the agents' labels, of the recipe in use; None for
            labels of another origin.
        recipes: The recipes that gave labels, the one in use and former ones.
        stale: Labelled pairs that the recipe in use has not judged yet.
        specifications: What queries demand, by the recipes that judged candidates by that.
        accepts_gold: Whether labels are exported whatever the gold questions say of them.
        failed: Pairs that could not be judged; counted, never exported.
        dropped: Reason → items of the sources that were dropped.
        rounds: The recipes of the labelling rounds, in order; none where pairs are judged once.
        evidence: The agents' annotations with every call and execution, as a stream, when they
            are to be published too.
        code_base: Whether ``codes`` is the whole collection or the union of all candidates.
        splits: Query → train, dev or test (`split_queries`); empty where nothing is split.
        found_by: Encoders that found the candidates, which may be favoured.
        sealed: The checksums of the test part's labels, where a keeper has these.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str = Field(pattern=NAME)
    label_origin: str = Field(min_length=1)
    queries: Items[Query]
    codes: Items[Code]
    labels: Items[Label]
    sources: tuple[SourceInfo, ...]
    recipe: dict[str, object] | None = None
    recipes: tuple[LabelRecipe, ...] = ()
    stale: Items[LabelledPair] = ()
    undecided: Items[Undecided] = ()
    specifications: Items[QuerySpecification] = ()
    accepts_gold: bool = False
    failed: int = Field(0, ge=0)
    dropped: dict[str, int] = Field(default_factory=dict)
    rounds: tuple[str, ...] = ()
    evidence: InstanceOf[AnnotationStream] = NO_ANNOTATIONS
    code_base: Literal["collection", "candidates"] = "collection"
    splits: dict[str, str] = Field(default_factory=dict)
    found_by: tuple[str, ...] = ()
    sealed: Seal | None = None

    @field_validator("evidence", mode="before")
    @classmethod
    def _as_a_stream(cls, value: object) -> object:
        return RecordedAnnotations(value) if isinstance(value, tuple) else value


class Columns(NamedTuple):
    """A benchmark's records in columns."""

    queries: Rows[Query]
    codes: Rows[Code]
    labels: Rows[Label]
    undecided: Rows[Undecided]
    stale: Rows[LabelledPair]
    specifications: Rows[QuerySpecification]


def columns_of(benchmark: Benchmark) -> Columns:
    """Return a benchmark's records in columns."""
    return Columns(
        Rows.of(Query, benchmark.queries),
        Rows.of(Code, benchmark.codes),
        Rows.of(Label, benchmark.labels),
        Rows.of(Undecided, benchmark.undecided),
        Rows.of(LabelledPair, benchmark.stale),
        Rows.of(QuerySpecification, benchmark.specifications),
    )


def qrels_of(labels: Iterable[Label]) -> dict[str, dict[str, float]]:
    """Return query → code → relevance."""
    qrels: dict[str, dict[str, float]] = {}
    for label in labels:
        qrels.setdefault(label.query_id, {})[label.code_id] = label.relevance
    return qrels


def benchmark_fingerprint(benchmark: Benchmark, undecided: str = "") -> str:
    """Return the identity of what is labelled and how, in any order of the records.

    Two benchmarks with one fingerprint give every retrieval method the same scores. The evidence
    behind the labels is left out: it holds times and costs, too. Of an export that does not list
    its undecided pairs their digest is given (`digest_of_records`).
    """
    body = benchmark.model_dump(mode="json", include={"name", "label_origin", "recipe"})
    records = (benchmark.sources, benchmark.queries, benchmark.codes, benchmark.labels)
    parts = [digest_of_records(kind) for kind in records]
    parts.append(undecided or digest_of_records(benchmark.undecided))
    if benchmark.splits:
        parts.append(digest_of(benchmark.splits))
    if benchmark.sealed:
        parts.append(benchmark.sealed.answers)
    return digest("benchmark", str(FORMAT_VERSION), digest_of(body), *parts)


def check_benchmark(benchmark: Benchmark) -> None:
    """Refuse a benchmark that would be misleading or incomplete.

    Raises:
        PublishError: There are no labels; a pair is labelled twice, by another origin, by no finite
            number or about unknown records; an id is repeated or no single field of a file.
    """
    name = benchmark.name
    if not benchmark.labels and not benchmark.sealed:
        raise PublishError(f"benchmark {name!r} has no labels: annotate its pairs first")
    columns = columns_of(benchmark)
    pairs = pa.concat_tables(
        rows.table.select(["query_id", "code_id"]) for rows in (columns.labels, columns.undecided)
    )
    queries, codes = columns.queries.column("query_id"), columns.codes.column("code_id")
    try:
        refuse_unfit_ids(queries)
        refuse_unfit_ids(codes)
    except ValueError as error:
        raise PublishError(f"benchmark {name!r}: {error}") from None
    _refuse_repeated("query", name, queries)
    _refuse_repeated("code", name, codes)
    _refuse_repeated(
        "pair", name, pc.binary_join_element_wise(pairs["query_id"], pairs["code_id"], " ")
    )
    known = pc.and_(
        pc.is_in(pairs["query_id"], value_set=queries), pc.is_in(pairs["code_id"], value_set=codes)
    )
    for pair in pairs.filter(pc.invert(known)).slice(0, 1).to_pylist():
        raise PublishError(
            f"benchmark {name!r} judges the pair {pair['query_id']} {pair['code_id']}, but does "
            "not hold both records: collect its sources again"
        )
    if not pc.all(pc.is_finite(columns.labels.column("relevance")), min_count=0).as_py():
        raise PublishError(f"benchmark {name!r} has a label that is no finite number")
    known_origins = {benchmark.label_origin, *(recipe.origin for recipe in benchmark.recipes)}
    others = [
        origin
        for origin in pc.unique(columns.labels.column("origin")).to_pylist()
        if origin not in known_origins and not origin.startswith((GENERATED, MUTANT, PEOPLE))
    ]
    if others:
        raise PublishError(
            f"benchmark {name!r} is labelled by {benchmark.label_origin!r} and also holds labels "
            f"by {min(others)!r}: export one benchmark for each origin"
        )


def _refuse_repeated(kind: str, name: str, identities: pa.ChunkedArray) -> None:
    if pc.count_distinct(identities).as_py() == len(identities):
        return
    counted = pc.value_counts(identities)
    repeated = counted.field("values").filter(pc.greater(counted.field("counts"), 1))
    raise PublishError(
        f"benchmark {name!r} holds {len(repeated)} {kind} ids more than once, "
        f"{pc.min(repeated).as_py()!r} among them: collect its sources again"
    )


def digest_of_records(records: Iterable[Record]) -> str:
    """Return the digest of records, in any order, as JSON without added fields that are empty."""
    texts = (
        record.model_dump_json(exclude={name for name in record.added if not getattr(record, name)})
        for record in records
    )
    return digest(*sorted(texts))
