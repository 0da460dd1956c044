"""Annotations of near duplicates: of codes of a query that are the same but for their spelling.

One of them is judged, and the others take its label with its evidence, which asks no model.
"""

from agents.committee.paths import AnnotationPath
from infra.ids import CodeId
from infra.records import Annotation

_IS_THE_SAME = " is the same function but for its spelling, and the evidence is its: "


def taken_over(annotation: Annotation, code_id: CodeId) -> Annotation:
    """Return a label of one code as that of a duplicate, whose reason names the code judged.

    Its calls count as kept replies, which cost nothing.

    Args:
        annotation: The code's, or another duplicate's of it.
        code_id: The duplicate.
    """
    told = "" if first_of(annotation) else f"{annotation.code_id}{_IS_THE_SAME}"
    calls = (call.model_copy(update={"cached": True}) for call in annotation.calls)
    return annotation.model_copy(
        update={
            "code_id": code_id,
            "decided_by": "duplicate",
            "path": AnnotationPath.DUPLICATE.value,
            "reason": told + annotation.reason,
            "calls": tuple(calls),
            "seconds": 0.0,
        }
    )


def first_of(annotation: Annotation) -> CodeId | None:
    """Return the code by whose evidence a duplicate is labelled, None of what was judged itself."""
    if annotation.path != AnnotationPath.DUPLICATE:
        return None
    return CodeId(annotation.reason.partition(_IS_THE_SAME)[0])
