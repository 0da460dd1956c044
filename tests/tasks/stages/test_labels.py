"""Laws of label sets and of benchmarks made of them: the majority of rounds, written answers beside
it, people's labels, the code base and the split.

Covers `tasks.stages.labels`, `flows.cli.pipeline`.
"""

from pathlib import Path

import pytest

from infra.collected import Collected, StoredCollection
from infra.identity import PairKey, SearchId
from infra.records import Candidate, Code, GivenVote, Label, Query, SourceInfo
from infra.settings import PublishSettings
from infra.store import Database, benchmarks, candidates, corpus, generated, samples
from infra.store.samples import Sample
from infra.store.votes import record_votes
from tasks.benchmarks import Benchmark, write_benchmark
from tasks.benchmarks.benchmark import GENERATED
from tasks.inputs.formats.export import read_benchmark
from tasks.stages.label.sample import Drawing, items_of, sample_candidates
from tasks.stages.labels import (
    UNCOLLECTED,
    LabelSet,
    label_sets,
    labelled_benchmark,
    with_split,
)
from tasks.stages.publish import nothing_exported, publish_benchmark
from tests.fakes.stores import store_like
from tests.tasks.stages.generate.world import (
    CODES,
    QUERIES,
    ROUNDS,
    SEARCH,
    answer,
    judged_store,
    label,
    labels_in_use,
    said,
)

INFO = SourceInfo(name="made", licence="MIT", revision="1", location="here")
ASKED = tuple(Query.of(text) for text in ("sort a list", "parse a date"))
CODED = tuple(Code.of(f"def f{number}(x):\n    return x") for number in range(5))
BY_ID = sorted(CODED, key=lambda code: code.code_id)


def benchmark_of(folder: Path, rounds: int = 1, **settings: object) -> Benchmark:
    """Return the agents' benchmark of a store."""
    database, source = judged_store(folder, rounds)
    if rounds == 3:
        label(database, 0, 1, 0, ROUNDS[1])
        label(database, 1, 0, 1, ROUNDS[1], ROUNDS[2])
        label(database, 1, 1, None, ROUNDS[0])
        label(database, 1, 1, 1, ROUNDS[1])
        label(database, 2, 0, None, ROUNDS[0], ROUNDS[1], status="failed")
    answers = [answer(number, edited=number == 2) for number in range(3)]
    generated.add_answers(database, [(item, ()) for item in answers])
    for item in answers[1:]:
        generated.add_answers(database, [], said(item, confirmed=True))
    labels = labels_in_use(database, source)
    return labelled_benchmark(database, labels, PublishSettings.model_validate(settings))


def written(benchmark: Benchmark) -> list[Label]:
    return [item for item in benchmark.labels if item.origin.startswith(GENERATED)]


def test_a_label_is_what_most_rounds_say_and_a_pair_without_is_undecided_or_unfinished(
    tmp_path: Path,
) -> None:
    benchmark = benchmark_of(tmp_path, rounds=3, generated="none")
    found = {label.key: label.relevance for label in benchmark.labels}
    first, second = (code.code_id for code in CODES)
    assert found == {
        (QUERIES[0].query_id, first): 0,
        (QUERIES[0].query_id, second): 1,
        (QUERIES[1].query_id, first): 1,
        (QUERIES[2].query_id, second): 0,
    }
    [undecided] = benchmark.undecided
    assert (undecided.query_id, undecided.code_id) == (QUERIES[1].query_id, second)
    assert "1 say 1, 1 say 0, 1 say neither" in undecided.reason
    assert benchmark.failed == 1
    assert {item.origin for item in benchmark.labels} == {"agents:r1, majority of 3 rounds"}


def test_labels_without_the_support_that_is_exported_are_no_votes(tmp_path: Path) -> None:
    benchmark = benchmark_of(tmp_path, rounds=3, support=["valid_oracle"], generated="none")
    assert benchmark.labels == ()


