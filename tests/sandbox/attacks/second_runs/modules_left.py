# Leaves modules that the next program, or the harness, would import.
import os

for name in ("sitecustomize", "usercustomize", "target", "asyncio", "linecache", "numpy"):
    with open(f"/tmp/{name}.py", "w") as file:
        file.write("import os\nos._exit(0)\n")
os.makedirs("/tmp/.local/lib/python3.11/site-packages")
with open("/tmp/.local/lib/python3.11/site-packages/left.pth", "w") as file:
    file.write("import os; os._exit(0)")
# The second run.
import asyncio
import linecache
import target

assert target.double(1) == 2 and target.__file__ == "target.py"
assert not asyncio.__file__.startswith("/tmp")
