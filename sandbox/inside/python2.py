"""Hints that an error comes from Python 2 code, in a program or in the code under test.

More than a tenth of published functions are Python 2's. A model that reads so repairs them at once;
a model that reads only "NameError" tries to define ``xrange``.
"""

_NAMES = {
    "apply": "call the function",
    "basestring": "str",
    "cmp": "compare with < and >",
    "coerce": "convert by hand",
    "execfile": "exec(open(…).read())",
    "file": "open",
    "intern": "sys.intern",
    "long": "int",
    "raw_input": "input",
    "reduce": "functools.reduce",
    "reload": "importlib.reload",
    "unichr": "chr",
    "unicode": "str",
    "xrange": "range",
}
_ATTRIBUTES = {
    "has_key": "the operator in",
    "iteritems": "items",
    "iterkeys": "keys",
    "itervalues": "values",
    "izip": "the built-in zip",
    "letters": "ascii_letters",
    "maxint": "maxsize",
    "getcwdu": "getcwd",
}
MODULES = {
    "BaseHTTPServer": "http.server",
    "ConfigParser": "configparser",
    "Cookie": "http.cookies",
    "HTMLParser": "html.parser",
    "Queue": "queue",
    "SocketServer": "socketserver",
    "StringIO": "io",
    "Tkinter": "tkinter",
    "UserDict": "collections",
    "__builtin__": "builtins",
    "cPickle": "pickle",
    "cStringIO": "io",
    "commands": "subprocess",
    "cookielib": "http.cookiejar",
    "httplib": "http.client",
    "md5": "hashlib",
    "sets": "the built-in set",
    "sha": "hashlib",
    "thread": "_thread",
    "urllib2": "urllib.request",
    "urlparse": "urllib.parse",
    "xmlrpclib": "xmlrpc.client",
}
_SYNTAX = (
    (r"Missing parentheses in call to 'print'", "the print statement"),
    (r"Missing parentheses in call to 'exec'", "the exec statement"),
    (r"multiple exception types must be parenthesized", "except …, name: for except … as name:"),
    (r"leading zeros in decimal integer literals", "an octal number without 0o"),
    (r"inconsistent use of tabs and spaces|unindent does not match", "tabs mixed with spaces"),
)
_LINES = (
    (r"\bprint\b\s*(>>|[\"'\w])", "the print statement"),
    (r"^\s*raise\s+\w+\s*,", "raise …, message for raise …(message)"),
    (r"^\s*except\s+[\w.]+\s*,\s*\w+\s*:", "except …, name: for except … as name:"),
    (r"<>", "<> for !="),
    (r"`[^`]*`", "backticks for repr"),
    (r"\b\d+[lL]\b", "a long integer's L"),
    (r"\bur[\"']", "the prefix ur"),
)


def hint(error: BaseException) -> str:
    """Return the part of Python 2 that an exception complains of, "" for none."""
    if isinstance(error, SyntaxError):
        import re  # noqa: PLC0415 - a process that lacks it would import it longer than a job may take

        for pattern, name in _SYNTAX:
            if re.search(pattern, str(error.msg)):
                return name
        line = str(error.text or "")[:1000]
        return next((name for pattern, name in _LINES if re.search(pattern, line)), "")
    if isinstance(error, ModuleNotFoundError):
        return _name_hint(error.name, MODULES)
    if isinstance(error, AttributeError):
        return _name_hint(error.name, _ATTRIBUTES)
    if isinstance(error, NameError):
        return _name_hint(error.name, _NAMES)
    return ""


def _name_hint(name: object, table: dict[str, str]) -> str:
    if not isinstance(name, str) or name not in table:
        return ""
    return f"{name}; Python 3 has {table[name]}"