@pytest.mark.parametrize(("which", "count"), [("none", 0), ("confirmed", 2), ("verified", 3)])
def test_written_answers_join_with_an_origin_of_their_own(
    tmp_path: Path, which: str, count: int
) -> None:
    benchmark = benchmark_of(tmp_path, generated=which)
    labels = written(benchmark)
    assert (len(labels), len(benchmark.labels), len(benchmark.codes)) == (
        count, 6 + count, 2 + count
    )  # fmt: skip
    assert {item.relevance for item in labels} <= {1.0}
    origins = {code.code_id: code.origin for code in benchmark.codes}
    assert all(origins[item.code_id] == item.origin for item in labels)
    if count == 2:
        assert {item.origin for item in labels} == {
            "generated:openai/scripted", "generated:openai/scripted, edited"
        }  # fmt: skip
    manifest = write_benchmark(benchmark, tmp_path / "out")
    assert manifest.counts.get("generated", 0) == count
    assert sorted(read_benchmark(tmp_path / "out").labels, key=lambda item: item.key) == sorted(
        benchmark.labels, key=lambda item: item.key
    )


def test_an_answer_that_is_a_judged_candidate_adds_no_second_label(tmp_path: Path) -> None:
    database, source = judged_store(tmp_path)
    same = answer(1, code_id=CODES[0].code_id, code=CODES[0].text)
    generated.add_answers(database, [(same, ())])
    labels = labels_in_use(database, source)
    benchmark = labelled_benchmark(database, labels, PublishSettings(generated="verified"))
    assert (len(benchmark.labels), written(benchmark)) == (6, [])


def vote(database: Database, sample: Sample, name: str, matches: set[PairKey]) -> None:
    """Store one person's labels of all items of a sample."""
    samples.assign(database, sample, name)
    votes = [
        GivenVote(
            query_id=item.query_id, code_id=item.code_id, annotator=name, origin=sample.origin,
            relevance=item.key in matches,
        )
        for item in sample.items
    ]  # fmt: skip
    with database.transaction() as tx:
        record_votes(tx, sample.collection, votes)


@pytest.mark.parametrize("whose", ["agents", "people", "both"])
def test_peoples_majority_stands_in_place_of_the_agents_where_it_is_asked_for(
    tmp_path: Path, whose: str
) -> None:
    """Three people label three of six pairs: one match of the agents', one that these miss."""
    database, source = judged_store(tmp_path)
    keys = [PairKey(query.query_id, code.code_id) for query in QUERIES for code in CODES]
    label(database, 2, 1, None, "r1")
    drawn = Sample(collection="c", items=items_of([keys[1], keys[2], keys[5]], 0))
    half = Sample(collection="c", items=drawn.items, body={"criterion": "half"})
    for sample in (drawn, half):
        samples.add_sample(database, sample)
    vote(database, drawn, "ann", {keys[2], keys[5]})
    vote(database, drawn, "bob", {keys[2], keys[5]})
    vote(database, drawn, "cam", {keys[1]})
    vote(database, half, "ann", {keys[1]})
    labels = labels_in_use(database, source)
    benchmark = labelled_benchmark(
        database, labels, PublishSettings.model_validate({"labels": whose})
    )
    found = {PairKey(*item.key): item.relevance for item in benchmark.labels}
    agents = dict.fromkeys(keys[:5], 0.0) | {keys[1]: 1.0}
    people = {keys[1]: 0.0, keys[2]: 1.0, keys[5]: 1.0}
    assert found == {"agents": agents, "people": people, "both": agents | people}[whose]
    assert len(benchmark.undecided) == int(whose == "agents")
    manifest = write_benchmark(benchmark, tmp_path / "out")
    origin = f"people:{drawn.sample_id}"
    assert manifest.people == ({} if whose == "agents" else {origin: 3})
    assert manifest.counts["queries"] == 3
    card = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert ("3 of the labels are people's" in card) == (whose != "agents")
    said_of = {item.key: item.note for item in read_benchmark(tmp_path / "out").labels if item.note}
    notes = {
        keys[1]: "3 people; agents: 1", keys[2]: "3 people; agents: 0",
        keys[5]: "3 people; agents: no label",
    }  # fmt: skip
    assert said_of == ({} if whose == "agents" else notes)


