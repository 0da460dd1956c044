"""Laws of the confidence of labels: who the judges are, and what their votes say.

Covers `tasks.stages.annotate.confidence`, `infra.store.labels`, `infra.store.labels`.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from infra.ids import RecipeId
from infra.records import Label, LanguageModelCall
from infra.settings import AnnotationSettings, PublishSettings, Reason, Settings, StoreSettings
from infra.store import Database, annotations, corpus, recipes
from infra.store.evidence import why_lost
from infra.store.labels import CountedBallot, Judge, Judges, count_ballots
from infra.store.pending import new_keys_file, read_keys, write_pending
from tasks.benchmarks import Benchmark
from tasks.runtime.references import CollectedSource, RecipeReference
from tasks.stages.annotate.canaries import canaries_of
from tasks.stages.annotate.confidence import voters_of, weigh_votes
from tasks.stages.annotate.pending import pending_of
from tasks.stages.annotate.plan import record_rounds
from tasks.stages.annotate.rounds import AnnotationRun
from tasks.stages.labels import current_labels, judging_recipe, labelled_benchmark, labels_of_agents
from tests.tasks.stages.generate.world import CODES, QUERIES, judged_store, judgement, label

CALL = LanguageModelCall(role="exact_judge", attempt=1, model="m", prompt_digest="d", status="ok")
CHEAP, DEAR = RecipeId("cheap"), RecipeId("dear")
PAIRS = [(query.query_id, code.code_id) for query in QUERIES for code in CODES]


def body(model: str, **more: object) -> dict[str, object]:
    return {"model": {"model": model}, "configuration": "single", **more}


def judged_by_two(folder: Path, cheap: str, dear: str) -> tuple[Database, CollectedSource]:
    """Return a store whose six pairs two models have judged: a digit is a label, "-" is none."""
    database, source = judged_store(folder, rounds=0)
    bodies = {CHEAP: body("cheap"), DEAR: body("dear")}
    recipes.record_recipes(database, bodies, used_on="c")
    for recipe_id, votes in ((CHEAP, cheap), (DEAR, dear)):
        for place, vote in enumerate(votes):
            if vote != "-":
                label(database, place // 2, place % 2, int(vote), recipe_id)
    return database, source


def judge_canaries(database: Database, recipe_id: RecipeId, wrong: int) -> None:
    """Store labels of twelve canaries, so many of them wrong."""
    judged = [
        judgement(*canary.key, recipe_id=recipe_id, label=canary.label ^ (place < wrong))
        for place, canary in enumerate(canaries_of(0)[: AnnotationSettings().canaries])
    ]
    annotations.add_annotations(database, judged)


def exported(database: Database, source: CollectedSource) -> Benchmark:
    recipe = judging_recipe(database, source.search)
    assert recipe is not None
    return labelled_benchmark(
        database, labels_of_agents(database, source, recipe), PublishSettings()
    )


def by_pair(benchmark: Benchmark) -> list[Label]:
    found = {item.key: item for item in benchmark.labels}
    return [found[pair] for pair in PAIRS if pair in found]


def test_a_label_that_judges_agree_on_is_surer_than_one_on_which_they_differ(
    tmp_path: Path,
) -> None:
    benchmark = exported(*judged_by_two(tmp_path, "110000", "100000"))
    agreed, differed, *others = by_pair(benchmark)
    assert {item.origin for item in benchmark.labels} == {"agents:cheap, 2 judges"}
    assert agreed.confidence is not None
    assert differed.confidence is not None
    assert 0.5 <= differed.confidence < agreed.confidence < 1
    assert all((item.confidence or 0) > 0.9 for item in others)


@pytest.mark.parametrize(("reliable", "expected"), [(CHEAP, "110000"), (DEAR, "101000")])
def test_where_judges_differ_the_one_who_knows_the_canaries_is_followed(
    tmp_path: Path, reliable: RecipeId, expected: str
) -> None:
    database, source = judged_by_two(tmp_path, "110000", "101000")
    judge_canaries(database, reliable, wrong=0)
    judge_canaries(database, DEAR if reliable == CHEAP else CHEAP, wrong=6)
    found = by_pair(exported(database, source))
    assert "".join(f"{item.relevance:.0f}" for item in found) == expected


def test_of_equally_reliable_judges_the_last_is_followed(tmp_path: Path) -> None:
    benchmark = exported(*judged_by_two(tmp_path, "10----", "01----"))
    assert [item.relevance for item in by_pair(benchmark)] == [0, 1]


def test_one_judge_alone_gives_confidence_once_it_has_judged_canaries(tmp_path: Path) -> None:
    database, source = judged_store(tmp_path)
    assert {item.confidence for item in exported(database, source).labels} == {None}
    judge_canaries(database, RecipeId("r1"), wrong=1)
    benchmark = exported(database, source)
    assert all(item.confidence is not None for item in benchmark.labels)
    assert benchmark.confidence is not None
    [judge] = benchmark.confidence.judges
    assert (judge.model, judge.labels, judge.known) == ("m", 6, 12)
    found = benchmark.confidence.calibration["canaries"]
    assert found.labels == 12
    assert found.right == pytest.approx(11 / 12, abs=1e-6)
    assert found.expected_error < 0.2


def in_doubt(folder: Path, escalation: str, *, ahead: bool = False, **grades: str) -> list[str]:
    """Return the pairs that the dear judge gets, by place, after the cheap one and its canaries.

    The cheap one has labelled the first 1 and the next three 0, left the fifth undecided and the
    sixth unjudged.
    """
    database, source = judged_store(folder, rounds=0)
    asked = Settings(
        store=StoreSettings(folder=folder / "store"),
        annotation=AnnotationSettings.model_validate(
            {"judges": ["cheap", "dear"], "configuration": "single", "escalation": escalation}
        ),
    )
    reference = RecipeReference(recipe_id=RecipeId(""), model="")
    run = AnnotationRun(source.search, reference, asked)
    record_rounds(database, run)
    cheap, dear = run.rounds
    for place, vote in enumerate([1, 0, 0, 0, None]):
        row: dict[str, Any] = {"recipe_id": cheap.recipe.recipe_id, "label": vote}
        row |= {"calls": (CALL,), "support": grades.get(f"p{place}", "screened")}
        row |= {"status": "undecided"} if vote is None else {}
        annotations.add_annotations(database, [judgement(*PAIRS[place], **row)])
    judge_canaries(database, cheap.recipe.recipe_id, wrong=0)
    pending = pending_of(database, dear, ahead=ahead)
    file = new_keys_file(folder / "store", dear.recipe.recipe_id)
    taken: list[tuple[Reason, int]] = [(reason, 9) for reason in pending.pending]
    write_pending(database, pending.selection, taken, file)
    keys = [(row["query_id"], row["code_id"]) for row in read_keys(file).to_pylist()]
    return [str(PAIRS.index(key)) for key in keys]


def test_a_further_judge_gets_what_is_unsure_undecided_or_not_proved(tmp_path: Path) -> None:
    """A label 1 is unsure where few pairs match: much of what seems to match is misread."""
    assert in_doubt(tmp_path / "a", "vote") == list("012345")
    assert in_doubt(tmp_path / "b", "doubt") == list("04")
    assert in_doubt(tmp_path / "c", "doubt", p0="valid_oracle") == list("4")
    assert in_doubt(tmp_path / "d", "doubt", ahead=True) == list("045"), "5 may come to be unsure"


def test_a_label_without_the_exported_support_is_no_failure_whether_or_not_all_judges_were_asked(
    tmp_path: Path,
) -> None:
    database, source = judged_by_two(tmp_path, "111---", "10----")
    recipe = judging_recipe(database, source.search)
    assert recipe is not None
    labels = labels_of_agents(database, source, recipe)
    found = labelled_benchmark(database, labels, PublishSettings(support=("valid_oracle",)))
    assert (len(found.labels), len(found.undecided), found.failed) == (0, 0, 0)
    queries, codes = zip(*PAIRS[:4], strict=True)
    pairs = pa.table({"query_id": queries, "code_id": codes})
    current = current_labels(database, labels, ("valid_oracle",))
    assert why_lost(database, pairs, "c", current) == {
        "no comparable recipe has judged the pair": 1,
        "the label has not the support that is exported": 3,
    }


def test_what_people_said_of_candidates_tells_how_judges_err(tmp_path: Path) -> None:
    database, source = judged_by_two(tmp_path, "11--00", "10--00")
    said = [Label(query_id=q, code_id=c, origin="people:a", relevance=1) for q, c in PAIRS[:2]]
    rows = [item.model_dump(exclude={"confidence"}) | {"collection": "c"} for item in said]
    rows[1] |= {"origin": "documentation"}
    with database.transaction() as tx:
        tx.insert("source_labels", rows)
    assert corpus.label_origins(database, "c") == ["documentation", "people:a"]
    recipe = judging_recipe(database, source.search)
    assert recipe is not None
    current = current_labels(database, labels_of_agents(database, source, recipe))
    judges = Judges(judges=(Judge(recipes=(CHEAP,)), Judge(recipes=(DEAR,))))
    with_judges = current.model_copy(update={"judges": judges})
    assert count_ballots(database, with_judges, "people:") == [
        CountedBallot((0, 0), None, 2),
        CountedBallot((1, 0), None, 1),
        CountedBallot((1, 1), 1, 1),
    ]
    assert weigh_votes(database, current).known(0) == 1


def test_a_model_in_a_configuration_has_one_vote(tmp_path: Path) -> None:
    database, source = judged_by_two(tmp_path, "11----", "------")
    bodies = {RecipeId("again"): body("cheap", max_try_time=4), DEAR: body("dear")}
    recipes.record_recipes(database, bodies, used_on="c")
    label(database, 0, 0, 0, "again")
    recipe = judging_recipe(database, source.search)
    assert recipe is not None
    current = current_labels(database, labels_of_agents(database, source, recipe))
    voters = voters_of(current, recipes.load_bodies(database))
    assert [(voter.model, voter.recipes) for voter in voters] == [
        ("cheap", ("again", "cheap")), ("dear", ("dear",))
    ]  # fmt: skip
    ballots = weigh_votes(database, current).ballots
    assert [(item.votes, item.pairs) for item in ballots] == [((0, None), 1), ((1, None), 1)]


def test_a_vote_is_of_the_settings_last_in_use_though_left_ones_gave_a_newer_label(
    tmp_path: Path,
) -> None:
    database, source = judged_by_two(tmp_path, "110000", "100000")
    judge_canaries(database, DEAR, wrong=0)
    judge_canaries(database, CHEAP, wrong=3)
    before = by_pair(exported(database, source))
    cheap, dear = RecipeId("cheap, once"), RecipeId("dear, once")
    once = {cheap: body("cheap", max_try_time=4), dear: body("dear", max_try_time=4)}
    recipes.record_recipes(database, once, used_on="c")
    for recipe_id, votes in ((cheap, "100000"), (dear, "110000")):
        for place, vote in enumerate(votes):
            label(database, place // 2, place % 2, int(vote), recipe_id)
    assert [item.relevance for item in by_pair(exported(database, source))][:2] == [1, 1]
    own = {CHEAP: body("cheap"), DEAR: body("dear")}
    recipes.record_recipes(database, own, used_on="c")
    assert by_pair(exported(database, source)) == before


def test_a_set_that_not_all_judges_have_finished_overturns_no_likelier_label(
    tmp_path: Path,
) -> None:
    database, source = judged_by_two(tmp_path, "010000", "110000")
    judge_canaries(database, DEAR, wrong=0)
    judge_canaries(database, CHEAP, wrong=3)
    differed = by_pair(exported(database, source))[0]
    assert differed.relevance == 1
    cheap, dear = RecipeId("cheap, once"), RecipeId("dear, once")
    once = {cheap: body("cheap", max_try_time=4), dear: body("dear", max_try_time=4)}
    recipes.record_recipes(database, once, used_on="c")
    label(database, 0, 0, 0, cheap)
    found = by_pair(exported(database, source))[0]
    assert (found.relevance, found.confidence) == (1, differed.confidence)
    label(database, 0, 0, 0, dear)
    assert by_pair(exported(database, source))[0].relevance == 0
