"""Code that runs inside a box: standard library only, sent as source by the backend.

``runner`` is the first process. For each job it forks a child; ``child`` prepares it
(``instrumentation`` counts, ``seccomp`` limits its system calls) and starts the guard, which alone
can report; ``run_tests`` and ``collection`` hold all of this that the program can reach.

Where the code under test is isolated, ``service`` is its process and ``proxy`` the module that the
program imports in its place; ``values`` go over a socket between them in ``frames``.

Here are the types that several of them name. Within a box nothing imports them, as `typing` takes
longer to import than a job may take.
"""

from types import CodeType
from typing import Any

Job = dict[str, Any]
Report = dict[str, Any]  # of a program or a command, in the terms of the host's records
Frame = dict[str, Any]
Node = list[Any]  # of a graph of values
Space = dict[str, Any]  # of a module
Codes = list[tuple[str, CodeType]]  # compiled modules
