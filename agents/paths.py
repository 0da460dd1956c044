"""The ways through Algorithm 1, by the names under which they are counted."""

from enum import StrEnum

from agents.evidence import Standing


class AnnotationPath(StrEnum):
    """Every value of ``Annotation.path``.

    The first two are labelled by the screener and the ``unclear_…`` ones by the arbiter;
    ``unreadable_reply`` and ``prompt_declined`` are undecided; the last two failed and are to be
    asked again.
    """

    CLEAR_MATCH = "clear_match"
    CLEAR_NON_MATCH = "clear_non_match"
    UNCLEAR_PASSED = "unclear_passed"
    UNCLEAR_MENDED_PASSED = "unclear_mended_passed"
    UNCLEAR_TESTED_NOTHING = "unclear_tested_nothing"
    UNCLEAR_FAILED_ASSERTION = "unclear_failed_assertion"
    UNCLEAR_NEVER_EXECUTABLE = "unclear_never_executable"
    UNREADABLE_REPLY = "unreadable_reply"
    PROMPT_DECLINED = "prompt_declined"
    MODEL_UNAVAILABLE = "model_unavailable"
    SANDBOX_UNAVAILABLE = "sandbox_unavailable"


def unclear_path(standing: Standing, *, mended: bool) -> AnnotationPath:
    """Return the path of an unclear pair whose last run came to this."""
    if standing is Standing.PASSED and mended:
        return AnnotationPath.UNCLEAR_MENDED_PASSED
    return {
        Standing.PASSED: AnnotationPath.UNCLEAR_PASSED,
        Standing.TESTED_NOTHING: AnnotationPath.UNCLEAR_TESTED_NOTHING,
        Standing.FAILED_ASSERTION: AnnotationPath.UNCLEAR_FAILED_ASSERTION,
        Standing.NOT_EXECUTED: AnnotationPath.UNCLEAR_NEVER_EXECUTABLE,
    }[standing]
