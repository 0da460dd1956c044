"""The command line that carries the runner's sources into a container.

No image needs to be built anew when a line of ``sandbox/inside`` changes, nothing is mounted from
the host, and a remote engine needs nothing else.
"""

from pathlib import Path

_INSIDE = Path(__file__).parent / "inside"
_MODULES = ("counting", "python2", "filter", "stage", "child", "streams", "runner")

# Names are cleared before the program runs: its frames lead to this one. The built-ins of each
# module are a copy, so that a program that replaces one replaces its own.
_BOOT = """
import builtins, sys, types
mode, *sources = sys.argv[1:]
for name in ("sandbox", "sandbox.inside"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = []
for name, source in zip(sources[::2], sources[1::2]):
    name = "sandbox.inside." + name
    module = sys.modules[name] = types.ModuleType(name)
    vars(module)["__builtins__"] = dict(vars(builtins))
    exec(compile(source, name, "exec"), vars(module))
begin = module.serve if mode == "runner" else module.resume
del builtins, sys, types, mode, sources, name, source, module
play = begin()
del begin
play()
"""


def command() -> list[str]:
    """Return the container's command: an interpreter, the boot text, the modules in order."""
    sources = [word for name in _MODULES for word in (name, _source(name))]
    return ["python3", "-P", "-s", "-u", "-c", _BOOT, "runner", *sources]


def _source(module: str) -> str:
    return (_INSIDE / f"{module}.py").read_text()
