"""Values go between a Go program and its code as they are.

Covers the harness of Go and `sandbox.inside.interpreters`; ``sandbox/contract/go.toml`` has the
attacks.
"""

import io
import tarfile
from typing import Any

import pytest
from docker.errors import BuildError, ImageNotFound

from infra.errors import SandboxError
from sandbox.backends.docker.images import BoxImages
from sandbox.base import NOT_SEPARABLE, Sandbox

CODE = r"""
// Stack is one.
type Stack struct {
	items []int
	mu	sync.Mutex
}
type Shape interface{ Area() float64 }
type Square struct{ Side float64 }

func (s Square) Area() float64 { return s.Side * s.Side }

var ErrEmpty = errors.New("empty")

func NewStack() *Stack	  { return &Stack{} }
func (s *Stack) Push(n int) { s.items = append(s.items, n) }
func (s *Stack) Pop() (int, error) {
	if len(s.items) == 0 {
		return 0, ErrEmpty
	}
	last := s.items[len(s.items)-1]
	s.items = s.items[:len(s.items)-1]
	return last, nil
}
func double(n int) int			   { return 2 * n }
func sortInts(a []int)			   { sort.Ints(a) }
func count(r io.Reader) (int, error) { b, err := ioutil.ReadAll(r); return len(b), err }
func apply(xs []string, f func(string) string) []string {
	out := []string{}
	for _, x := range xs {
		out = append(out, f(x))
	}
	return out
}
func adder(n int) func(int) int   { return func(m int) int { return n + m } }
func parse(s string) (int, error) { return strconv.Atoi(s) }
func hello(w io.Writer)		   { fmt.Fprint(w, "hello"); fmt.Println("printed") }
func boom()					   { panic("bad " + fmt.Sprint(1)) }
func index(a []int, i int) int	{ return a[i] }
func words(m map[string][]int) (n int) {
	for k := range m {
		m[k] = append(m[k], 1)
		n++
	}
	return
}
func any2(x interface{}) interface{}			 { return x }
func shape(n float64) Shape					  { return Square{n} }
func variadic(a ...int) int					  { return len(a) }
func year() int								  { return time.Now().Year() }
func nan() (float64, string, []byte, complex128) { return math.NaN(), "\xff", []byte{1, 2}, 1i }
"""
PROGRAM = r"""
func TestStack(t *testing.T) {
	s := NewStack()
	s.Push(1)
	s.Push(2)
	if n, err := s.Pop(); n != 2 || err != nil {
		t.Fatalf("got %d", n)
	}
	s.Pop()
	if _, err := s.Pop(); !errors.Is(err, ErrEmpty) {
		t.Errorf("err %v", err)
	}
	if len(s.items) != 0 {
		t.Error("items")
	}
}
func TestValues(t *testing.T) {
	a := []int{3, 1, 2}
	sortInts(a)
	if !reflect.DeepEqual(a, []int{1, 2, 3}) {
		t.Error(a)
	}
	if n, _ := count(strings.NewReader("abc")); n != 3 {
		t.Error(n)
	}
	if got := apply([]string{"a"}, strings.ToUpper); got[0] != "A" {
		t.Error(got)
	}
	calls := func(s string) string { return fmt.Sprint(double(2)) }
	if got := apply([]string{"a"}, calls); got[0] != "4" {
		t.Error(got)
	}
	if adder(2)(3) != 5 {
		t.Error("adder")
	}
	_, err := parse("x")
	if !errors.Is(err, strconv.ErrSyntax) {
		t.Error(err)
	}
	if err.Error() != `strconv.Atoi: parsing "x": invalid syntax` {
		t.Error(err)
	}
	var b bytes.Buffer
	hello(&b)
	if b.String() != "hello" {
		t.Error(b.String())
	}
	m := map[string][]int{"a": nil}
	if words(m) != 1 || len(m["a"]) != 1 {
		t.Error(m)
	}
	for _, x := range []interface{}{
		nil, 1, "a", []string{"x"}, map[string]interface{}{"k": 1.5}, Square{2}, true,
		'x', int64(3), time.Second,
	} {
		if !reflect.DeepEqual(any2(x), x) {
			t.Errorf("%T %v %v", x, x, any2(x))
		}
	}
	if shape(2).Area() != 4 {
		t.Error("area")
	}
	if variadic() != 0 || variadic(1, 2) != 2 || variadic([]int{1}...) != 1 {
		t.Error("variadic")
	}
	if year() != 2026 || time.Now().Year() != 2026 {
		t.Error(year())
	}
	f, s, bs, c := nan()
	if f == f || s != "\xff" || len(bs) != 2 || c != 1i {
		t.Error(f, s, bs, c)
	}
}
func TestPanic(t *testing.T) {
	defer func() {
		if r := recover(); r != "bad 1" {
			t.Error(r)
		}
	}()
	boom()
}
func TestRaised(t *testing.T) {
	index(nil, 3)
}
"""


