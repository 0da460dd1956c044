"""What stages hand to one another: small references, never data. The data is in the store."""

from infra.records import RecipeId, Record, SearchId


class SearchReference(Record):
    """A finished search for candidates in a collection."""

    search_id: SearchId
    collection: str
    queries: int
    candidates: int


class RecipeReference(Record):
    """Everything that could change a label of the agents.

    Attributes:
        recipe_id: The digest of all of it.
        model: The language model.
        demo: Whether its labels are demonstrations only.
        sandbox: The engine and the image that programs run in; empty where none run.
    """

    recipe_id: RecipeId
    model: str
    demo: bool
    sandbox: str = ""


class AnnotationReference(Record):
    """The annotation of a search's pairs under a recipe."""

    recipe_id: RecipeId
    search_id: SearchId
    collection: str
    model: str
    demo: bool
