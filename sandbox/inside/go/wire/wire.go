// Package wire joins the process of a test program and that of the code under test: calls go over a
// socket as frames of JSON, and values as their parts, so that nothing that the code does to its own
// process reaches the asserts or the report. Both processes have it; who has a token reports.
package wire

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"
	"unsafe"
)

const (
	mostDeep  = 1_000     // levels of a value; one that holds itself has more
	mostParts = 1_000_000 // of one frame
	largest   = 64 << 20  // bytes of a frame
)

// Job is what the harness hands to a process on its stdin.
type Job struct {
	Part, Text, Stubs, Token string
	Clock                    float64
	OnCopies                 bool `json:"on_copies"`
	Cases                    int
	GivenUp                  int `json:"given_up"`
	Alone                    int
}

// Frame is a call or the answer to one.
type Frame struct {
	Call     string
	Function int
	IsAnswer bool
	Values   []any
	Results  []any
	Printed  []byte
	Panic    []any
	Stack    string
	Unplain  string
	Folder   string // surroundings of the program's process, where they have changed
	Environ  []string
	Args     []string
}

type notPlain string

var (
	Told   Job
	Calls  int64
	socket *os.File
	offset time.Duration

	byName    = map[string]reflect.Value{}
	functions []reflect.Value // that the other process can call
	theirs    sync.Map        // functions here that stand for one there → its number
	types     = map[string]reflect.Type{}
	variables = map[string]reflect.Value{} // names of errors → where they are
	lock      sync.Mutex
	depth     int64
	printed   *os.File
	shared    Frame
	thrown    any // what the code panicked with last, and where
	stack     string
)

func init() {
	if len(os.Args) == 0 || os.Args[0] != "box" {
		return // this is the harness
	}
	if json.NewDecoder(os.Stdin).Decode(&Told) != nil {
		os.Exit(1)
	}
	runtime.GOMAXPROCS(2)
	null, _ := os.Open("/dev/null")
	syscall.Dup3(int(null.Fd()), 0, 0)
	offset = time.Until(time.Unix(0, int64(Told.Clock*1e9)))
	for _, one := range []any{
		false, "", 0, int8(0), int16(0), int32(0), int64(0), uint(0), uint8(0), uint16(0), uint32(0),
		uint64(0), float32(0), float64(0), complex64(0), complex128(0), time.Duration(0), time.Time{},
		strings.Reader{}, bytes.Reader{}, bytes.Buffer{}, strconv.NumError{}, json.SyntaxError{},
	} {
		register(reflect.TypeOf(one))
	}
	for _, one := range []any{
		errors.New(""), fmt.Errorf("%w", io.EOF), context.Background(), context.TODO(), new(error), new(any),
	} {
		if kind := reflect.TypeOf(one); kind.Kind() == reflect.Pointer {
			register(kind.Elem())
		} else {
			register(kind)
		}
	}
	for name, one := range map[string]*error{
		"io.EOF": &io.EOF, "io.ErrUnexpectedEOF": &io.ErrUnexpectedEOF, "os.ErrNotExist": &os.ErrNotExist,
		"strconv.ErrSyntax": &strconv.ErrSyntax, "strconv.ErrRange": &strconv.ErrRange,
		"context.Canceled": &context.Canceled, "io.ErrShortWrite": &io.ErrShortWrite,
	} {
		Variable(name, one)
	}
	if Told.Token != "" {
		shared = surroundings()
		socket = os.NewFile(4, "socket")
		return
	}
	socket = os.NewFile(3, "socket")
	printed, _ = os.CreateTemp("", "")
	os.Remove(printed.Name())
	syscall.Dup3(int(printed.Fd()), 1, 0)
	next() // the code starts when it is asked to: nothing of the program can be read any more
}

func register(kind reflect.Type) { types[kind.String()] = kind }

// Function, Type and Variable make a part of the code known by its name.
func Function(name string, value any) bool {
	byName[name] = reflect.ValueOf(value)
	return true
}

func Type(pointer any) bool {
	register(reflect.TypeOf(pointer).Elem())
	return true
}

func Variable(name string, pointer *error) bool {
	variables[name] = reflect.ValueOf(pointer).Elem()
	return true
}

// Now, Since and Until are those of package time, with a clock that begins where the job says.
func Now() time.Time                       { return time.Now().Add(offset) }
func Since(moment time.Time) time.Duration { return Now().Sub(moment) }
func Until(moment time.Time) time.Duration { return moment.Sub(Now()) }