@pytest.mark.docker
@pytest.mark.nightly  # it makes an image
async def test_values_go_to_and_fro(sandbox: Sandbox) -> None:
    async with sandbox.box(CODE, language="go") as box:
        result = await box.run(PROGRAM)
        ends = {case.name: (case.outcome, case.message) for case in result.tests}
        assert ends.pop("TestRaised")[0] == "raised"
        assert set(ends.values()) == {("passed", "")}, ends
        assert (result.tests_run, result.stdout) == (4, "printed\n")
        (raised,) = [case for case in result.tests if case.outcome == "raised"]
        assert raised.error_type == "runtime.boundsError"
        assert "target.index target.go:" in raised.traceback
        kept = await box.run(PROGRAM, isolated="on_copies")
        failed = [case.name for case in kept.tests if case.outcome != "passed"]
        assert failed == ["TestStack", "TestValues", "TestRaised"]


@pytest.mark.docker
@pytest.mark.nightly
@pytest.mark.parametrize(
    "code",
    [
        "func given() chan int { return nil }\nfunc made() chan int { return make(chan int) }",
        "type node struct{ next *node }\nfunc made() *node { n := &node{}; n.next = n; return n }",
        "func made() *os.File { f, _ := os.Open(`/dev/null`); return f }",
        "func made() interface{} { return struct{ a int }{1} }",
    ],
)
async def test_a_value_that_cannot_go_is_no_evidence(sandbox: Sandbox, code: str) -> None:
    async with sandbox.box(code, language="go") as box:
        result = await box.run("func TestIt(t *testing.T) {\n\tmade()\n}")
    assert (result.outcome, result.error_type) == ("raised", NOT_SEPARABLE), result.message


JUDGES = r"""
type helper struct{ t *testing.T }
type embedded struct{ *testing.T }
type defined testing.T
type flag struct{ on *bool }
func plain(t *testing.T, n int)          { *t = testing.T{} }
func general(t testing.TB, n int)        {}
func field(h *helper, n int)             { h.t = nil }
func inside(e embedded, n int)           {}
func other(d *defined, n int)            { *d = defined{} }
func many(all []*testing.T, n int)       { all[0] = &testing.T{} }
func named(all map[string]*testing.T)    { all["t"] = nil }
func anything(x interface{}, n int)      {}
func made() *testing.T                   { return &testing.T{} }
func calls(check func(*testing.T), n int) { check(&testing.T{}) }
"""
CALLS = (
    "plain(t, 1)", "general(t, 1)", "field(&helper{t}, 1)", "inside(embedded{t}, 1)",
    "other((*defined)(t), 1)", "many([]*testing.T{t}, 1)", "named(map[string]*testing.T{`t`: t})",
    "anything(t, 1)", "anything([]interface{}{helper{t}}, 1)", "made()",
    "calls(func(t *testing.T) {}, 1)",
)  # fmt: skip


@pytest.mark.docker
@pytest.mark.nightly
async def test_what_judges_goes_to_no_code(sandbox: Sandbox) -> None:
    async with sandbox.box(JUDGES, language="go") as box:
        for call in CALLS:
            program = f"func TestIt(t *testing.T) {{\n\tt.Fail()\n\t{call}\n}}"
            result = await box.run(program)
            assert (call, result.outcome, result.error_type) == (call, "raised", NOT_SEPARABLE)


BUS = """
type Bus struct{ handlers map[string][]func(int) int }
type Handler func(int) int
var kept func()
func NewBus() *Bus { return &Bus{handlers: map[string][]func(int) int{}} }
func (b *Bus) On(name string, f func(int) int) { b.handlers[name] = append(b.handlers[name], f) }
func (b *Bus) Emit(name string, n int) (sum int) {
	for _, f := range b.handlers[name] {
		sum += f(n)
	}
	return sum
}
func same(f func(int) int) func(int) int { return f }
func named(h Handler) int                { return h(2) }
func keep(f func())                      { kept = f }
func now()                               { kept() }
func each(items []int, f func(int)) {
	var all sync.WaitGroup
	for _, item := range items {
		all.Add(1)
		go func(item int) {
			defer all.Done()
			f(item)
		}(item)
	}
	all.Wait()
}
"""
CALLS_BACK = """
func TestBus(t *testing.T) {
	bus, seen := NewBus(), 0
	bus.On("a", func(n int) int { seen += n; return n })
	for i := 0; i < 100; i++ {
		bus.Emit("a", 1)
	}
	bus.On("a", func(n int) int { return 10 })
	if bus.Emit("a", 2) != 12 || seen != 102 {
		t.Error(seen)
	}
}
func TestSame(t *testing.T) {
	next := func(n int) int { return n + 1 }
	if same(same(next))(1) != 2 || named(next) != 3 || named(Handler(same(next))) != 3 {
		t.Error()
	}
}
func TestKept(t *testing.T) {
	count := 0
	keep(func() { count++ })
	now()
	now()
	if count != 2 {
		t.Error(count)
	}
}
func TestEach(t *testing.T) {
	sum, lock := 0, sync.Mutex{}
	each([]int{1, 2, 3, 4, 5, 6, 7, 8}, func(n int) {
		lock.Lock()
		defer lock.Unlock()
		sum += n
	})
	if sum != 36 {
		t.Error(sum)
	}
}
"""


