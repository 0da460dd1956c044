# Changes variables, modules and built-ins.
import builtins
import os
import sys

os.environ["LEFT"] = os.environ["PYTHONPATH"] = "/tmp"
sys.path.insert(0, "/tmp")
builtins.left = True
sys.modules["json"] = None
sys.setrecursionlimit(77)
# The second run.
import builtins
import json
import os
import sys

assert "LEFT" not in os.environ and "PYTHONPATH" not in os.environ
assert "/tmp" not in sys.path and not hasattr(builtins, "left")
assert sys.getrecursionlimit() == 1000
