"""Guidelines of people who label: what grades and difficulties mean, on pages and beside sheets.

They are CoSQA+'s rules of an exact and of a 50% match (arXiv 2406.11589), and the difficulties that
CodeSearchNet's annotators noted (arXiv 1909.09436).
"""

from collections.abc import Mapping

from infra.store.samples import Sample

_DIFFICULTIES = {
    "quality": "the code is unfinished, faulty or hard to read, whatever it answers.",
    "ambiguity": 'the query can mean several things: grade by the likeliest. "tf.gather_nd" '
    "names a function, and does not say what is wanted of it.",
    "project specific": "the code works only within a library or project that the query does not "
    "name.",
    "direction reversed": "the code does the inverse of what is asked, and so does not answer: "
    '"int to string" is asked, the code reads an int from a string.',
}
_GRADED = {
    "3, exact match": "as good as what you would have written for the query.",
    "2, good": "it needs changes, but shows how the query is answered.",
    "1, weak": "it has to do with the query, and helps little.",
    "0, irrelevant": "you would pass over it.",
}
_BINARY = {
    "1, answers": "the code does all that the query asks for, or more. What it does counts, not "
    "its name or its documentation.",
    "0, does not answer": "a part of what is asked is missing, however much of the rest is there, "
    "or it does something else.",
}
_HALF = {
    "1, answers half": "the code does all that the query asks for, or more; or it meets a category "
    "of the demands that makes up half of them or more.",
    "0, does not": "it meets less than half of what is asked, or only a small part of it has to do "
    "with the query.",
}
_PREFERENCE = {
    "first or second (A or B)": "choose the code that meets more of what the query asks for; "
    "length and style do not count.",
}
_UNDECIDED = {
    "undecided (? on a sheet)": "you have read the code, or run it, and could as well say either. "
    "It agrees with nobody, so that a third person is asked: say why in a note.",
}


def grades_of(sample: Sample) -> dict[str, str]:
    """Return a grade → what it means, in a word or two."""
    if sample.kind == "preference":
        return {"1": "the first code", "2": "the second code"}
    if sample.criterion == "half":
        return {"0": "meets less than half", "1": "meets half or more"}
    if sample.scale == "binary":
        return {"0": "does not answer", "1": "answers the query"}
    return {"0": "irrelevant", "1": "weak", "2": "good", "3": "exact match"}


def guidelines(sample: Sample) -> Mapping[str, str]:
    """Return a grade or difficulty → what it means."""
    by_criterion = _HALF if sample.criterion == "half" else _BINARY
    graded = by_criterion if sample.scale == "binary" else _GRADED
    grades = _PREFERENCE if sample.kind == "preference" else graded
    return grades | _UNDECIDED | _DIFFICULTIES