@pytest.mark.docker
@pytest.mark.nightly
async def test_functions_that_the_code_keeps_stay_what_they_are(sandbox: Sandbox) -> None:
    async with sandbox.box(BUS, language="go") as box:
        result = await box.run(CALLS_BACK)
    ends = {case.name: (case.outcome, case.message) for case in result.tests}
    names = ("TestBus", "TestSame", "TestKept", "TestEach")
    assert ends == dict.fromkeys(names, ("passed", "")), result.message


FILE = """
func executable() uint64 {
	found, _ := os.Stat("/proc/self/exe")
	return found.Sys().(*syscall.Stat_t).Ino
}
"""
PRINTS = (
    FILE.replace("executable", "own")
    + """
func TestIt(t *testing.T) {
	if executable() == own() {
		t.Fatal()
	}
	fmt.Println(executable(), own())
}
"""
)


@pytest.mark.docker
@pytest.mark.nightly
async def test_an_executable_is_made_once_for_what_it_is_made_of(sandbox: Sandbox) -> None:
    async with sandbox.box(FILE, language="go") as box:
        versions = (None, None, FILE.replace("Ino", "Ino + 0"), FILE + "const more = 1")
        runs = [(await box.run(PRINTS, code=code)).stdout.split() for code in versions]
    (first, again, of_body, of_types) = runs
    assert first == again
    assert of_body[0] != first[0]
    assert of_body[1] == first[1]  # the program is the same, and calls the code as before
    assert of_types[1] != first[1]


@pytest.mark.docker
@pytest.mark.nightly
async def test_compiling_is_no_time_of_a_run(sandbox: Sandbox) -> None:
    async with sandbox.box(FILE, language="go") as box:
        result = await box.run(PRINTS, timeout_s=0.2)  # two are compiled and linked
    assert result.outcome == "passed", result.message


@pytest.mark.docker
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("func f() int { return 1 }", "passed"),
        ("func f() int { time.Sleep(time.Hour); return 1 }", "timeout"),
        ("func init() { time.Sleep(time.Hour) }\nfunc f() int { return 1 }", "timeout"),
        ('func f() int { return "1" }', "raised"),
        ("func f() int { return 1 + len(os.Args[1:][7]) }", "raised"),
    ],
)
async def test_what_code_does_counts_for_its_limit_and_what_is_no_go_has_raised(
    code: str, outcome: str, sandbox: Sandbox
) -> None:
    program = 'func TestIt(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Fatal("no")\n\t}\n}\n'
    async with sandbox.box(code, language="go") as box:
        assert (await box.run(program, timeout_s=1.0)).outcome == outcome


class Engine:
    """An engine without images of languages, and with a way to Debian's archive or none."""

    def __init__(self, *, is_offline: bool = False) -> None:
        self.images = self
        self.id = "sha256:1"
        self.is_offline = is_offline
        self.built: list[str] = []
        self.labels: dict[str, str] = {}
        self.pruned: dict[str, object] = {}

    def get(self, name: str) -> Any:
        if name != "base":
            raise ImageNotFound(name)
        return self

    def build(self, fileobj: io.BytesIO, labels: dict[str, str], **_: object) -> None:
        with tarfile.open(fileobj=fileobj) as archive:
            self.built = archive.getnames()
        self.labels = labels
        log = [{"stream": "Could not resolve 'packages.example'"}]
        if self.is_offline:
            raise BuildError("returned 100", iter(log))

    def prune(self, filters: dict[str, object]) -> None:
        self.pruned = filters


def test_an_image_that_cannot_be_made_says_what_to_do() -> None:
    engine: Any = Engine(is_offline=True)
    with pytest.raises(SandboxError, match=r"(?s)packages.example.*docker load.*sandbox-go:"):
        BoxImages(engine, "base", {}).language_image("go")
    assert {"Dockerfile", "go/harness.go", "go/wire/wire.go"} <= set(engine.built)
    assert BoxImages(engine, "base", {}).language_image("python") == "base"
    assert engine.pruned == {}


def test_a_new_image_takes_the_place_of_its_languages_older_ones() -> None:
    engine: Any = Engine()
    BoxImages(engine, "base", {}).language_image("go")
    assert engine.labels == {"cosqa.language": "go"}
    pruned = {"dangling": False, "until": "24h", "label": "cosqa.language=go"}
    assert engine.pruned == pruned
