// The harness of Go: it makes an executable of the code under test, or of a test program, and writes
// it to file 4; to file 3 go a report where it cannot, and what a program needs of the code. The two
// run later, each in a process of its own.
//
// The program is compiled into a package with stand-ins for the code's functions, and with its types
// and constants, so that it may use what is not exported.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"runtime"
	"sort"
	"strconv"
	"strings"

	"cosqa/wire"
)

const (
	configuration = "/opt/go/importcfg"
	mostRepairs   = 3
)

var (
	tools   = runtime.GOROOT() + "/pkg/tool/" + runtime.GOOS + "_" + runtime.GOARCH + "/"
	failing = map[string]bool{
		"Error": true, "Errorf": true, "Fatal": true, "Fatalf": true, "Fail": true, "FailNow": true,
	}
	clocks  = map[string]bool{"Now": true, "Since": true, "Until": true}
	test    = regexp.MustCompile(`^[Tt]est\w*$`)
	fault   = regexp.MustCompile(`(?m)^\w+\.go:(\d+):(?:(\d+):)? (.*)$`)
	unused  = regexp.MustCompile(`^(?:(\w+) declared (?:but|and) not used|declared and not used: (\w+))$`)
	dropped = regexp.MustCompile(`^"([^"]+)" imported and not used|^imported and not used: "([^"]+)"|^"([^"]+)" imported as \w+ and not used`)
	lacking = regexp.MustCompile(`could not import (\S+)|undefined: (\S+)`)
	// Of several packages of one name, what most code means.
	meant = map[string]string{"rand": "math/rand", "template": "text/template", "scanner": "text/scanner"}
)

// source is a file that is changed before it is compiled.
type source struct {
	name, text string
	files      *token.FileSet
	tree       *ast.File
	edits      []edit
}

type edit struct {
	start, end int
	text       string
}

func main() {
	if json.NewDecoder(os.Stdin).Decode(&wire.Told) != nil {
		os.Exit(1)
	}
	os.Setenv("GOMAXPROCS", "2")
	name := map[string]string{"code": "target.go", "program": "program.go"}[wire.Told.Part]
	made, err := read(name, wire.Told.Text)
	if err == nil && name == "target.go" {
		err = build("wire.Serve()", made, &source{name: "own.go", text: registered(made)})
		if err == nil {
			os.NewFile(3, "stubs").WriteString(stubs(made))
		}
	} else if err == nil {
		counted(made)
		stub := &source{name: "stub.go", text: wire.Told.Stubs}
		err = build("testing.Main()", made, stub, &source{name: "own.go", text: tests(made)})
	}
	if err != nil {
		refuse(name, err.Error())
	}
}

// refuse reports what code or program cannot be run for, and ends this process.
func refuse(name, fault string) {
	report, outcome, missing := wire.Report{}, "raised", ""
	if name == "target.go" {
		if found := lacking.FindStringSubmatch(fault); found != nil {
			missing = strings.Trim(found[1]+found[2], `"`)
		}
		if strings.Contains(fault, "could not import") {
			outcome = "import_error"
		}
	} else if strings.HasPrefix(fault, "stub.go") && !strings.Contains(fault, "program.go") {
		wire.GiveUp("the code cannot be called from another process: " + fault)
	}
	report.Failed("", outcome, "CompileError", fault, missing, name+":0 is not compiled")
	report.Write()
}