def test_an_export_is_written_anew_when_people_have_labelled_since(tmp_path: Path) -> None:
    database, source = judged_store(tmp_path)
    labels = labels_in_use(database, source)
    before = benchmarks.state_of_labels(database, "c", labels.current)
    sample = sample_candidates(database, "c", Drawing(2))
    assert benchmarks.state_of_labels(database, "c", labels.current) == before
    vote(database, sample, "ann", set())
    after = benchmarks.state_of_labels(database, "c", labels.current)
    assert after != before
    vote(database, sample, "ann", set())
    assert benchmarks.state_of_labels(database, "c", labels.current) == after, "said again"
    vote(database, sample, "ann", {sample.items[0].key})
    assert benchmarks.state_of_labels(database, "c", labels.current) not in (before, after)


def test_where_nobody_labelled_there_is_no_benchmark_of_people(tmp_path: Path) -> None:
    database, source = judged_store(tmp_path)
    labels = labels_in_use(database, source)
    settings = PublishSettings(labels="people")
    assert not labelled_benchmark(database, labels, settings).labels
    told = str(nothing_exported(database, [labels], settings, "c"))
    assert "no pair of it has a majority of people: `cosqa label sample`" in told


def test_peoples_labels_are_a_set_of_their_own_where_no_agent_has_judged(tmp_path: Path) -> None:
    """Of the three queries' six pairs two are decided, and one is not."""
    database, source = judged_store(tmp_path / "unjudged", 0)
    people = PublishSettings(labels="people")
    assert label_sets(database, source) == []
    assert "no pair of it has a majority" in str(nothing_exported(database, [], people, "c"))
    keys = [PairKey(query.query_id, code.code_id) for query in QUERIES for code in CODES]
    drawn = Sample(collection="c", items=items_of([keys[0], keys[1], keys[4]], 0))
    half = Sample(collection="c", items=items_of(keys, 0), body={"criterion": "half"})
    for sample in (drawn, half):
        samples.add_sample(database, sample)
    vote(database, half, "ann", {keys[2]})
    assert label_sets(database, source) == [], "labels by another criterion"
    vote(database, drawn, "ann", {keys[1], keys[4]})
    vote(database, drawn, "bob", {keys[1]})
    assert label_sets(database, source, people=False) == []
    [labels] = label_sets(database, source)
    assert (labels.name, labels.searches) == ("c-people", (SEARCH,))
    benchmark = labelled_benchmark(database, labels, people)
    origin = f"people:{drawn.sample_id}"
    assert {(*item.key, item.relevance, item.origin, item.note) for item in benchmark.labels} == {
        (*keys[0], 0.0, origin, "2 people"), (*keys[1], 1.0, origin, "2 people"),
    }  # fmt: skip
    assert [query.query_id for query in benchmark.queries] == [QUERIES[0].query_id]
    assert benchmark.found_by == ("minilm",)

    judged, source = judged_store(tmp_path / "judged")
    samples.add_sample(judged, drawn)
    vote(judged, drawn, "ann", {keys[1]})
    assert [each.name for each in label_sets(judged, source)] == ["c-agents"]


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("rounds", [0, 1])
@pytest.mark.parametrize("whose", ["people", "both"])
def test_peoples_labels_of_what_is_no_longer_collected_are_left_out_counted_and_kept(
    tmp_path: Path, rounds: int, whose: str
) -> None:
    """A person labels three pairs; then one query and one code are collected no more."""
    database, source = judged_store(tmp_path, rounds)
    keys = [PairKey(query.query_id, code.code_id) for query in QUERIES for code in CODES]
    drawn = Sample(collection="c", items=items_of([keys[0], keys[2], keys[5]], 0))
    samples.add_sample(database, drawn)
    vote(database, drawn, "ann", {keys[2]})
    settings = PublishSettings.model_validate({"labels": whose, "folder": tmp_path / "out"})

    def published() -> dict[PairKey, str]:
        [labels] = label_sets(database, source)
        found = publish_benchmark.fn(database, labels, settings)
        assert found is not None
        benchmark = read_benchmark(Path(found.folder))
        assert benchmark.dropped.get(UNCOLLECTED, 0) == left_out
        judged = {query.query_id for query in benchmark.queries}
        assert judged == {label.query_id for label in benchmark.labels}
        return {PairKey(*label.key): label.origin for label in benchmark.labels}

    def collect(queries: tuple[Query, ...], codes: tuple[Code, ...]) -> None:
        content = Collected(info=INFO, queries=queries, codes=codes)
        corpus.replace_collections(database, "print", {"c": content}, annotated="c")

    left_out = 0
    whole = published()
    collect(QUERIES[1:], CODES[:1])
    left_out = 2
    assert published() == {
        key: origin for key, origin in whole.items()
        if key.query_id != QUERIES[0].query_id and key.code_id == CODES[0].code_id
    }  # fmt: skip
    collect(QUERIES, CODES)
    left_out = 0
    assert published() == whole


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("whose", ["people", "both"])
def test_where_nothing_that_people_labelled_is_collected_the_way_out_is_to_collect_it(
    tmp_path: Path, whose: str
) -> None:
    database, source = judged_store(tmp_path, rounds=0)
    key = PairKey(QUERIES[0].query_id, CODES[0].code_id)
    drawn = Sample(collection="c", items=items_of([key], 0))
    samples.add_sample(database, drawn)
    vote(database, drawn, "ann", {key})
    content = Collected(info=INFO, queries=QUERIES[1:], codes=CODES)
    corpus.replace_collections(database, "print", {"c": content}, annotated="c")
    settings = PublishSettings.model_validate({"labels": whose, "folder": tmp_path / "out"})
    sets = label_sets(database, source)
    assert [publish_benchmark.fn(database, each, settings) for each in sets] == [None]
    told = str(nothing_exported(database, sets, settings, "c"))
    assert "only pairs whose query or code is no longer collected: collect them again" in told


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return store_like(_fill, tmp_path)


