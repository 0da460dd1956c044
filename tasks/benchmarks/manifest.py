"""The manifest of an export: what it holds, where it comes from, and every file's checksum."""

import hashlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import AfterValidator, BaseModel, Field, ValidationError

from infra.errors import PublishError
from infra.files import BELOW, leads_outside
from infra.identity import mark_of
from infra.records import Record, SourceInfo
from tasks.benchmarks.benchmark import (
    FORMAT_VERSION,
    GENERATED,
    MUTANT,
    NAME,
    PEOPLE,
    Benchmark,
    Columns,
    LabelRecipe,
    Seal,
    benchmark_fingerprint,
    columns_of,
    digest_of_records,
)
from tasks.benchmarks.splits import SPLITS

MANIFEST = "manifest.json"
# Fields that a manifest has as its benchmark has them.
SHARED = ("name", "label_origin", "recipe", "rounds", "code_base", "found_by", "sealed")


class ExportedFile(Record):
    """A file of an export: its path inside the folder, its bytes and their SHA-256."""

    path: str = Field(pattern=BELOW)
    size: int
    sha256: str


class RecipeLabels(LabelRecipe):
    """A recipe that gave labels, and how many.

    Attributes:
        labels: Number of its labels.
        stale: Those of them whose pairs the recipe in use has not judged yet.
    """

    labels: int
    stale: int

    @property
    def model(self) -> str:
        """The language model."""
        model = self.body.get("model")
        return str(model.get("model", "")) if isinstance(model, dict) else ""

    @property
    def configuration(self) -> str:
        """The configuration of the agents."""
        return str(self.body.get("configuration", ""))


def _counted(counts: dict[str, int]) -> dict[str, int]:
    if missing := {"queries", "codes", "labels", "undecided"} - counts.keys():
        raise ValueError(f"{', '.join(sorted(missing))} are not counted")
    return counts


class Manifest(Record):
    """The contents of an export and their origin.

    Attributes:
        format_version: Version of the export's layout.
        fingerprint: See `benchmark_fingerprint`.
        counts: Queries, codes, labels, relevant ones among them, queries that have a relevant
            code, pairs left undecided, pairs that could not be judged, and, where there are any,
            labels of answers that a model wrote to queries without a match, labels of mutants of
            right codes, and queries that the
            agents specified, found underspecified or not to be shown by a value.
        dropped: Reason → items of the sources that were dropped.
        recipe: Everything that could change the agents' labels, of the recipe in use.
        recipes: How many labels the recipe in use gave, and how many each former one.
        people: Origin of labels by the majority of people, `people:` and the sample → labels.
        accepts_gold: Whether labels were exported whatever the gold questions say of them.
        rounds: The recipes of the labelling rounds, in order; none where pairs are judged once.
        undecided_listed: Whether ``undecided.parquet`` is there.
        undecided_digest: Digest of the undecided pairs, which the fingerprint depends on; empty
            without such pairs.
        code_base: Whether the codes are the whole collection or the union of all candidates.
        splits: Train, dev and test → number of queries; empty where nothing is split.
        found_by: Encoders that found the candidates.
        sealed: The checksums of the test part's labels, which are in a file of the keeper's.
        files: All files but the manifest itself and what evaluation adds under ``runs/``.
    """

    format_version: int
    name: str = Field(pattern=NAME)
    label_origin: str
    fingerprint: str = Field(pattern="^([0-9a-f]{20}|[0-9a-f]{32})$")
    counts: Annotated[dict[str, int], AfterValidator(_counted)]
    dropped: dict[str, int]
    sources: tuple[SourceInfo, ...]
    recipe: dict[str, object] | None
    recipes: tuple[RecipeLabels, ...] = ()
    people: dict[str, int] = Field(default_factory=dict)
    accepts_gold: bool = False
    rounds: tuple[str, ...] = ()
    undecided_listed: bool
    undecided_digest: str = Field("", pattern="^([0-9a-f]{20}|[0-9a-f]{32})?$")
    code_base: Literal["collection", "candidates"] = "collection"
    splits: dict[str, int] = Field(default_factory=dict)
    found_by: tuple[str, ...] = ()
    sealed: Seal | None = None
    files: tuple[ExportedFile, ...]


