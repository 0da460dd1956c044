"""What stages hand to one another: small references, never data. The data is in the store."""

from infra.records import Record


class SearchReference(Record):
    """A finished search for candidates in a collection."""

    search_id: str
    collection: str
    queries: int
    candidates: int


class AnnotationReference(Record):
    """The annotation of a search's pairs under a recipe."""

    recipe_id: str
    search_id: str
    collection: str
    model: str
    demo: bool