// read parses a file, and gives it the package and the imports that it lacks.
func read(name, text string) (*source, error) {
	made := &source{name: name, text: text, files: token.NewFileSet()}
	tree, err := parser.ParseFile(made.files, name, text, parser.SkipObjectResolution|parser.PackageClauseOnly)
	hasPackage := err == nil
	if !hasPackage {
		made.text = "package target\n//line " + name + ":1\n" + text
	}
	tree, err = parser.ParseFile(made.files, name, made.text, 0)
	if lacking := receivers(tree); err == nil && lacking != "" && name == "target.go" {
		return read(name, text+lacking)
	}
	if err != nil {
		if all, is := err.(scanner.ErrorList); is {
			return nil, all[0]
		}
		return nil, err
	}
	made.tree = tree
	for name, one := range tree.Scope.Objects { // in a program's package `len` shall be Go's
		if types.Universe.Lookup(name) != nil {
			place := made.files.Position(one.Pos())
			return nil, fmt.Errorf("%s: %s is given another meaning", place, name)
		}
	}
	imports := `package target; import wire_ "cosqa/wire"; import testing_ "testing"`
	known := map[string]bool{}
	for _, one := range tree.Imports {
		known[named(one)] = true
	}
	if !known["target"] {
		for _, name := range lacked(tree) {
			if !known[name] {
				known[name] = true
				imports += fmt.Sprintf("; import %q", standard()[name])
			}
		}
	}
	made.edit(tree.Package, tree.Name.End(), imports)
	for _, one := range tree.Imports { // what is tested is in the same package
		value, _ := strconv.Unquote(one.Path.Value)
		if value == "target" || value == "C" || strings.HasPrefix(value, "cosqa") {
			return nil, fmt.Errorf("%s:%d: import %s: there is none", name, made.line(one.Pos()), one.Path.Value)
		}
	}
	made.text += "\nvar _, _ = wire_.Now, testing_.Short\n"
	timed(made)
	return made, nil
}

// receivers declares the types of methods that were cut out of their files, where none of their
// fields is used.
func receivers(tree *ast.File) (text string) {
	declared := map[string]bool{}
	for _, one := range tree.Decls {
		switch part := one.(type) {
		case *ast.GenDecl:
			for _, spec := range part.Specs {
				if kind, is := spec.(*ast.TypeSpec); is {
					declared[kind.Name.Name] = true
				}
			}
		case *ast.FuncDecl:
			declared["."+part.Name.Name] = true
		}
	}
	for _, one := range tree.Decls {
		function, is := one.(*ast.FuncDecl)
		if !is {
			continue
		}
		owner, _ := method(function)
		if owner == "" || declared[owner] {
			continue
		}
		isUsed := false
		ast.Inspect(function, func(node ast.Node) bool {
			if selector, is := node.(*ast.SelectorExpr); is && !declared["."+selector.Sel.Name] {
				name, is := selector.X.(*ast.Ident)
				for _, own := range function.Recv.List[0].Names {
					isUsed = isUsed || is && name.Name == own.Name
				}
			}
			return true
		})
		if !isUsed {
			declared[owner] = true
			text += "\ntype " + owner + " struct{}\n"
		}
	}
	return text
}

func (made *source) line(place token.Pos) int { return made.files.Position(place).Line }

func (made *source) edit(start, end token.Pos, text string) {
	made.edits = append(made.edits, edit{made.files.Position(start).Offset, made.files.Position(end).Offset, text})
}

// edited returns the text with all edits; those of one place stand in their order.
func (made *source) edited() string {
	edits := append([]edit{}, made.edits...)
	sort.SliceStable(edits, func(a, b int) bool { return edits[a].start < edits[b].start })
	text, last := "", 0
	for _, one := range edits {
		text += made.text[last:one.start] + one.text
		last = one.end
	}
	return text + made.text[last:]
}

// lacked returns the names of standard packages that a file uses and does not import.
func lacked(tree *ast.File) (names []string) {
	unresolved := map[*ast.Ident]bool{}
	for _, name := range tree.Unresolved {
		unresolved[name] = true
	}
	ast.Inspect(tree, func(node ast.Node) bool {
		if selector, is := node.(*ast.SelectorExpr); is {
			if name, is := selector.X.(*ast.Ident); is && unresolved[name] && standard()[name.Name] != "" {
				names = append(names, name.Name)
			}
		}
		return true
	})
	return names
}

var packages map[string]string

// standard returns the last part of a standard package's path → the path.
func standard() map[string]string {
	if packages == nil {
		packages = map[string]string{}
		text, _ := os.ReadFile(configuration)
		for _, line := range strings.Split(string(text), "\n") {
			name := strings.TrimPrefix(strings.Split(line, "=")[0], "packagefile ")
			last := path.Base(name)
			is := !strings.Contains(name, "internal") && !strings.HasPrefix(name, "vendor/")
			if is && (packages[last] == "" || name == meant[last]) && !strings.HasPrefix(name, "cosqa") {
				packages[last] = name
			}
		}
	}
	return packages
}

