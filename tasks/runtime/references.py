"""References that stages hand to one another: small records; the data itself is in the store."""

from infra.ids import RecipeId, SearchId
from infra.records import Record
from infra.store.corpus import StoredCollection


class SearchReference(Record):
    """A search for candidates in a collection."""

    search_id: SearchId
    collection: str
    queries: int
    candidates: int


class CollectedSource(Record):
    """A source's collections, and the search over the first one, whose pairs the agents judge."""

    collections: tuple[StoredCollection, ...]
    search: SearchReference

    @property
    def main(self) -> StoredCollection:
        """The collection whose pairs the agents judge."""
        return self.collections[0]


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
