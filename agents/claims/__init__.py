"""Claims: calls and the values that a query demands of them, which any of its candidates can run.

A claim is about the query, not about a code. An adapter of a few lines, which may not compute,
leads a claim's arguments into one candidate and its result out; so one claim is run on all.
"""