def describe(benchmark: Benchmark, *, undecided_listed: bool) -> Manifest:
    """Return the manifest of a benchmark whose files are not written yet."""
    columns = columns_of(benchmark)
    labels = columns.labels
    relevant = pc.greater(labels.column("relevance"), 0)
    answered = pc.count_distinct(labels.column("query_id").filter(relevant)).as_py()
    origins = _numbers(labels.column("origin"))
    generated, mutants = (
        sum(n for name, n in origins.items() if name.startswith(kind))
        for kind in (GENERATED, MUTANT)
    )
    parts = Counter(benchmark.splits.values())
    return Manifest(
        **{name: getattr(benchmark, name) for name in SHARED},
        format_version=FORMAT_VERSION,
        fingerprint=benchmark_fingerprint(benchmark),
        counts={
            "queries": len(benchmark.queries),
            "codes": len(benchmark.codes),
            "labels": len(benchmark.labels),
            "relevant": pc.sum(relevant).as_py() or 0,
            "queries_with_relevant": answered,
            "undecided": len(benchmark.undecided),
            "failed": benchmark.failed,
            **({"generated": generated} if generated else {}),
            **({"mutants": mutants} if mutants else {}),
            **_specified(columns),
        },
        dropped=dict(sorted(benchmark.dropped.items())),
        sources=tuple(sorted(benchmark.sources, key=lambda source: source.model_dump_json())),
        recipes=_labels_by_recipe(benchmark, columns),
        people={name: n for name, n in sorted(origins.items()) if name.startswith(PEOPLE)},
        accepts_gold=benchmark.accepts_gold,
        undecided_listed=undecided_listed,
        undecided_digest=digest_of_records(benchmark.undecided) if benchmark.undecided else "",
        splits={part: parts[part] for part in SPLITS if part in parts},
        files=(),
    )


def _specified(columns: Columns) -> dict[str, int]:
    """Return the number of specified queries, and of those with doubts or no value."""
    table = columns.specifications.table
    if not table.num_rows:
        return {}
    unclear = table.filter(table["is_underspecified"])
    unshown = table.filter(pc.not_equal(table["cannot_show"], "none"))
    return {
        "queries_specified": pc.count_distinct(table["query_id"]).as_py(),
        "queries_underspecified": pc.count_distinct(unclear["query_id"]).as_py(),
        "queries_without_value": pc.count_distinct(unshown["query_id"]).as_py(),
    }


def _labels_by_recipe(benchmark: Benchmark, columns: Columns) -> tuple[RecipeLabels, ...]:
    """Return the recipes with labels in the benchmark, most labels first."""
    pairs = columns.labels.table.select(["query_id", "code_id", "origin"])
    of_stale = pairs.join(columns.stale.table, ["query_id", "code_id"], join_type="left semi")
    labels, stale = (_numbers(table["origin"]) for table in (pairs, of_stale))
    counted = [
        RecipeLabels(
            **recipe.model_dump(), labels=labels[recipe.origin], stale=stale[recipe.origin]
        )
        for recipe in benchmark.recipes
        if labels[recipe.origin]
    ]
    return tuple(sorted(counted, key=lambda item: (-item.labels, item.origin)))


def _numbers(values: pa.ChunkedArray) -> Counter[str]:
    """Return value → how often it is there."""
    return Counter(dict(row.values() for row in pc.value_counts(values).to_pylist()))


