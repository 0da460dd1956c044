"""Columns of the Parquet files of an export."""

import pyarrow as pa

_TEXT = pa.string()
_PAIR = {"query_id": _TEXT, "code_id": _TEXT}

PAIR = pa.schema(_PAIR)
QUERIES = pa.schema({"query_id": _TEXT, "text": _TEXT, "origin": _TEXT, "split": _TEXT})
CODES = pa.schema(
    {
        "code_id": _TEXT,
        "text": _TEXT,
        "name": _TEXT,
        "module": _TEXT,
        "first_line": pa.int32(),
        "last_line": pa.int32(),
        "documentation": _TEXT,
        "parameters": pa.list_(_TEXT),
        "origin": _TEXT,
        "source": _TEXT,
        "language": _TEXT,
        "licence": _TEXT,
        "url": _TEXT,
        "split": _TEXT,
    }
)
LABELS = pa.schema(
    {
        **_PAIR,
        "relevance": pa.float64(),
        "origin": _TEXT,
        "note": _TEXT,
    }
)
SPLITS = pa.schema({"query_id": _TEXT, "split": _TEXT})
ROUNDS = pa.schema(
    {**_PAIR, "round": pa.int32(), "recipe_id": _TEXT, "status": _TEXT, "label": pa.int8()}
)
UNDECIDED = pa.schema({**_PAIR, "reason": _TEXT})

SPECIFICATIONS = pa.schema(
    {
        "query_id": _TEXT,
        "recipe_id": _TEXT,
        "model": _TEXT,
        "reading": _TEXT,
        **dict.fromkeys(("demands", "left_open", "examples"), pa.list_(_TEXT)),
        "clarity": _TEXT,
        "is_underspecified": pa.bool_(),
        "cannot_show": _TEXT,
    }
)

_CALL = pa.struct(
    {
        "role": _TEXT,
        "attempt": pa.int32(),
        "model": _TEXT,
        "prompt_digest": _TEXT,
        "status": _TEXT,
        "reply": _TEXT,
        "error": _TEXT,
        "prompt_tokens": pa.int64(),
        "completion_tokens": pa.int64(),
        "cost_usd": pa.float64(),
        "seconds": pa.float64(),
        "cached": pa.bool_(),
    }
)
_EXECUTION = pa.struct(
    {
        "round": pa.int32(),
        "program": _TEXT,
        "requirements": pa.list_(_TEXT),
        "outcome": _TEXT,
        "error_type": _TEXT,
        "message": _TEXT,
        "missing_module": _TEXT,
        "seconds": pa.float64(),
        "peak_memory_mb": pa.float64(),
        "stdout": _TEXT,
        "stderr": _TEXT,
        "tests_run": pa.int32(),
        "asserts_executed": pa.int32(),
        "target_calls": pa.int32(),
        "oracle": _TEXT,
        "tests": _TEXT,
        "repairs": _TEXT,
        "beside": _TEXT,
    }
)
EVIDENCE = pa.schema(
    {
        **_PAIR,
        "recipe_id": _TEXT,
        "replicate": pa.int32(),
        "kind": _TEXT,
        "status": _TEXT,
        "label": pa.int8(),
        "decided_by": _TEXT,
        "path": _TEXT,
        "reason": _TEXT,
        "support": _TEXT,
        "judgements": pa.int32(),
        "agreeing": pa.int32(),
        "seconds": pa.float64(),
        "calls": pa.list_(_CALL),
        "executions": pa.list_(_EXECUTION),
    }
)
NESTED = ("oracle", "tests", "repairs")  # JSON texts of an execution; oldest exports have the first
