"""Identifiers: a type for each kind, so that the type checker refuses one in place of another."""

from typing import NamedTuple, NewType

QueryId = NewType("QueryId", str)
CodeId = NewType("CodeId", str)
SearchId = NewType("SearchId", str)
RecipeId = NewType("RecipeId", str)
BenchmarkId = NewType("BenchmarkId", str)
SampleId = NewType("SampleId", str)


class PairKey(NamedTuple):
    """Ids of a query and of a code that may answer it."""

    query_id: QueryId
    code_id: CodeId
