package wire

import (
	"fmt"
	"os"
	"strings"
)

var weights = map[string]int{"raised": 1, "assertion_failed": 2, "import_error": 3}

// Report is what a process with a token says of a program, in the form that `processes.py` reads.
type Report struct {
	Tests, Asserts, Calls int64
	signs, told, gravest  string
	weight                int
}

// Passed notes a test that passed.
func (report *Report) Passed(name string) { report.add("+", name, "") }

// Failed notes how a test failed, or the program where it has no name.
func (report *Report) Failed(name, outcome, kind, message, missing, stack string) {
	if weights[outcome] > report.weight {
		report.weight = weights[outcome]
		report.gravest = "!" + field(outcome, 20) + field(kind, 500) + field(message, 2000) + field(missing, 500)
		fmt.Fprintf(os.Stderr, "%s: %s\n%s\n", kind, message, stack)
	}
	if name != "" {
		report.add("-", name, field(outcome, 20)+field(kind, 200)+field(message, 600)+field(stack, 1500))
	}
}

func (report *Report) add(sign, name, ending string) {
	if report.Tests <= int64(Told.Cases) {
		report.signs += sign
		report.told += field(name, 200) + ending
	}
}

// Write writes the report and ends the process: the size first, so that half of one is none.
func (report *Report) Write() {
	text := fmt.Sprintf("%d %d %d =%s\n", report.Tests, report.Asserts, report.Calls, report.signs)
	text += report.gravest + report.told
	file := os.NewFile(3, "report")
	fmt.Fprintf(file, "%s%d\n%s", Told.Token, len(text), text)
	os.Exit(0)
}

func field(text string, most int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", `\0`)
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most])
	}
	return text + "\x00"
}
