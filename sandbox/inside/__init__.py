"""What runs inside a box: standard library only, handed in as source by ``sandbox/payload.py``.

``runner`` is the first process. For each job it forks a child; ``child`` prepares it (``counting``
instruments the code, ``filter`` narrows what it may ask of the kernel) and starts the guard, which
alone can report; ``stage`` is what the program can see of all this.
"""