// Send and Receive pass one frame.
func Send(file *os.File, frame Frame) {
	data, _ := json.Marshal(frame)
	size := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	file.Write(append(size, data...))
}

func Receive(file *os.File) (frame Frame, err error) {
	size := make([]byte, 4)
	if _, err = io.ReadFull(file, size); err != nil {
		return
	}
	length := binary.BigEndian.Uint32(size)
	if length > largest {
		return frame, errors.New("a frame that is too large")
	}
	data := make([]byte, length)
	if _, err = io.ReadFull(file, data); err != nil {
		return
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return frame, decoder.Decode(&frame)
}

// GiveUp ends a program that cannot be run with the code in another process.
func GiveUp(reason string) {
	fmt.Fprintln(os.Stderr, strings.ReplaceAll(reason, "\n", " "))
	os.Exit(Told.GivenUp)
}

// Call has a function of the code called: arguments and results are pointers to variables.
func Call(name string, arguments, results []any) {
	atomic.AddInt64(&Calls, 1)
	frame, now := Frame{}, surroundings()
	isOther := reflect.ValueOf(now.Args).Pointer() != reflect.ValueOf(shared.Args).Pointer()
	if isOther || !reflect.DeepEqual(now, shared) { // also where the code may have changed its own
		shared, frame = now, now
	}
	frame.Call = name
	call(frame, elements(arguments), elements(results))
}

func surroundings() Frame {
	folder, _ := os.Getwd()
	return Frame{Folder: folder, Environ: os.Environ(), Args: os.Args}
}

// surround takes over the folder, the variables and the arguments of the program's process.
func surround(frame Frame) {
	os.Chdir(frame.Folder)
	os.Clearenv()
	for _, one := range frame.Environ {
		name, value, _ := strings.Cut(one, "=")
		os.Setenv(name, value)
	}
	os.Args = frame.Args
}

// IsAnswering says whether the code waits for a function of the program.
func IsAnswering() bool { return atomic.LoadInt64(&depth) > 0 }

// Load lets the other process start the code.
func Load() { call(Frame{}, nil, nil) }

func elements(pointers []any) []reflect.Value {
	made := make([]reflect.Value, len(pointers))
	for place, one := range pointers {
		made[place] = reflect.ValueOf(one).Elem()
	}
	return made
}

func call(frame Frame, arguments, results []reflect.Value) {
	if atomic.LoadInt64(&depth) == 0 {
		lock.Lock()
		defer lock.Unlock()
	}
	var fault string
	if frame.Values, fault = encoded(arguments); fault != "" {
		failed("a value that goes to the other process is " + fault)
	}
	Send(socket, frame)
	answer := next()
	for !answer.IsAnswer {
		reply(answer)
		answer = next()
	}
	os.Stdout.Write(answer.Printed)
	if answer.Unplain != "" {
		failed("a value that comes from the code is " + answer.Unplain)
	}
	defer func() {
		if fault := recover(); fault != nil && answer.Panic == nil {
			failed(fmt.Sprint("a value that comes from the code cannot be read: ", fault))
		} else if fault != nil {
			panic(fault)
		}
	}()
	if !Told.OnCopies {
		decoded(answer.Values, arguments)
	}
	if answer.Panic != nil {
		value := reflect.New(types["interface {}"]).Elem()
		decoded(answer.Panic, []reflect.Value{value})
		thrown, stack = value.Interface(), answer.Stack
		panic(thrown)
	}
	decoded(answer.Results, results)
}

// reply answers a call of the code, which may end the goroutine.
func reply(request Frame) {
	atomic.AddInt64(&depth, 1)
	defer atomic.AddInt64(&depth, -1)
	Send(socket, done(request))
}

func failed(reason string) {
	if Told.Token == "" {
		panic(notPlain(reason))
	}
	GiveUp(reason)
}

func next() Frame {
	frame, err := Receive(socket)
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		os.Exit(Told.Alone)
	}
	if err != nil {
		failed("the other process sent no frame")
	}
	return frame
}

// Thrown returns where the code panicked, "" where a value is none of its panics.
func Thrown(value any) string {
	if stack != "" && fmt.Sprint(value) == fmt.Sprint(thrown) {
		return stack
	}
	return ""
}

