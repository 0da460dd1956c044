"""Exceptions by missing dependencies: network, files, another Python.

This module's text is part of each program of claims, so it imports nothing of ours.
"""

import re

_TYPES = {
    "ImportError", "ModuleNotFoundError",
    # Of the network, the display, commands and the file system, which a box does not have.
    "gaierror", "herror", "URLError", "ConnectionError", "ConnectionRefusedError", "ProxyError",
    "ConnectError", "ConnectTimeout", "NewConnectionError", "MaxRetryError", "SSLError", "TclError",
    "EndpointConnectionError", "PermissionError", "CalledProcessError", "TimeoutExpired",
    # Of settings and keys that a service or a framework has.
    "ImproperlyConfigured", "AppRegistryNotReady", "NoCredentialsError", "NoRegionError",
}  # fmt: skip
# Lists in Python 2, or texts; what neither could do is the code's own mistake.
_WAS_LIST = (
    r"""['" ](dict_keys|dict_values|dict_items|map|filter|zip)(['"]|(?= is not JSON))"""
    "(?! object (is not callable|cannot be interpreted))"
)
_WAS_RANGE = (
    "'range' object (does not support item|has no attribute '(append|extend|pop|remove|sort)')|"
    """(operand|concatenate).*['"]range['"]"""
)
_OF_PYTHON_2 = r"has no attribute '(iteritems|itervalues|iterkeys|has_key|decode)'"
_OF_PANDAS = (
    r"'\w*(DataFrame|Series|Index)' (object )?has no attribute '(append|as_blocks|as_matrix|"
    "convert_objects|from_csv|from_items|get_ftype_counts|get_value|get_values|icol|iget|irow|"
    "iteritems|ix|lookup|mad|order|set_value|sort|to_panel|tshift|week|weekofyear)'"
)
_BY_CMP = r"\A('cmp' is an invalid|sort\(\) takes no positional|sorted expected 1 argument, got)"
_PATTERNS = {
    "AttributeError": (
        r"\Amodule ", "'DummySelf'", _WAS_LIST, _WAS_RANGE, _OF_PYTHON_2, _OF_PANDAS,
    ),
    "TypeError": (r"\bDummySelf\b", _WAS_LIST, _WAS_RANGE, _BY_CMP),
    "LookupError": (r"\bResource \S+ not found\b",),  # NLTK's data
    "OSError": (r"\A\[Errno (99|101|111|113)\]", r"\bCan't find model\b"),  # network; spaCy's data
    "RuntimeError": (r"\AWorking outside of (application|request) context",),  # Flask's
}  # fmt: skip


def is_missing_dependency(error_type: str, message: str) -> bool:
    """Return True if an exception is for a missing dependency, by its type's name and message."""
    if error_type in _TYPES:
        return True
    return any(re.search(pattern, message) for pattern in _PATTERNS.get(error_type, ()))
