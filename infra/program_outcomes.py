"""How an accepted test program of one code ended on another, as it is stored and exported.

The outcome of a program is ``passes``, or begins with ``fails: `` or ``not run: `` and goes on with
why. A program stands among the claims that candidates are compared by, under a name that no claim
has.
"""

PASSES, FAILS, NOT_RUN = "passes", "fails: ", "not run: "
_PROGRAM_OF = "program of "


def program_name(code_id: str, mark: str) -> str:
    """Return the name of a program.

    Args:
        code_id: The code that it was written for.
        mark: Tells it, and what its outcomes depend on, from others.
    """
    return f"{_PROGRAM_OF}{code_id}, {mark}"


def is_program_name(text: str) -> bool:
    """Return whether a text names a program; else it is a claim."""
    return text.startswith(_PROGRAM_OF)
