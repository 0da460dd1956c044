"""What an exception tells of things missing around a code: network, files, another Python.

This module's text is part of each program of claims, so that it imports nothing of ours.
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
_PYTHON_2 = r"has no attribute '(iteritems|itervalues|iterkeys|has_key|decode)'"
_PATTERNS = {
    "AttributeError": (r"\Amodule ", r"'DummySelf'", _PYTHON_2),
    "TypeError": (r"'DummySelf'",),
    "LookupError": (r"\bResource \S+ not found\b",),  # NLTK's data
    "OSError": (r"\A\[Errno (99|101|111|113)\]", r"\bCan't find model\b"),  # network; spaCy's data
    "RuntimeError": (r"\AWorking outside of (application|request) context",),  # Flask's
}


def is_of_surroundings(error_type: str, message: str) -> bool:
    """Return whether an exception is for want of something that the code's surroundings would have.

    Args:
        error_type: The name of its type, or of one that this is derived from.
        message: Its message; more may stand after it.
    """
    if error_type in _TYPES:
        return True
    return any(re.search(pattern, message) for pattern in _PATTERNS.get(error_type, ()))
