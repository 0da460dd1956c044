"""Checks of what claims make: files and folders keep their place, and all of it is bounded."""

from collections.abc import Iterator

from agents.claims.makers import FILE_NAME, FOLDER_NAME, MAKERS
from agents.claims.spelling import UnknownValueError, expression, value_of
from infra.languages._programs import ast

_SETTERS = frozenset({"environ", "argv"})  # of what surrounds a call; no arguments of it
_NAMES = {"file": FILE_NAME, "folder": FOLDER_NAME}  # by default
_LONGEST_NAME = 100  # characters of a path
_MOST_FILES = 50

_Files = dict[str, str | bytes]  # path → content


def are_made_well(call: ast.Call) -> bool:
    """Return whether files of a claim's call stay in its folder, and what is set are short texts.

    A maker may only be called: handed on, it could be given any name.
    """
    named = [node for node in ast.walk(call) if isinstance(node, ast.Name) and node.id in MAKERS]
    files = [node for node in ast.walk(call) if _maker_of(node) in _NAMES]
    settings = [node for node in call.args if _maker_of(node) in _SETTERS]
    streams = [node for node in ast.walk(call) if _maker_of(node) == "stream"]
    return (
        len(named) == len(files) + len(settings) + len(streams)
        and all(_is_setting(node) for node in settings)
        and all(_files_of(node) is not None for node in files)
    )


def settings_in(arguments: str) -> tuple[list[str], str]:
    """Return what of a claim's arguments sets its surroundings, and the others."""
    call = expression(f"f({arguments}\n)")
    parts = call.args if isinstance(call, ast.Call) else []
    settings = [ast.unparse(part) for part in parts if _maker_of(part) in _SETTERS]
    if not settings:
        return [], arguments
    return settings, ", ".join(ast.unparse(one) for one in parts if _maker_of(one) not in _SETTERS)


def makes_something(source: str) -> bool:
    """Return whether arguments make more than values."""
    call = expression(f"f({source}\n)")
    return any(_maker_of(node) in MAKERS for node in (ast.walk(call) if call else ()))


def files_made_by(arguments: str) -> _Files:
    """Return path → content of all files that a claim's arguments make."""
    call = expression(f"f({arguments}\n)")
    found = map(_files_of, ast.walk(call) if call else ())
    return {path: content for files in found if files for path, content in files.items()}


def is_of_files(value: object) -> bool:
    """Return whether a value is path → content of files, None for one that must not be there."""
    return (
        isinstance(value, dict)
        and 0 < len(value) <= _MOST_FILES
        and all(map(_is_path, value))
        and all(isinstance(content, str | bytes | None) for content in value.values())
    )


def _maker_of(node: ast.AST) -> str:
    """Return the name of the maker that a node calls, "" for none."""
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in MAKERS:
            return name
    return ""


def _is_setting(node: ast.AST) -> bool:
    """Return whether a call gives texts: `argv` one after the other, `environ` each by its name."""
    match node:
        case ast.Call(func=ast.Name(id="argv"), args=[_, *_] as values, keywords=[]):
            pass
        case ast.Call(func=ast.Name(id="environ"), args=[], keywords=[_, *_] as variables):
            values = [one.value for one in variables if one.arg is not None]
            if len(values) < len(variables):
                return False
        case _:
            return False
    texts = [one.value if isinstance(one, ast.Constant) else None for one in values]
    return all(isinstance(text, str) and "\0" not in text for text in texts)


def _files_of(node: ast.AST) -> _Files | None:
    """Return path → content of the files that a call makes, None where it makes none or others."""
    match node:
        case ast.Call(
            func=ast.Name(id="file" | "folder" as kind),
            args=[content],
            keywords=keywords,
        ) if {one.arg for one in keywords} <= {"name", *(["time"] if kind == "file" else [])}:
            named = {str(one.arg): ast.unparse(one.value) for one in keywords}
        case _:
            return None
    try:
        made = value_of(ast.unparse(content))
        name = value_of(named["name"]) if "name" in named else _NAMES[kind]
        time = value_of(named.get("time", "0"))
        files = dict(_files_in(name, made))
    except (UnknownValueError, ValueError):
        return None
    is_of_kind = isinstance(made, dict) == (kind == "folder") and isinstance(time, int | float)
    return files if is_of_kind and len(files) <= _MOST_FILES else None


def _files_in(name: object, content: object) -> Iterator[tuple[str, str | bytes]]:
    """Yield path and content of a file, or of those of a folder.

    Raises:
        ValueError: One has no name that stays in its place, or no content.
    """
    is_name = isinstance(name, str) and _is_path(name) and "/" not in name
    if not is_name or not isinstance(content, str | bytes | dict):
        raise ValueError("no file")
    if isinstance(content, str | bytes):
        yield str(name), content
        return
    for part, inner in content.items():
        yield from ((f"{name}/{path}", data) for path, data in _files_in(part, inner))


def _is_path(name: object) -> bool:
    """Return whether a name leads to a place within a folder."""
    if not isinstance(name, str) or len(name) > _LONGEST_NAME or not name.isprintable():
        return False
    return all(part not in ("", ".", "..") for part in name.split("/"))
