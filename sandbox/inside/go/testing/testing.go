// Package testing stands in for the one of Go in test programs: it runs each test, counts and
// reports what was checked, and takes no flags.
package testing

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"cosqa/wire"
)

type test struct {
	name string
	run  func(*T)
}

var (
	tests   []test
	asserts int64
)

// Register makes a test known; tests run in the order of the program.
func Register(name string, run func(*T)) bool {
	tests = append(tests, test{name, run})
	return true
}

// Checked counts a condition on which a test fails.
func Checked[Truth ~bool](condition Truth) Truth {
	atomic.AddInt64(&asserts, 1)
	return condition
}

func Short() bool   { return false }
func Verbose() bool { return false }

// TB is what tests and their helpers ask for.
type TB interface {
	Cleanup(func())
	Error(...any)
	Errorf(string, ...any)
	Fail()
	FailNow()
	Failed() bool
	Fatal(...any)
	Fatalf(string, ...any)
	Helper()
	Log(...any)
	Logf(string, ...any)
	Name() string
	Setenv(string, string)
	Skip(...any)
	SkipNow()
	Skipf(string, ...any)
	Skipped() bool
	TempDir() string
}

// judge is refused on its way to the code, also in a type that is defined as one of these.
type judge struct{}

// T is one test.
type T struct {
	_        judge
	lock     sync.Mutex
	name     string
	parent   *T
	failed   bool
	isOver   bool
	message  string
	place    string
	cleanups []func()
}

// M is there for programs that have a TestMain, which is not called.
type M struct{ _ judge }

func (*M) Run() int { return 0 }

func (t *T) Name() string          { return t.name }
func (t *T) Helper()               {}
func (t *T) Parallel()             {}
func (t *T) Failed() bool          { return t.failed }
func (t *T) Skipped() bool         { return false }
func (t *T) Cleanup(after func())  { t.cleanups = append(t.cleanups, after) }
func (t *T) Setenv(name, v string) { os.Setenv(name, v) }
func (t *T) Log(all ...any)        { fmt.Println(all...) }

func (t *T) Logf(format string, all ...any) { fmt.Printf(format+"\n", all...) }

func (t *T) TempDir() string {
	folder, _ := os.MkdirTemp("", "")
	return folder
}

// A test that is skipped has checked nothing more; what it failed before stands. The code skips none.
func (t *T) SkipNow() {
	if wire.IsAnswering() {
		wire.GiveUp("a function that the code called has skipped a test")
	}
	t.isOver = true
	runtime.Goexit()
}

func (t *T) Skip(all ...any)                 { t.Log(all...); t.SkipNow() }
func (t *T) Skipf(format string, all ...any) { t.Logf(format, all...); t.SkipNow() }

func (t *T) Fail()                            { t.fail("the test failed") }
func (t *T) FailNow()                         { t.fail("the test failed"); t.end() }
func (t *T) Error(all ...any)                 { t.fail(fmt.Sprintln(all...)) }
func (t *T) Errorf(format string, all ...any) { t.fail(fmt.Sprintf(format, all...)) }
func (t *T) Fatal(all ...any)                 { t.fail(fmt.Sprintln(all...)); t.end() }

func (t *T) Fatalf(format string, all ...any) { t.fail(fmt.Sprintf(format, all...)); t.end() }

func (t *T) end() { t.isOver = true; runtime.Goexit() }

func (t *T) fail(message string) {
	t.lock.Lock()
	defer t.lock.Unlock()
	for one := t; one != nil; one = one.parent {
		if !one.failed {
			one.failed, one.message, one.place = true, strings.TrimSuffix(message, "\n"), wire.Lines("program.go")
		}
	}
}

// Run runs a part of a test.
func (t *T) Run(name string, run func(*T)) bool {
	part := &T{name: t.name + "/" + name, parent: t}
	fault, stack := part.run(run)
	if fault != nil {
		panic(parted{fault, stack})
	}
	return !part.failed
}

type parted struct {
	fault any
	stack string
}

// run returns what a test panicked with and where, nil for nothing.
func (t *T) run(run func(*T)) (fault any, stack string) {
	over := make(chan bool)
	go func() {
		isDone := false
		defer func() {
			if fault = recover(); fault != nil {
				stack = wire.Lines("program.go")
			} else if !isDone && !t.isOver {
				fault, stack = "the test's goroutine was ended", "program.go:0"
			}
			if part, is := fault.(parted); is {
				fault, stack = part.fault, part.stack
			}
			over <- true
		}()
		defer func() {
			for place := len(t.cleanups) - 1; place >= 0; place-- {
				t.cleanups[place]()
			}
		}()
		run(t)
		isDone = true
	}()
	<-over
	return fault, stack
}

// Main runs all tests and reports.
func Main() {
	report := wire.Report{}
	for _, one := range tests {
		report.Tests++
		t := &T{name: one.name}
		fault, stack := t.run(one.run)
		switch {
		case t.failed:
			report.Failed(one.name, "assertion_failed", "", t.message, "", t.place)
		case fault != nil:
			if ofCode := wire.Thrown(fault); ofCode != "" {
				stack = ofCode
			}
			report.Failed(one.name, "raised", wire.Kind(fault), fmt.Sprint(fault), "", stack)
		default:
			report.Passed(one.name)
		}
	}
	report.Asserts, report.Calls = asserts, wire.Calls
	report.Write()
}

func init() {
	if wire.Told.Token != "" {
		wire.Load()
	}
}