func named(one *ast.ImportSpec) string {
	if one.Name != nil {
		return one.Name.Name
	}
	value, _ := strconv.Unquote(one.Path.Value)
	return path.Base(value)
}

// timed lets a file read the clock of the job.
func timed(made *source) {
	isUsed := false
	ast.Inspect(made.tree, func(node ast.Node) bool {
		if selector, is := node.(*ast.SelectorExpr); is && clocks[selector.Sel.Name] {
			if name, is := selector.X.(*ast.Ident); is && name.Name == "time" {
				made.edit(name.Pos(), name.End(), "wire_")
				isUsed = true
			}
		}
		return true
	})
	if isUsed {
		made.text += "var _ = time.Second\n"
	}
}

// counted wraps the conditions on which tests fail.
func counted(program *source) {
	ast.Inspect(program.tree, func(node ast.Node) bool {
		branch, is := node.(*ast.IfStmt)
		if !is || !(fails(branch.Body) || fails(branch.Else)) {
			return true
		}
		program.edit(branch.Cond.Pos(), branch.Cond.Pos(), "testing_.Checked(")
		program.edit(branch.Cond.End(), branch.Cond.End(), ")")
		return true
	})
}

func fails(branch ast.Node) bool {
	found := false
	if branch == nil || branch == ast.Node((*ast.BlockStmt)(nil)) {
		return false
	}
	ast.Inspect(branch, func(node ast.Node) bool {
		if call, is := node.(*ast.CallExpr); is {
			if selector, is := call.Fun.(*ast.SelectorExpr); is && failing[selector.Sel.Name] {
				found = true
			}
		}
		return !found
	})
	return found
}

// tests returns the file that makes the tests of a program known.
func tests(program *source) string {
	text := "package target; import \"testing\"\n"
	for _, one := range program.tree.Decls {
		function, is := one.(*ast.FuncDecl)
		if !is || function.Recv != nil || !test.MatchString(function.Name.Name) {
			continue
		}
		if all := function.Type.Params.List; len(all) == 1 && program.of(all[0].Type) == "*testing.T" {
			text += fmt.Sprintf("var _ = testing.Register(%q, %s)\n", function.Name.Name, function.Name.Name)
		}
	}
	return text + "var _ = testing.Short\n"
}

// method returns the name of a receiver's type, and whether it is a pointer.
func method(function *ast.FuncDecl) (owner string, isPointer bool) {
	if function.Recv == nil || len(function.Recv.List) != 1 {
		return "", false
	}
	kind := function.Recv.List[0].Type
	if star, is := kind.(*ast.StarExpr); is {
		kind, isPointer = star.X, true
	}
	if name, is := kind.(*ast.Ident); is {
		return name.Name, isPointer
	}
	return "", false
}

// callable returns the functions and methods that can be called from another process.
func callable(code *source) (found []*ast.FuncDecl) {
	for _, one := range code.tree.Decls {
		function, is := one.(*ast.FuncDecl)
		if !is || function.Name.Name == "init" || function.Name.Name == "_" || function.Body == nil {
			continue
		}
		owner, _ := method(function)
		if function.Type.TypeParams == nil && (function.Recv == nil || owner != "") {
			found = append(found, function)
		}
	}
	return found
}

// specs yields the types, constants and variables of a file.
func specs(code *source, kind token.Token) (found []ast.Spec) {
	for _, one := range code.tree.Decls {
		if general, is := one.(*ast.GenDecl); is && general.Tok == kind {
			found = append(found, general.Specs...)
		}
	}
	return found
}

// sentinels returns the names of variables that hold an error made of a text, and their texts.
func sentinels(code *source) map[string]string {
	found := map[string]string{}
	for _, one := range specs(code, token.VAR) {
		value := one.(*ast.ValueSpec)
		if len(value.Names) != 1 || len(value.Values) != 1 || value.Names[0].Name == "_" {
			continue
		}
		call, is := value.Values[0].(*ast.CallExpr)
		if !is || len(call.Args) != 1 || code.of(call.Fun) != "errors.New" {
			continue
		}
		if text, is := call.Args[0].(*ast.BasicLit); is {
			found[value.Names[0].Name] = text.Value
		}
	}
	return found
}