def _fill(database: Database) -> None:
    labels = (
        Label(query_id=ASKED[0].query_id, code_id=CODED[0].code_id, origin="people", relevance=1),
        Label(query_id=ASKED[1].query_id, code_id=CODED[4].code_id, origin="people", relevance=0),
    )
    content = Collected(info=INFO, queries=ASKED, codes=CODED, labels=labels)
    corpus.replace_collections(database, "print", {"c": content, "d": content}, annotated="c")
    found = [
        Candidate(
            query_id=query.query_id, code_id=code.code_id, rank=1, similarity=0.5, by_encoder={}
        )
        for query, code in ((ASKED[0], CODED[1]), (ASKED[1], CODED[2]))
    ]
    candidates.record_search(database, SearchId("s"), "c", ["minilm"], 1)
    candidates.add_candidates(database, SearchId("s"), found)


def labels_of(collection: str, *searches: str) -> LabelSet:
    stored = StoredCollection(
        name=collection, fingerprint="print", queries=2, codes=5, is_annotated=True, input_digest=""
    )
    ids = tuple(SearchId(search) for search in searches)
    return LabelSet(collection=stored, origin="people", name=collection, searches=ids)


def test_the_code_base_is_the_collection_or_the_candidates_with_the_labelled_codes(
    database: Database,
) -> None:
    whole = labelled_benchmark(database, labels_of("c", "s"), PublishSettings())
    assert (whole.codes, whole.code_base) == (BY_ID, "collection")
    settings = PublishSettings(code_base="candidates")
    union = labelled_benchmark(database, labels_of("c", "s"), settings)
    found = [code for code in BY_ID if code != CODED[3]]
    assert (union.codes, union.code_base) == (found, "candidates")
    assert union.labels == whole.labels


def test_a_collection_without_candidates_keeps_all_its_codes(database: Database) -> None:
    settings = PublishSettings(code_base="candidates")
    whole = labelled_benchmark(database, labels_of("d"), settings)
    assert (whole.codes, whole.code_base) == (BY_ID, "collection")


def test_the_queries_are_split_when_asked_for(database: Database) -> None:
    settings = PublishSettings(split="8:1:1")
    whole = labelled_benchmark(database, labels_of("c"), settings)
    assert with_split(whole, PublishSettings()) is whole
    benchmark = with_split(whole, settings)
    assert benchmark.splits == {query.query_id: "test" for query in ASKED}
