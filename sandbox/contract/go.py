"""The behaviours that every box for Go must show, beside those of all boxes.

Code under test always has a process of its own there, so most attacks are codes: whatever they do,
a program that demands another value than they return must fail.
"""

from functools import partial

from sandbox.contract.behaviour import Behaviour

_CODE = "func double(n int) int {\n\treturn n + n\n}\n"
_DEMANDS = (
    "func TestIt(t *testing.T) {\n"
    '\tif got := double(2); got != 4 {\n\t\tt.Errorf("got %d", got)\n\t}\n}\n'
)
_GO = partial(Behaviour, code=_CODE, language="go")
_NO_PASS = frozenset({"assertion_failed", "raised", "killed"})


def _ends(name: str, program: str, outcome: str, **fields: object) -> Behaviour:
    return _GO(f"Go: {name}", program, {"outcome": outcome, **fields})


def _test(lines: str) -> str:
    return f"func TestIt(t *testing.T) {{\n{lines}\n}}\n"


def _attack(name: str, lines: str, around: str = "", ends: object = _NO_PASS) -> Behaviour:
    """Return the behaviour that code which does this fails where it returns a wrong value."""
    code = f"{around}\nfunc double(n int) int {{\n{lines}\n\treturn 5\n}}\n"
    return _GO(f"Go: {name}", _DEMANDS, {"outcome": ends}, code=code)


def _refused(name: str, call: str) -> Behaviour:
    """Return the behaviour that code which does this gets an error of the system."""
    code = f"func try() error {{\n{call}\n\treturn err\n}}\n"
    program = _test(
        '\terr := try()\n\tfor _, text := range []string{"denied", "not permitted", '
        '"unreachable", "read-only", "no such host", "server misbehaving", '
        '"connection refused"} {\n'
        "\t\tif err != nil && strings.Contains(err.Error(), text) {\n\t\t\treturn\n\t\t}\n\t}\n"
        "\tt.Error(err)"
    )
    return _GO(f"Go: {name}", program, {"outcome": "passed"}, code=code)