// Kind returns the name of a value's type, as it is in the code's process.
func Kind(value any) string {
	if unknown, is := value.(*unknownError); is {
		return unknown.kind
	}
	return fmt.Sprintf("%T", value)
}

// Lines returns the calls on this goroutine's stack that are in a file, the innermost first.
func Lines(file string) (told string) {
	callers := make([]uintptr, 200)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for isMore := true; isMore; {
		var frame runtime.Frame
		if frame, isMore = frames.Next(); path.Base(frame.File) == file {
			told += fmt.Sprintf("\n%s %s:%d", frame.Function, file, frame.Line)
		}
	}
	return told
}

// Serve answers the program's calls; the code's package is complete by then.
func Serve() {
	Send(socket, Frame{IsAnswer: true})
	for {
		answer := done(next())
		lock.Lock()
		Send(socket, answer)
		lock.Unlock()
	}
}

// done returns the answer to a call from the other process.
func done(request Frame) (answer Frame) {
	answer.IsAnswer = true
	if Told.Token == "" && request.Environ != nil {
		surround(request)
	}
	var called reflect.Value
	if request.Call != "" {
		called = byName[request.Call]
	} else if request.Function < len(functions) {
		called = functions[request.Function]
	}
	if !called.IsValid() {
		return Frame{IsAnswer: true, Unplain: "no function that can be called"}
	}
	kind := called.Type()
	arguments := make([]reflect.Value, kind.NumIn())
	for place := range arguments {
		arguments[place] = reflect.New(kind.In(place)).Elem()
	}
	results := make([]reflect.Value, kind.NumOut())
	for place := range results {
		results[place] = reflect.New(kind.Out(place)).Elem()
	}
	var where string
	value := reflect.New(types["interface {}"]).Elem()
	func() {
		defer func() {
			if fault := recover(); fault != nil {
				value.Set(reflect.ValueOf(fault))
				where = "target.go:0" + Lines("target.go")
			}
		}()
		decoded(request.Values, arguments)
		given := append([]reflect.Value{}, arguments...)
		call := called.Call
		if kind.IsVariadic() {
			call = called.CallSlice
		}
		for place, result := range call(given) {
			results[place].Set(result)
		}
	}()
	var faults [3]string
	answer.Values, faults[0] = encoded(arguments)
	if where == "" {
		answer.Results, faults[1] = encoded(results)
	} else if fault, is := value.Interface().(notPlain); is {
		faults[1] = string(fault)
	} else {
		answer.Stack = where
		if answer.Panic, faults[2] = encoded([]reflect.Value{value}); faults[2] != "" {
			value.Set(reflect.ValueOf(fmt.Sprint(value.Interface())))
			answer.Panic, faults[2] = encoded([]reflect.Value{value})
		}
	}
	answer.Unplain = faults[0] + faults[1]
	if printed != nil {
		printed.Seek(0, io.SeekStart)
		answer.Printed, _ = io.ReadAll(io.LimitReader(printed, largest/4))
		printed.Truncate(0)
		printed.Seek(0, io.SeekStart)
	}
	return answer
}

type graph struct{ left int }

func encoded(values []reflect.Value) (parts []any, fault string) {
	defer func() {
		if caught := recover(); caught != nil {
			fault = fmt.Sprint(caught)
		}
	}()
	all := &graph{mostParts}
	parts = make([]any, len(values))
	for place, value := range values {
		parts[place] = all.encode(value, 0)
	}
	return parts, ""
}

func decoded(parts []any, values []reflect.Value) {
	if len(parts) != len(values) {
		panic(notPlain("another number of values"))
	}
	for place, value := range values {
		decode(parts[place], value)
	}
}

// A file's number is another file in another process, and what judges is no value: its fields would
// come back as the code says.
func refuse(kind reflect.Type) {
	switch kind.PkgPath() {
	case "internal/poll", "reflect", "testing", "cosqa/testing", "cosqa/wire":
		panic(notPlain("of the type " + kind.String()))
	}
	if kind.String() == "os.File" {
		panic(notPlain("an open file"))
	}
}

// addressable returns a value whose hidden fields can be read and set.
func addressable(value reflect.Value) reflect.Value {
	if !value.CanAddr() {
		copied := reflect.New(value.Type()).Elem()
		copied.Set(value)
		return copied
	}
	return reflect.NewAt(value.Type(), unsafe.Pointer(value.UnsafeAddr())).Elem()
}

