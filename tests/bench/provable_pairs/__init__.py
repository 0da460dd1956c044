"""Pairs of query and code whose labels are proved by running the code, not by anybody's opinion.

``texts.toml``, ``numbers.toml`` and ``lists.toml`` hold the cases: a query, a function of an
installed package that answers it, and calls whose values the query demands. ``made`` runs that
function, broken versions of it, narrower and wider functions and those of other cases on the calls,
and labels each by whether it gives the demanded values. ``real.toml`` has functions as they stand
in projects, with the names that they lack. ``ambiguous`` has queries with two readings, and code
for each.
"""