func (made *source) of(node ast.Node) string {
	return made.text[made.files.Position(node.Pos()).Offset:made.files.Position(node.End()).Offset]
}

// registered returns the file that makes the code known to the process that serves it.
func registered(code *source) string {
	text := "package target; import \"cosqa/wire\"\nvar _ = wire.Now\n"
	for _, function := range callable(code) {
		owner, isPointer := method(function)
		name := function.Name.Name
		value := name
		if owner != "" {
			value, name = owner+"."+name, owner+"."+name
		}
		if isPointer {
			value = "(*" + owner + ")." + function.Name.Name
		}
		text += fmt.Sprintf("var _ = wire.Function(%q, %s)\n", name, value)
	}
	return text + known(code)
}

func known(code *source) (text string) {
	for _, one := range specs(code, token.TYPE) {
		if kind := one.(*ast.TypeSpec); kind.TypeParams == nil {
			text += fmt.Sprintf("var _ = wire.Type((*%s)(nil))\n", kind.Name.Name)
		}
	}
	for name := range sentinels(code) {
		text += fmt.Sprintf("var _ = wire.Variable(%q, &%s)\n", name, name)
	}
	return text
}

// stubs returns the file with which a program calls the code: its types, constants, errors, and
// functions of the same names and types.
func stubs(code *source) string {
	text, used := "", map[string]bool{}
	take := func(node ast.Node) string {
		ast.Inspect(node, func(part ast.Node) bool {
			if selector, is := part.(*ast.SelectorExpr); is {
				if name, is := selector.X.(*ast.Ident); is {
					used[name.Name] = true
				}
			}
			return true
		})
		return code.of(node)
	}
	for _, one := range code.tree.Decls {
		general, is := one.(*ast.GenDecl)
		if is && (general.Tok == token.TYPE || general.Tok == token.CONST) {
			text += take(general) + "\n"
		}
	}
	for name, value := range sentinels(code) {
		used["errors"] = true
		text += fmt.Sprintf("var %s = errors.New(%s)\n", name, value)
	}
	for _, function := range callable(code) {
		owner, _ := method(function)
		header, given, name := "func ", []string{}, function.Name.Name
		if owner != "" {
			header += "(p_ " + take(function.Recv.List[0].Type) + ") "
			given, name = append(given, "&p_"), owner+"."+name
		}
		fields := func(list *ast.FieldList, letter string) (header string, pointers []string) {
			if list == nil {
				return
			}
			all := []string{}
			for _, field := range list.List {
				for place := 0; place < len(field.Names) || place == 0; place++ {
					name := fmt.Sprintf("%s%d_", letter, len(all))
					all, pointers = append(all, name+" "+take(field.Type)), append(pointers, "&"+name)
				}
			}
			return strings.Join(all, ", "), pointers
		}
		parameters, pointers := fields(function.Type.Params, "p")
		results, back := fields(function.Type.Results, "r")
		text += fmt.Sprintf(
			"%s%s(%s) (%s) {\n\twire.Call(%q, []any{%s}, []any{%s})\n\treturn\n}\n",
			header, function.Name.Name, parameters, results, name,
			strings.Join(append(given, pointers...), ", "), strings.Join(back, ", "),
		)
	}
	imports := "package target; import \"cosqa/wire\""
	for _, one := range code.tree.Imports {
		if value, _ := strconv.Unquote(one.Path.Value); used[named(one)] && value != "unsafe" {
			imports += "; import " + code.of(one)
			delete(used, named(one))
		}
	}
	for _, name := range lacked(code.tree) {
		if used[name] {
			imports += fmt.Sprintf("; import %q", standard()[name])
			delete(used, name)
		}
	}
	if used["errors"] {
		imports += "; import \"errors\""
	}
	return imports + "\nvar _ = wire.Now\n" + text + known(code)
}

