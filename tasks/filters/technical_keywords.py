"""The filter of queries that are a plain technical keyword, such as ``tf.gather_nd``.

Source: Husain et al. 2019, CodeSearchNet, section 3: such queries, which ask for an API's own page,
were taken out of the challenge's by hand. Here a keyword is one identifier with a dot or an
underscore in it, perhaps with the brackets of a call, and no other word.
"""

import re

from infra.records import Query
from tasks.filters import CorpusFunction, QueryReason, filters

KEYWORD = QueryReason("query that is a plain technical keyword")
_IDENTIFIER = re.compile(r"[^\W\d]\w*(?:\.\w+)*(?:\(\))?")


@filters.register("technical-keywords")
class TechnicalKeywords:
    """Drops queries that are one dotted or underscored identifier; keeps every function."""

    def reason_to_drop(self, function: CorpusFunction) -> None:
        """Return None: it is a rule of queries."""

    def reason_to_drop_query(self, query: Query) -> str | None:
        """Return `KEYWORD` for a plain technical keyword."""
        text = query.text
        is_keyword = ("." in text or "_" in text) and _IDENTIFIER.fullmatch(text)
        return KEYWORD if is_keyword else None