def write_manifest(manifest: Manifest, folder: Path) -> Manifest:
    """Write the manifest with the checksums of all files in the folder, and return it."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    manifest = manifest.model_copy(update={"files": tuple(_entry(path, folder) for path in paths)})
    text = manifest.model_dump_json(indent=2) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8", newline="\n")
    return manifest


def is_export(folder: Path) -> bool:
    """Return True if a folder looks like an export."""
    return (folder / MANIFEST).is_file()


def read_manifest(folder: Path) -> Manifest:
    """Return an export's manifest, without looking at the files that it lists.

    Raises:
        PublishError: The folder is no export, or one of another format version.
    """
    file = folder / MANIFEST
    if not file.is_file():
        raise PublishError(f"{folder} is no exported benchmark: it has no {MANIFEST}")
    try:
        manifest = Manifest.model_validate_json(file.read_bytes())
    except OSError as error:
        raise PublishError(f"{file} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors()[0]
        problem = ": ".join([*map(str, first["loc"]), first["msg"]])
        raise PublishError(
            f"{file} is not a manifest ({problem}): move the folder away and publish again"
        ) from None
    if manifest.format_version != FORMAT_VERSION:
        raise PublishError(
            f"{folder} has export format {manifest.format_version} where this program reads "
            f"{FORMAT_VERSION}: publish again"
        )
    return manifest


def verify_export(folder: Path, is_wanted: Callable[[str], bool] = lambda _path: True) -> Manifest:
    """Return an export's manifest after comparing its files, or those wanted, with their checksums.

    Raises:
        PublishError: As `read_manifest`, or a file is missing or changed.
    """
    manifest = read_manifest(folder)
    for expected in filter(lambda file: is_wanted(file.path), manifest.files):
        path = folder / expected.path
        if leads_outside(path, folder):
            raise PublishError(f"{path} leads outside of {folder}: put the file itself there")
        try:
            found = _entry(path, folder) if path.is_file() else None
        except OSError as error:
            raise PublishError(f"{str(path)[:500]} cannot be read: {error.strerror}") from None
        if found is None:
            raise PublishError(f"{folder} has lost {expected.path}: publish again")
        if found != expected:
            raise PublishError(f"{path} was changed since it was exported: publish again")
    return manifest


class _FileList(BaseModel):
    """What manifests of all format versions have."""

    files: tuple[ExportedFile, ...]


def check_published(file: Path, folder: Path) -> None:
    """Refuse a file of a folder in an export, of any format version, that is not as published.

    Args:
        file: A file that other tools read without the manifest, such as BEIR's.
        folder: The folder, which an export may have around it.

    Raises:
        PublishError: The manifest does not list the file, or with another checksum.
    """
    root = folder.parent
    try:
        files = _FileList.model_validate_json((root / MANIFEST).read_bytes()).files
    except (OSError, ValidationError):
        return  # no export
    listed = {each.path: each for each in files if each.path.startswith(f"{folder.name}/")}
    name = file.relative_to(root).as_posix()
    if not listed or not file.is_file() or (name in listed and _entry(file, root) == listed[name]):
        return
    is_new = f"is no part of the export, whose {MANIFEST} does not list it"
    fault = "was changed since it was exported" if name in listed else is_new
    raise PublishError(
        f"{file} {fault}: publish again, or copy {folder} elsewhere to read it as a benchmark of "
        "your own"
    )


def state_of_export(folder: Path) -> str | None:
    """Return a digest of the sizes and times of an export's files.

    It tells whether a file was written since, without reading any but the manifest; `verify_export`
    reads them. The time of a file's change on its file system, which no program can set, is among
    the times. None stands for an export that is unusable: a file is missing, or the manifest is
    none of this format version.
    """
    try:
        paths = [MANIFEST, *(file.path for file in read_manifest(folder).files)]
        states = [(folder / path).stat() for path in paths]
    except (OSError, PublishError):
        return None
    return mark_of([(state.st_size, state.st_mtime_ns, state.st_ctime_ns) for state in states])


def _entry(path: Path, folder: Path) -> ExportedFile:
    with path.open("rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    relative = path.relative_to(folder).as_posix()
    return ExportedFile(path=relative, size=path.stat().st_size, sha256=checksum)
