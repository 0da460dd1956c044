"""The command line that carries the runner's sources into a container.

No image needs to be built anew when a line of ``sandbox/inside`` changes, nothing is mounted from
the host, and a remote engine needs nothing else.
"""

from pathlib import Path

_INSIDE = Path(__file__).parents[2] / "inside"
_TESTS = ("python2", "seccomp", "clock", "failures", "collection", "run_tests")
_VALUES = ("library_values", "values", "frames")
_CHILD = (*_TESTS, *_VALUES, "proxy", "child")
_SERVICE = (*_TESTS, *_VALUES, "service")
_RUNNER = (
    "instrumentation", "streams", "leftovers", "reports", "processes", "interpreters", "builds",
    "runner",
)  # fmt: skip

# A child that needs an interpreter of its own gets the code that the runner has compiled, and so
# does the code under test where it is isolated from the program. Names are cleared before either
# runs: its frames lead to this one. The built-ins of each module are a copy, so that a program that
# replaces one replaces its own.
_BOOT = f"""
import builtins, marshal, os, sys, types
if sys.argv[1] == "child":
    codes, argument = marshal.loads(open(0, "rb", closefd=False).read())
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
else:
    pairs = zip(sys.argv[2::2], sys.argv[3::2])
    codes = [(name, compile(source, "sandbox.inside." + name, "exec")) for name, source in pairs]
    argument = [[pair for pair in codes if pair[0] in names] for names in {(_CHILD, _SERVICE)!r}]
    codes = [pair for pair in codes if pair[0] != "service"]
    del pairs
for name in ("sandbox", "sandbox.inside"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = []
for name, code in codes:
    name = "sandbox.inside." + name
    module = sys.modules[name] = types.ModuleType(name)
    vars(module)["__builtins__"] = dict(vars(builtins))
    exec(code, vars(module))
start = module.prepare if sys.argv[1] == "child" else module.serve
holder = [argument]
del builtins, marshal, os, sys, types, name, code, module, codes, argument
run = start(holder.pop())
del start, holder
run()
"""


def command() -> list[str]:
    """Return the container's command: an interpreter, the boot text, the modules in order."""
    modules = (*_CHILD, "service", *_RUNNER)
    texts = [(_INSIDE / f"{name}.py").read_text() for name in modules]
    sources = [word for pair in zip(modules, texts, strict=True) for word in pair]
    return ["python3", "-P", "-s", "-u", "-c", _BOOT, "runner", *sources]
