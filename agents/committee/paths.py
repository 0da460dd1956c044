"""The paths through Algorithm 1, with the names by which pairs are counted."""

from enum import StrEnum

from agents.evidence import Attempt, RunEvidence


class AnnotationPath(StrEnum):
    """Every value of ``Annotation.path``.

    The first two are labelled by the screener, ``claims_hold`` and ``claims_fail`` by calls that a
    query's specification demands, ``read_alone``, ``claims_disputed`` and the ``unclear_…`` ones
    by the arbiter; ``unreadable_reply`` to ``prompt_declined`` are undecided; the next four
    failed and will be judged again, ``internal_error`` by an unexpected exception.
    """

    CLEAR_MATCH = "clear_match"
    CLEAR_NON_MATCH = "clear_non_match"
    CLAIMS_HOLD = "claims_hold"
    CLAIMS_FAIL = "claims_fail"
    CLAIMS_DISPUTED = "claims_disputed"
    READ_ALONE = "read_alone"
    UNCLEAR_QUERY = "unclear_query"
    UNCLEAR_READ = "unclear_read"
    UNCLEAR_NOT_RUN = "unclear_not_run"
    UNCLEAR_PASSED = "unclear_passed"
    UNCLEAR_MENDED_PASSED = "unclear_mended_passed"
    UNCLEAR_TESTED_NOTHING = "unclear_tested_nothing"
    UNCLEAR_FAILED_ASSERTION = "unclear_failed_assertion"
    UNCLEAR_CODE_RAISED = "unclear_code_raised"
    UNCLEAR_NEVER_EXECUTABLE = "unclear_never_executable"
    UNREADABLE_REPLY = "unreadable_reply"
    REPLY_CUT = "reply_cut"
    PROMPT_DECLINED = "prompt_declined"
    UNREADABLE_ANSWER = "unreadable_answer"
    MODEL_UNAVAILABLE = "model_unavailable"
    SANDBOX_UNAVAILABLE = "sandbox_unavailable"
    INTERNAL_ERROR = "internal_error"


def path_of(last: Attempt) -> AnnotationPath:
    """Return the path of an unclear pair by its last test program."""
    if last.result is None:
        return AnnotationPath.UNCLEAR_NOT_RUN
    if last.is_fixed and last.evidence is RunEvidence.PASSED:
        return AnnotationPath.UNCLEAR_MENDED_PASSED
    if last.evidence is RunEvidence.NOT_EXECUTED:
        return AnnotationPath.UNCLEAR_NEVER_EXECUTABLE
    return AnnotationPath(f"unclear_{last.evidence}")