func (all *graph) encode(value reflect.Value, deep int) any {
	if all.left--; all.left < 0 || deep > mostDeep {
		panic(notPlain("too large, or holds itself"))
	}
	value, kind := addressable(value), value.Kind()
	switch kind {
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface, reflect.Func:
		if value.IsNil() {
			return nil
		}
	}
	parts := []any{}
	switch kind {
	case reflect.Bool:
		return value.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return value.Int()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return value.Uint()
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(value.Float(), 'g', -1, 64)
	case reflect.Complex64, reflect.Complex128:
		return strconv.FormatComplex(value.Complex(), 'g', -1, 128)
	case reflect.String:
		if text := value.String(); utf8.ValidString(text) {
			return text
		}
		return []any{base64.StdEncoding.EncodeToString([]byte(value.String()))}
	case reflect.Slice, reflect.Array:
		if kind == reflect.Slice && value.Type().Elem().Kind() == reflect.Uint8 {
			return base64.StdEncoding.EncodeToString(value.Bytes())
		}
		for place := 0; place < value.Len(); place++ {
			parts = append(parts, all.encode(value.Index(place), deep+1))
		}
	case reflect.Map:
		for pairs := value.MapRange(); pairs.Next(); {
			pair := []any{all.encode(pairs.Key(), deep+1), all.encode(pairs.Value(), deep+1)}
			parts = append(parts, pair)
		}
	case reflect.Pointer:
		parts = append(parts, all.encode(value.Elem(), deep+1))
	case reflect.Struct:
		if moment, is := value.Interface().(time.Time); is {
			return moment.Format(time.RFC3339Nano)
		}
		refuse(value.Type())
		for place := 0; place < value.NumField(); place++ {
			parts = append(parts, all.encode(value.Field(place), deep+1))
		}
	case reflect.Interface:
		return all.dynamic(value, deep)
	case reflect.Func:
		if name := runtime.FuncForPC(value.Pointer()).Name(); strings.HasPrefix(name, "cosqa/testing.") {
			panic(notPlain("a function of package testing"))
		}
		if number, isTheirs := theirs.Load(closure(value)); isTheirs {
			return []any{number}
		}
		functions = append(functions, reflect.ValueOf(value.Interface()))
		return len(functions) - 1
	default:
		panic(notPlain("a " + kind.String()))
	}
	return parts
}

// dynamic encodes what an interface holds, with its type; errors of unknown types by their texts.
func (all *graph) dynamic(value reflect.Value, deep int) any {
	err, isError := value.Interface().(error)
	for name, variable := range variables {
		if isError && reflect.TypeOf(err).Comparable() && variable.Interface() == err {
			return []any{"variable", name}
		}
	}
	kind := value.Elem().Type()
	if described, is := description(kind); is {
		return []any{described, all.encode(value.Elem(), deep+1)}
	}
	if !isError {
		panic(notPlain("of the type " + kind.String()))
	}
	return []any{"error", kind.String(), err.Error()}
}

// description returns a type as its parts, which the other process can build.
func description(kind reflect.Type) (any, bool) {
	if types[kind.String()] == kind {
		return kind.String(), true
	}
	if kind.Name() != "" {
		return nil, false
	}
	switch kind.Kind() {
	case reflect.Slice, reflect.Pointer:
		part, is := description(kind.Elem())
		return []any{kind.Kind().String(), part}, is
	case reflect.Map:
		key, isKey := description(kind.Key())
		part, is := description(kind.Elem())
		return []any{"map", key, part}, is && isKey
	}
	return nil, false
}

func typeOf(described any) reflect.Type {
	if name, is := described.(string); is {
		return types[name]
	}
	parts := described.([]any)
	switch parts[0] {
	case "slice":
		return reflect.SliceOf(typeOf(parts[1]))
	case "ptr":
		return reflect.PointerTo(typeOf(parts[1]))
	}
	return reflect.MapOf(typeOf(parts[1]), typeOf(parts[2]))
}

// unknownError is an error of a type that the program does not have.
type unknownError struct{ kind, message string }

func (err *unknownError) Error() string { return err.message }

