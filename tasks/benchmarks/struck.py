"""Texts of evidence with secrets struck out, which an earlier version may have stored.

Only what comes of errors is looked at: an address with a user in a program stays as it is.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from infra.secrets import STRUCK, forms_of_secrets, without_secrets_in

_USER_OF_URL = "://[^\\s/@]+@"


def without_secrets(evidence: pa.Table) -> pa.Table:
    """Return evidence without secrets in the reasons and in the errors of calls.

    Args:
        evidence: Columns of an export, ``reason`` among them, and ``calls`` perhaps.
    """
    if _may_hold_secrets(evidence["reason"]):
        texts = [text and without_secrets_in(text) for text in evidence["reason"].to_pylist()]
        evidence = _with_column(evidence, "reason", texts)
    if "calls" not in evidence.column_names:
        return evidence
    errors = pc.struct_field(pc.list_flatten(evidence["calls"]), "error")
    if _may_hold_secrets(errors):
        rows = evidence["calls"].to_pylist()
        for call in (call for calls in rows for call in calls):
            call["error"] = without_secrets_in(call["error"])
        evidence = _with_column(evidence, "calls", rows)
    return evidence


def without_known_secrets(table: pa.Table) -> pa.Table:
    """Return a table without the secrets that this process knows in its texts and lists of texts.

    Users of addresses stay: they are what some queries are about.
    """
    forms = forms_of_secrets()
    for name in table.column_names:
        texts = table[name]
        parts = pc.list_flatten(texts) if pa.types.is_list(texts.type) else texts
        if pa.types.is_string(parts.type) and any(
            pc.any(pc.match_substring(parts, form)).as_py() for form in forms
        ):
            values = [_struck(value, forms) for value in texts.to_pylist()]
            table = _with_column(table, name, values)
    return table


def _struck(value: str | list[str], forms: Sequence[str]) -> object:
    if not isinstance(value, str):
        return [_struck(part, forms) for part in value]
    for form in forms:
        value = value.replace(form, STRUCK)
    return value


def _may_hold_secrets(texts: pa.ChunkedArray) -> bool:
    """Return whether a text has one; hardly any has, and to look is fast."""
    found = [pc.match_substring(texts, form) for form in forms_of_secrets()]
    found.append(pc.match_substring_regex(texts, _USER_OF_URL))
    return any(pc.any(mask).as_py() for mask in found)


def _with_column(table: pa.Table, name: str, values: list[object]) -> pa.Table:
    place = table.column_names.index(name)
    field = table.schema.field(name)
    return table.set_column(place, field, pa.array(values, field.type))