// build compiles and links a program of a package "target"; its first file is repaired where it
// has imports or variables that are not used, as versions with a mistake have.
func build(start string, first *source, others ...*source) error {
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	names := []string{first.name}
	for _, one := range others {
		names = append(names, one.name)
		os.WriteFile(folder+"/"+one.name, []byte(one.text), 0o600)
	}
	configured, _ := os.ReadFile(configuration)
	configured = append(configured, "packagefile target=target.a\n"...)
	os.WriteFile(folder+"/link.cfg", configured, 0o600)
	configured = append(configured, "importmap testing=cosqa/testing\n"...)
	os.WriteFile(folder+"/compile.cfg", configured, 0o600)
	var told string
	for repairs := 0; ; repairs++ {
		os.WriteFile(folder+"/"+first.name, []byte(first.edited()), 0o600)
		told = tool(folder, "compile", append([]string{"-e", "-p", "target", "-o", "target.a"}, names...)...)
		if told == "" {
			break
		}
		if repairs == mostRepairs || !first.repaired(told) {
			return fmt.Errorf("%.1000s", told)
		}
	}
	text := []byte("package main; import _ \"target\"; import \"cosqa/wire\"; import \"testing\"\n" +
		"var _, _ = wire.Now, testing.Short\nfunc main() { " + start + " }\n")
	os.WriteFile(folder+"/main.go", text, 0o600)
	if told = tool(folder, "compile", "-p", "main", "-o", "main.a", "main.go"); told != "" {
		return fmt.Errorf("main.go: %s", told)
	}
	if told = tool(folder, "link", "-s", "-w", "-o", "linked", "main.a"); told != "" {
		return fmt.Errorf("%s: it cannot be linked: %.500s", first.name, told)
	}
	linked, err := os.Open(folder + "/linked")
	if err == nil {
		_, err = io.Copy(os.NewFile(4, "linked"), linked)
	}
	return err
}

// tool runs a part of Go's tool chain; "" where it has no faults to tell.
func tool(folder, name string, arguments ...string) string {
	settings := []string{"-importcfg", name + ".cfg"}
	if name == "compile" {
		settings = append(settings, "-complete", "-pack", "-c", "1")
	}
	command := exec.Command(tools+name, append(settings, arguments...)...)
	command.Dir = folder
	told, err := command.CombinedOutput()
	if err == nil {
		return ""
	}
	return string(bytes.TrimSpace(told)) + " "
}

// repaired changes a file by what the compiler tells; false where that does not suffice.
func (made *source) repaired(told string) bool {
	faults := fault.FindAllStringSubmatch(strings.TrimSpace(told), -1)
	for _, one := range faults {
		line, _ := strconv.Atoi(one[1])
		if found := dropped.FindStringSubmatch(one[3]); found != nil {
			if !made.drop(found[1] + found[2] + found[3]) {
				return false
			}
		} else if found := unused.FindStringSubmatch(one[3]); found == nil || !made.use(found[1]+found[2], line) {
			return false
		}
	}
	return len(faults) > 0
}

func (made *source) drop(imported string) bool {
	for _, one := range made.tree.Imports {
		if value, _ := strconv.Unquote(one.Path.Value); value == imported {
			if one.Name != nil {
				made.edit(one.Name.Pos(), one.Name.End(), "_")
			} else {
				made.edit(one.Pos(), one.Pos(), "_ ")
			}
			return true
		}
	}
	return false
}

// use puts a use of a variable behind the statement that declares it, or into the block after it.
func (made *source) use(name string, line int) bool {
	isDone := false
	var around []ast.Node
	ast.Inspect(made.tree, func(node ast.Node) bool {
		if node == nil {
			around = around[:len(around)-1]
			return true
		}
		around = append(around, node)
		one, is := node.(*ast.Ident)
		if isDone || !is || one.Name != name || made.line(one.Pos()) != line {
			return true
		}
		for place := len(around) - 1; place > 0; place-- {
			inner, end := around[place], token.NoPos
			switch outer := around[place-1].(type) {
			case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
				end = inner.End()
			case *ast.ForStmt:
				end = outer.Body.Lbrace + 1
			case *ast.IfStmt:
				end = outer.Body.Lbrace + 1
			case *ast.RangeStmt:
				end = outer.Body.Lbrace + 1
			}
			if end.IsValid() {
				made.edit(end, end, "; _ = "+name+";")
				isDone = true
				break
			}
		}
		return true
	})
	return isDone
}