// decode puts what has come into a variable, in place where that holds something already.
func decode(part any, value reflect.Value) {
	value = addressable(value)
	kind := value.Kind()
	if part == nil {
		value.Set(reflect.Zero(value.Type()))
		return
	}
	switch kind {
	case reflect.Bool:
		value.SetBool(part.(bool))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		number, _ := strconv.ParseInt(string(part.(json.Number)), 10, 64)
		value.SetInt(number)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		number, _ := strconv.ParseUint(string(part.(json.Number)), 10, 64)
		value.SetUint(number)
	case reflect.Float32, reflect.Float64:
		number, _ := strconv.ParseFloat(part.(string), 64)
		value.SetFloat(number)
	case reflect.Complex64, reflect.Complex128:
		number, _ := strconv.ParseComplex(part.(string), 128)
		value.SetComplex(number)
	case reflect.String:
		text, is := part.(string)
		if !is {
			data, _ := base64.StdEncoding.DecodeString(part.([]any)[0].(string))
			text = string(data)
		}
		value.SetString(text)
	case reflect.Interface:
		decodeDynamic(part.([]any), value)
	case reflect.Func:
		if own, is := part.([]any); is { // by number, so that it is what it was
			number, _ := own[0].(json.Number).Int64()
			value.Set(functions[number].Convert(value.Type()))
			return
		}
		number, _ := part.(json.Number).Int64()
		value.Set(remote(value.Type(), int(number)))
		theirs.Store(closure(value), number)
	case reflect.Struct:
		if value.Type() == types["time.Time"] {
			moment, _ := time.Parse(time.RFC3339Nano, part.(string))
			value.Set(reflect.ValueOf(moment))
			return
		}
		refuse(value.Type())
		for place, field := range part.([]any) {
			decode(field, value.Field(place))
		}
	case reflect.Pointer:
		if value.IsNil() {
			value.Set(reflect.New(value.Type().Elem()))
		}
		decode(part.([]any)[0], value.Elem())
	default:
		decodeMany(part, value)
	}
}

func decodeMany(part any, value reflect.Value) {
	if text, is := part.(string); is {
		data, _ := base64.StdEncoding.DecodeString(text)
		if value.Len() != len(data) {
			value.Set(reflect.MakeSlice(value.Type(), len(data), len(data)))
		}
		reflect.Copy(value, reflect.ValueOf(data).Convert(reflect.SliceOf(reflect.TypeOf(byte(0)))))
		return
	}
	parts := part.([]any)
	if value.Kind() == reflect.Map {
		if value.IsNil() {
			value.Set(reflect.MakeMap(value.Type()))
		}
		for _, key := range value.MapKeys() {
			value.SetMapIndex(key, reflect.Value{})
		}
		for _, pair := range parts {
			key, item := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
			decode(pair.([]any)[0], key)
			decode(pair.([]any)[1], item)
			value.SetMapIndex(key, item)
		}
		return
	}
	if value.Kind() == reflect.Slice && (value.IsNil() || value.Len() != len(parts)) {
		value.Set(reflect.MakeSlice(value.Type(), len(parts), len(parts)))
	}
	for place, item := range parts {
		decode(item, value.Index(place))
	}
}

func decodeDynamic(parts []any, value reflect.Value) {
	switch parts[0] {
	case "variable":
		value.Set(variables[parts[1].(string)])
		return
	case "error":
		value.Set(reflect.ValueOf(&unknownError{parts[1].(string), parts[2].(string)}))
		return
	}
	kind := typeOf(parts[0])
	if !value.IsNil() && value.Elem().Type() == kind && kind.Kind() == reflect.Pointer && parts[1] != nil {
		decode(parts[1].([]any)[0], value.Elem().Elem())
		return
	}
	made := reflect.New(kind).Elem()
	decode(parts[1], made)
	value.Set(made)
}

// closure returns what a variable with a function points to, which no other function has.
func closure(value reflect.Value) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(value.UnsafeAddr()))
}

// remote returns a function that the other process has.
func remote(kind reflect.Type, number int) reflect.Value {
	return reflect.MakeFunc(kind, func(given []reflect.Value) []reflect.Value {
		arguments := make([]reflect.Value, len(given))
		for place, one := range given {
			arguments[place] = addressable(one)
		}
		results := make([]reflect.Value, kind.NumOut())
		for place := range results {
			results[place] = reflect.New(kind.Out(place)).Elem()
		}
		call(Frame{Function: number}, arguments, results)
		return results
	})
}
