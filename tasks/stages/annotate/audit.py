"""The stability audit: a random sample of labelled pairs, judged again under the same recipe."""

from prefect.logging import get_run_logger

from infra.errors import StabilityError
from infra.identity import mark_of
from infra.ids import RecipeId
from infra.records import Record
from infra.store import Database, audits, open_database, recipes
from infra.store.audits import Sample, StoredAudit
from infra.store.pending import new_keys_file
from tasks.runtime.caching import stage
from tasks.stages.annotate.pending import Taken, selection_of
from tasks.stages.annotate.plan import AnnotationPlan
from tasks.stages.annotate.rounds import AnnotationRun
from tasks.statistics.stability import Stability, alarm, stability


class Audit(Record):
    """What an audit found.

    Attributes:
        collection: Whose labels were judged again.
        recipe_id: The recipe of the labels.
        number: The number of the audit of this recipe, from 1.
        found: How far the labels agree.
        alarm: Why that is an alarm; empty where it is none.
    """

    collection: str
    recipe_id: RecipeId
    number: int
    found: Stability
    alarm: str = ""


@stage("plan-audit", "draw a sample of the labels of {run.search.collection} by {run.recipe.model}")
def plan_audit(run: AnnotationRun, judged: int = 0) -> AnnotationPlan:
    """Draw the sample of the next audit of a recipe's fresh labels; return the plan to judge it.

    The recipe of the audit differs from the audited one in the number of the audit alone. It is
    never in use, so that its labels are none of a benchmark, and its requests are asked anew.
    An audit that was interrupted goes on with the pairs that it has judged.

    Args:
        run: Whose labels are audited, and how many.
        judged: How many pairs the run takes for other reasons.
    """
    search, recipe, policy = run.search, run.recipe, run.settings.reannotation
    database = open_database(run.settings.store)
    number = 1 + len(_audits_of(database, run))
    body = {**run.body, "audit": number}
    audited = recipe.model_copy(update={"recipe_id": RecipeId(mark_of(body)), "audit": number})
    recipes.record_recipes(database, {audited.recipe_id: body})
    most = policy.audited(policy.audit_pairs, judged)
    sample = Sample(most, f"{policy.audit_seed} {number}", audited.recipe_id)
    keys = new_keys_file(run.settings.store.folder, audited.recipe_id)
    pairs = audits.write_sample(database, selection_of(database, run), sample, keys)
    get_run_logger().info(
        "audit %s of the labels of %s by %s: %s pairs are judged again", number,
        search.collection, recipe.model, f"{pairs:,}",
    )  # fmt: skip
    return AnnotationPlan(
        collection=search.collection,
        recipe=audited,
        pairs_file=keys,
        pending=pairs,
        reasons=(Taken("audit", pairs),) if pairs else (),
    )


@stage("compare-audit", "compare the labels of {run.search.collection} with those of the sample")
def compare_audit(run: AnnotationRun, plan: AnnotationPlan) -> Audit:
    """Compare the labels of an audit with those that stand, store alpha, and say if it is an alarm.

    Args:
        run: Whose labels are audited.
        plan: What `plan_audit` returned for it.
    """
    database = open_database(run.settings.store)
    selection = selection_of(database, run)
    found = stability(audits.compare_labels(database, selection, plan.recipe.recipe_id))
    before = [item.alpha for item in _audits_of(database, run) if item.alpha is not None]
    least = run.settings.reannotation.audit_min_alpha
    audit = Audit(
        collection=run.search.collection,
        recipe_id=run.recipe.recipe_id,
        number=plan.recipe.audit,
        found=found,
        alarm=alarm(found, before[-1] if before else None, least),
    )
    get_run_logger().info(audit_sentence(audit))
    if found.pairs:
        audits.record_audit(database, _stored(audit, plan.recipe.recipe_id))
    return audit


def audit_sentence(audit: Audit) -> str:
    """Return what an audit found, in a sentence."""
    found = audit.found
    if not found.pairs:
        return f"there are no labels of {audit.collection} to audit"
    equal = f"{found.equal:,} of {found.pairs:,} labels of {audit.collection} came out the same"
    if found.alpha is None:
        return f"audit {audit.number}: {equal}; alpha is undefined, since all labels are equal"
    return (
        f"audit {audit.number}: {equal}; alpha {found.alpha:.3f}, 95% interval {found.low:.3f} to "
        f"{found.high:.3f}"
    )


def raise_alarm(audit: Audit) -> None:
    """Raise if an audit is an alarm; everything is stored before.

    Raises:
        StabilityError: The labels that it gave differ too much from those that stand.
    """
    if audit.alarm:
        raise StabilityError(
            f"the labels of {audit.collection} are not stable: {audit.alarm}. Look at what changed "
            "in the model behind its name, or audit more pairs (--pairs); `cosqa annotators "
            "audits` prints all audits"
        )


def _audits_of(database: Database, run: AnnotationRun) -> list[StoredAudit]:
    stored = audits.load_audits(database, run.search.collection)
    return [item for item in stored if item.recipe_id == run.recipe.recipe_id]


def _stored(audit: Audit, audit_recipe_id: RecipeId) -> StoredAudit:
    figures = audit.found.model_dump(include={"pairs", "alpha", "low", "high"})
    return StoredAudit(
        audit_id=mark_of([audit.collection, audit_recipe_id]),
        collection=audit.collection,
        recipe_id=audit.recipe_id,
        audit_recipe_id=audit_recipe_id,
        **figures,
    )