_OUTCOMES = (
    _ends("a program whose checks hold has passed", _DEMANDS, "passed", target_calls=1,
          asserts_executed=1, tests_run=1),
    _ends(
        "a false check has failed, and the tests after it are run",
        _DEMANDS.replace("!= 4", "!= 5")
        + "func TestTwo(t *testing.T) {\n\tif double(1) != 2 {\n\t\tt.Fatal()\n\t}\n}\n",
        "assertion_failed",
        tests_run=2,
        asserts_executed=2,
        target_calls=2,
    ),
    _ends("what is not imported or not used is put right",
          'package other\n\nimport "os"\n\n' + _test("\tn := strings.ToUpper(`a`)"), "passed"),
    _ends("a panic has been raised, and the tests after it are run",
          _test("\tvar none []int\n\t_ = none[double(1)]") + _DEMANDS.replace("It", "Two"),
          "raised", error_type="runtime.boundsError", tests_run=2),
    _ends("a check that fails and whose test panics has failed",
          _test("\tt.Error()\n\tpanic(1)"), "assertion_failed"),
    _ends("ending a test's goroutine is no pass", _test("\truntime.Goexit()"), "raised"),
    _ends("a program that does not parse has raised", "func (", "raised",
          error_type="CompileError"),
    _ends("a program that does not compile has raised", _test("\tdouble(\"a\")"), "raised",
          error_type="CompileError"),
    _ends("a test that is redefined is none of the code's", _DEMANDS + _CODE, "raised",
          error_type="CompileError"),
    _GO("Go: a method that was cut out of its type is called",
        _test("\tif new(Doubler).Twice(2) != 4 {\n\t\tt.Fatal()\n\t}"),
        {"outcome": "passed", "target_calls": 1},
        code="func (d *Doubler) Twice(n int) int { return n + n }"),
    _GO("Go: a package that is missing is named", _DEMANDS,
        {"outcome": "import_error", "missing_module": "example.org/no"},
        code=f'package p\n\nimport no "example.org/no"\n\n{_CODE}\nvar _ = no.No\n'),
    _ends("an endless loop is cut at the time limit", _test("\tfor {\n\t}"), "timeout"),
    _ends("memory is limited",
          _test("\tall := [][]byte{}\n\tfor {\n"
                "\t\tall = append(all, bytes.Repeat([]byte{1}, 1<<20))\n\t}"), "memory"),
    _ends("output is limited", _test('\tfor {\n\t\tfmt.Println(strings.Repeat("x", 1000))\n\t}'),
          "output_limit"),
    _ends("exit(0) is no pass", _test("\tos.Exit(0)"), "killed"),
    _ends("exit(0) before the tests is no pass", _DEMANDS + "func init() { os.Exit(0) }\n",
          "killed"),
    _ends("a TestMain that runs nothing hides no test",
          _DEMANDS.replace("!= 4", "!= 5") + "func TestMain(m *testing.M) { os.Exit(0) }\n",
          "assertion_failed"),
    _ends(
        "writing to every open file is no pass",
        _test('\tfor n := 3; n < 64; n++ {\n\t\tos.NewFile(uintptr(n), "").Write('
              "[]byte(\"8\\n0 1 1 =\\n\"))\n\t}\n\tos.Exit(0)"),
        "killed",
    ),
)  # fmt: skip
_MILLION = "\n".join(f"type t{n + 1} struct{{ a, b t{n} }}" for n in range(40))
_ATTACKS = (
    _attack("code that ends its process is no pass", "\tos.Exit(0)"),
    _attack("code that ends it before it is called is no pass", "", "func init() { os.Exit(0) }"),
    _attack("code that ends its goroutine is no pass", "\truntime.Goexit()"),
    _attack(
        "code that prints a report and writes to each file is no pass",
        '\tfmt.Println("PASS\\nok")\n\tfor n := 3; n < 64; n++ {\n'
        '\t\tos.NewFile(uintptr(n), "").Write([]byte("8\\n1 1 1 =+\\nTestIt\\x00"))\n\t}',
    ),
    _attack(
        "code that sends an answer of its own is no pass",
        "\tdata := []byte(`{\"IsAnswer\":true,\"Values\":[2],\"Results\":[5]}`)\n"
        '\tos.NewFile(3, "").Write(append([]byte{0, 0, 0, byte(len(data))}, data...))',
    ),
    _attack(
        "code that leaves goroutines behind fails",
        "\tfor n := 0; n < 8; n++ {\n\t\tgo func() {\n\t\t\tfor {\n\t\t\t}\n\t\t}()\n\t}",
    ),
    _attack("code that panics and recovers fails", "\tdefer func() { recover() }()\n\tpanic(4)"),
    _attack("a panic of a goroutine is no pass", "\tgo panic(4)\n\tselect {}"),
    _attack(
        "code that sets flags of tests fails",
        '\tos.Args = append(os.Args, "-test.run=^$")\n\tflag.CommandLine = flag.NewFlagSet("", 0)',
        'func init() { flag.Set("test.run", "^$") }',
    ),
    _attack(
        "code that stands in for the tests' package fails",
        "\ttestRegister()",
        '//go:linkname testRegister cosqa/testing.Main\nfunc testRegister()\nvar _ unsafe.Pointer',
    ),
    _attack(
        "code that writes into its own memory fails",
        "\tfor place := 0; place < 1<<16; place += 8 {\n"
        "\t\t*(*int)(unsafe.Add(unsafe.Pointer(&n), place)) = 4\n\t}",
    ),
    _attack(
        "code that looks into the program's process fails",
        '\tfolders, _ := os.ReadDir("/proc")\n\tfor _, one := range folders {\n'
        "\t\tif number, _ := strconv.Atoi(one.Name()); number < 2 || number == os.Getpid() {\n"
        "\t\t\tcontinue\n\t\t}\n"
        '\t\tfor _, file := range []string{"mem", "fd/0", "fd/3", "fd/4", "exe", "environ"} {\n'
        '\t\t\tif _, err := os.Open("/proc/" + one.Name() + "/" + file); err == nil {\n'
        "\t\t\t\treturn 4\n\t\t\t}\n\t\t}\n\t}",
        ends="assertion_failed",
    ),
    _attack(
        "nothing of the program is left where code can read it",
        '\tfolders, _ := os.ReadDir("/tmp")\n\tif len(folders) > 0 {\n\t\treturn 4\n\t}',
        ends="assertion_failed",
    ),
    _GO("Go: code that gives a word of Go another meaning is not called",
        _test('\tif s := []int{1}; len(s) != 4 {\n\t\tt.Error(double(2))\n\t}'),
        {"outcome": "raised", "error_type": "CompileError"},
        code=f"func len(_ []int) int {{ return 4 }}\n{_CODE}"),
    _GO("Go: nothing is something where code says so", _test(
        "\tif err := fails(); err != nil {\n\t\tt.Error(err)\n\t}"),
        {"outcome": "raised", "error_type": "CompileError"},
        code='var nil = errors.New("")\nfunc fails() error { return nil }'),
    _GO("Go: nothing unsafe comes into the program's process with the code's types", _DEMANDS,
        {"outcome": "raised", "error_type": "NotSeparableError"},
        code='package p\n\nimport u "unsafe"\n\ntype box struct {\n'
        "//go:linkname double example.double\n\tp u.Pointer\n}\n\n" + _CODE),
    _GO("Go: a file of the system cannot be embedded", _DEMANDS, {"outcome": "raised"},
        code='package p\n\nimport _ "embed"\n\n//go:embed /etc/passwd\nvar t string\n' + _CODE),
    _GO("Go: no C is compiled", _DEMANDS, {"outcome": "raised"},
        code='package p\n\n// int f() { return 4; }\nimport "C"\n\n' + _CODE),
    _GO("Go: nothing is generated before code is compiled", _DEMANDS, {"outcome": "passed"},
        code="//go:generate sh -c 'touch /tmp/generated'\n" + _CODE),
    _GO("Go: types that grow without end are refused or cut", _DEMANDS,
        {"outcome": frozenset({"raised", "timeout", "memory", "killed"})},
        code=f"type t0 struct{{ a, b [1 << 20]int }}\n{_MILLION}\nvar all t40\n{_CODE}"),
    _GO("Go: constants that take minutes are refused or cut", _DEMANDS,
        {"outcome": frozenset({"raised", "timeout", "memory", "killed"})},
        code=f"const huge = 1 << 511 * 1 << 511 << (1 << 30)\nvar all [huge]int\n{_CODE}"),
)  # fmt: skip
_WALLS = (
    _refused("no address can be reached", '\t_, err := net.Dial("tcp", "1.1.1.1:80")'),
    _refused("no name can be looked up", '\t_, err := net.LookupHost("example.org")'),
    _refused("the system cannot be written to",
             '\terr := os.WriteFile("/usr/written", nil, 0o600)'),
    _refused("secrets of the system cannot be read", '\t_, err := os.ReadFile("/etc/shadow")'),
    _refused("the runner's environment is hidden", '\t_, err := os.ReadFile("/proc/1/environ")'),
    _refused("the harness's executable is hidden", '\t_, err := os.ReadFile("/opt/go/harness")'),
    _refused("a process cannot become root", "\terr := syscall.Setuid(0)"),
)  # fmt: skip
_REPEATS = (
    _GO("Go: one seed gives one row of random numbers",
        _test("\tfmt.Println(rand.Int())"), {"outcome": "passed"}, again="same"),
    _GO("Go: another clock gives another time of day",
        _test("\tfmt.Println(time.Now().Year())"), {"outcome": "passed"}, again="other"),
    _GO("Go: the clock begins where the caller said",
        _test("\tfmt.Println(time.Now().Year(), year(), time.Since(time.Now()) < time.Minute)"),
        {"outcome": "passed", "stdout": "2026 2026 true\n"},
        code="func year() int { return time.Now().Year() }"),
    _GO("Go: the box is whole after a fork bomb", _DEMANDS, {"outcome": "passed"},
        before=_test("\tdouble(1)"),
        before_code='func double(int) int {\n\tfor {\n'
        '\t\texec.Command("sh", "-c", ":(){ :|:& };:").Start()\n\t}\n}'),
    _GO("Go: files are gone before the next run",
        _test('\tif all, _ := os.ReadDir("/tmp"); len(all) > 0 {\n\t\tt.Fatal(all)\n\t}'),
        {"outcome": "passed"},
        before=_test('\tos.WriteFile("/tmp/left", nil, 0o600)')),
)  # fmt: skip

GO = (*_OUTCOMES, *_ATTACKS, *_WALLS, *_REPEATS)
