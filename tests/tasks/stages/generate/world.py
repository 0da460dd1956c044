"""A store with three judged queries, the first of which has a match."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import SecretStr

from infra.collected import Collected
from infra.identity import RecipeId, SearchId
from infra.records import Annotation, Candidate, Code, GivenVote, Query, SourceInfo
from infra.settings import (
    GenerationSettings,
    LanguageModelSettings,
    SandboxSettings,
    Settings,
    StoreSettings,
)
from infra.store import Database, annotations, candidates, corpus, generated
from infra.store.generated import GeneratedCode
from tasks.runtime.references import CollectedSource, SearchReference
from tasks.stages.labels import LabelSet, labels_of_agents
from tests.fakes.llm_server import KEY
from tests.fakes.stores import store_like

QUERIES = tuple(Query.of(f"python add {number} to a value") for number in range(3))
CODES = tuple(Code.of(f"def plus(x):\n    return x - {number}", name="plus") for number in range(2))
SEARCH, ROUNDS = SearchId("s"), (RecipeId("r1"), RecipeId("r2"), RecipeId("r3"))


def settings_of(folder: Path, base_url: str = "", backend: str = "docker") -> Settings:
    """Return settings of a store and a scripted model."""
    return Settings(
        store=StoreSettings(folder=folder / "store"),
        llm=LanguageModelSettings(
            model="openai/scripted", base_url=base_url, api_key=SecretStr(KEY), max_retries=0
        ),
        sandbox=SandboxSettings(backend=backend),
        generation=GenerationSettings(max_tries=2),
    )


def judged_store(folder: Path, rounds: int = 1) -> tuple[Database, CollectedSource]:
    """Return a store and its source; the first query's second code is labelled 1."""
    database = store_like(_judge, folder / "store", rounds)
    search = SearchReference(search_id=SEARCH, collection="c", queries=3, candidates=6)
    stored = tuple(corpus.collections_of(database, "print"))
    return database, CollectedSource(collections=stored, search=search)


def labels_in_use(database: Database, source: CollectedSource) -> LabelSet:
    """Return the agents' labels of a judged store."""
    labels = labels_of_agents(database, source)
    assert labels is not None
    return labels


def _judge(database: Database, rounds: int) -> None:
    found = _collected(database, "print", "c", QUERIES, CODES, SEARCH)
    bodies = {
        recipe: {"model": {"model": "m"}, **({"round": n} if n > 1 else {})}
        for n, recipe in enumerate(ROUNDS[:rounds], 1)
    }
    if bodies:
        annotations.record_recipes(database, bodies, used_on="c")
    for recipe in bodies:
        labels = [judgement(*item.key, recipe_id=recipe) for item in found]
        annotations.add_annotations(database, labels)
    label(database, 0, 1, 1, *ROUNDS[:rounds])


def _collected(
    database: Database,
    fingerprint: str,
    name: str,
    queries: Sequence[Query],
    codes: Sequence[Code],
    search: SearchId,
) -> list[Candidate]:
    info = SourceInfo(name="made", licence="MIT", revision="1", location="here")
    content = Collected(info=info, queries=tuple(queries), codes=tuple(codes))
    corpus.replace_collections(database, fingerprint, {name: content}, annotated=name)
    candidates.record_search(database, search, name, ["minilm"], len(codes))
    found = [
        Candidate(
            query_id=query.query_id, code_id=code.code_id, rank=rank, similarity=1, by_encoder={}
        )
        for query in queries
        for rank, code in enumerate(codes, 1)
    ]
    candidates.add_candidates(database, search, found)
    return found


def also_collected(
    database: Database,
    name: str,
    queries: Sequence[Query] = QUERIES,
    codes: Sequence[Code] = CODES,
    search: SearchId = SEARCH,
) -> CollectedSource:
    """Store a further collection, all of whose pairs are candidates; return its source."""
    found = _collected(database, f"print of {name}", name, queries, codes, search)
    reference = SearchReference(
        search_id=search, collection=name, queries=len(queries), candidates=len(found)
    )
    stored = tuple(corpus.collections_of(database, f"print of {name}"))
    return CollectedSource(collections=stored, search=reference)


def judgement(query: str, code: str, **fields: object) -> Annotation:
    """Return an annotation with label 0, or as the fields say."""
    row = {"status": "labelled", "label": 0, "path": "read_alone", "support": "screened"}
    return Annotation.model_validate({**row, "query_id": query, "code_id": code, **fields})


def label(
    database: Database, query: int, code: int, value: int | None, *rounds: str, status: str = ""
) -> None:
    """Store another label of a pair; None leaves it undecided or as ``status`` says."""
    status = status or ("undecided" if value is None else "labelled")
    annotations.add_annotations(
        database,
        [
            judgement(
                QUERIES[query].query_id, CODES[code].code_id, recipe_id=recipe, label=value,
                status=status,
            )
            for recipe in rounds
        ],
    )  # fmt: skip


def said(
    item: GeneratedCode, *, confirmed: bool, annotator: str = "a"
) -> dict[str, list[GivenVote]]:
    """Return what a person says of an answer, as it is stored."""
    vote = GivenVote(
        query_id=item.query_id, code_id=item.code_id, annotator=annotator,
        origin=generated.CONFIRMATIONS, relevance=confirmed,
    )  # fmt: skip
    return {item.collection: [vote]}


def answer(query: int, ordinal: int = 0, **fields: object) -> GeneratedCode:
    """Return a verified answer to a query."""
    code = Code.of(f"def plus(x):\n    return x + {query} + {ordinal} * 0")
    row = {
        "collection": "c", "query_id": QUERIES[query].query_id, "query": QUERIES[query].text,
        "ordinal": ordinal, "code_id": code.code_id, "code": code.text, "model": "openai/scripted",
        "recipe_id": "v", "status": "verified", "reason": "it does",
    }  # fmt: skip
    return GeneratedCode.model_validate({**row, **fields})
