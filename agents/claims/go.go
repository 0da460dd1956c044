// Claims on code in Go: arguments and demanded values are JSON, in which {"dict": pairs} and
// {"set": items} are Python's, and {"number": text} is one that JSON lacks; they become what the adapter's parameters are declared as.

type claimsPair struct{ key, value any }
type claimsDict []claimsPair
type claimsSet []any

// claimsNamed is a value of a type that has texts of its own: what is in it, and that text. Of a
// duration no number says in which unit it is.
type claimsNamed struct {
	plain      any
	text       string
	isDuration bool
}

const claimsFolder = "/tmp/claim"

var (
	claimsVariables = os.Environ()
	claimsLacking   = regexp.MustCompile("no such (file|host)|permission denied|read-only file|not found in|is unreachable")
)

func claimsFail(format string, all ...any) { panic(fmt.Sprintf("the adapter: "+format, all...)) }

func claimsRead(text string) (value any) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		panic(err)
	}
	return claimsMade(value)
}

func claimsMade(value any) any {
	switch part := value.(type) {
	case []any:
		made := []any{}
		for _, item := range part {
			made = append(made, claimsMade(item))
		}
		return made
	case map[string]any:
		if text, is := part["number"].(string); is {
			return json.Number(text)
		}
		if items, is := part["set"]; is {
			return claimsSet(claimsMade(items).([]any))
		}
		made := claimsDict{}
		for _, pair := range part["dict"].([]any) {
			both := claimsMade(pair).([]any)
			made = append(made, claimsPair{both[0], both[1]})
		}
		return made
	}
	return value
}

// claimsBegin gives a claim a folder, variables and a program's arguments of its own.
func claimsBegin(surroundings string) {
	parts := claimsRead(surroundings).([]any)
	os.MkdirAll(claimsFolder, 0o777)
	old, _ := os.ReadDir(claimsFolder)
	for _, one := range old {
		os.RemoveAll(claimsFolder + "/" + one.Name())
	}
	for _, one := range parts[0].([]any) {
		file := one.([]any)
		place := claimsFolder + "/" + file[0].(string)
		if content, is := file[1].(string); is {
			data, _ := base64.StdEncoding.DecodeString(content)
			os.WriteFile(place, data, 0o666)
		} else {
			os.Mkdir(place, 0o777)
		}
		if moment, is := file[2].(json.Number); is {
			seconds, _ := moment.Float64()
			os.Chtimes(place, time.Unix(0, 0), time.UnixMicro(int64(seconds*1e6)))
		}
	}
	os.Clearenv()
	for _, one := range claimsVariables {
		name, value, _ := strings.Cut(one, "=")
		os.Setenv(name, value)
	}
	for _, one := range parts[1].([]any) {
		os.Setenv(one.([]any)[0].(string), one.([]any)[1].(string))
	}
	os.Args = []string{}
	for _, word := range parts[2].([]any) {
		os.Args = append(os.Args, word.(string))
	}
	os.Chdir(claimsFolder)
}

// claimsFill sets a variable to a value of a claim, in the form that its type asks for.
func claimsFill(to reflect.Value, value any) {
	if value == nil {
		to.Set(reflect.Zero(to.Type()))
		return
	}
	number, isNumber := value.(json.Number)
	text, isText := value.(string)
	letters := []rune(text)
	if items, is := value.(claimsSet); is && to.Kind() != reflect.Map {
		value = []any(items)
	}
	items, isList := value.([]any)
	pairs, isDict := value.(claimsDict)
	truth, isTruth := value.(bool)
	whole, notWhole := strconv.ParseInt(string(number), 10, 64)
	switch kind := to.Kind(); {
	case kind == reflect.Interface && to.NumMethod() == 0:
		to.Set(reflect.ValueOf(claimsNatural(value)))
	case to.CanInt() && isNumber && notWhole == nil && !to.OverflowInt(whole):
		to.SetInt(whole)
	case to.CanUint() && isNumber && notWhole == nil && whole >= 0 && !to.OverflowUint(uint64(whole)):
		to.SetUint(uint64(whole))
	case kind == reflect.Int32 && isText && len(letters) == 1:
		to.SetInt(int64(letters[0]))
	case kind == reflect.Uint8 && isText && len(text) == 1:
		to.SetUint(uint64(text[0]))
	case to.CanFloat() && isNumber:
		float, _ := number.Float64()
		to.SetFloat(float)
	case kind == reflect.String && isText:
		to.SetString(text)
	case kind == reflect.Bool && isTruth:
		to.SetBool(truth)
	case kind == reflect.Slice && isText && to.Type().ConvertibleTo(reflect.TypeOf("")):
		to.Set(reflect.ValueOf(text).Convert(to.Type()))
	case kind == reflect.Slice && isList:
		to.Set(reflect.MakeSlice(to.Type(), len(items), len(items)))
		fallthrough
	case kind == reflect.Array && isList && to.Len() == len(items):
		for place, item := range items {
			claimsFill(to.Index(place), item)
		}
	case kind == reflect.Map:
		if set, is := value.(claimsSet); is {
			for _, item := range set {
				pairs = append(pairs, claimsPair{item, true})
			}
		} else if !isDict {
			claimsFail("%v is no %s", claimsText(value), to.Type())
		}
		to.Set(reflect.MakeMap(to.Type()))
		for _, pair := range pairs {
			key, item := reflect.New(to.Type().Key()).Elem(), reflect.New(to.Type().Elem()).Elem()
			claimsFill(key, pair.key)
			if pair.value != true || item.Kind() != reflect.Struct {
				claimsFill(item, pair.value)
			}
			to.SetMapIndex(key, item)
		}
	case kind == reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		claimsFill(to.Elem(), value)
	default:
		claimsFail("%v is no %s", claimsText(value), to.Type())
	}
}

func claimsNatural(value any) any {
	switch part := value.(type) {
	case json.Number:
		if whole, err := strconv.Atoi(string(part)); err == nil {
			return whole
		}
		float, _ := part.Float64()
		return float
	case []any:
		made := []any{}
		for _, item := range part {
			made = append(made, claimsNatural(item))
		}
		return made
	case claimsDict:
		made := map[string]any{}
		for _, pair := range part {
			made[fmt.Sprint(pair.key)] = claimsNatural(pair.value)
		}
		return made
	}
	return value
}

// claimsPlain returns a value as numbers, texts, letters, lists and dictionaries, with the text that
// its type gives it.
func claimsPlain(value reflect.Value) any {
	if !value.IsValid() || (value.Kind() == reflect.Pointer || value.Kind() == reflect.Interface) && value.IsNil() {
		return nil
	}
	if value.CanInterface() && value.Kind() != reflect.Interface {
		switch one := value.Interface().(type) {
		case error:
			return one.Error()
		case *big.Int:
			return claimsNamed{plain: json.Number(one.String()), text: one.String()}
		case *big.Float:
			number, _ := one.Float64()
			return claimsNamed{plain: number, text: one.String()}
		case *big.Rat:
			number, _ := one.Float64()
			return claimsNamed{plain: number, text: one.RatString()}
		case time.Time:
			return one
		case fmt.Stringer:
			_, isDuration := one.(time.Duration)
			return claimsNamed{claimsParts(value), fmt.Sprint(one), isDuration}
		}
	}
	return claimsParts(value)
}

func claimsParts(value reflect.Value) any {
	switch kind := value.Kind(); {
	case kind == reflect.Bool:
		return value.Bool()
	case kind == reflect.Int32:
		return rune(value.Int())
	case value.CanInt():
		return json.Number(strconv.FormatInt(value.Int(), 10))
	case value.CanUint():
		return json.Number(strconv.FormatUint(value.Uint(), 10))
	case value.CanFloat():
		return value.Float()
	case kind == reflect.String:
		return value.String()
	case kind == reflect.Interface || kind == reflect.Pointer:
		return claimsPlain(value.Elem())
	case kind == reflect.Slice && value.Type().Elem().Kind() == reflect.Uint8 && utf8.Valid(value.Bytes()):
		return []byte(value.Bytes())
	case kind == reflect.Slice || kind == reflect.Array:
		made := []any{}
		for place := 0; place < value.Len(); place++ {
			made = append(made, claimsPlain(value.Index(place)))
		}
		return made
	case kind == reflect.Map:
		made := claimsDict{}
		for _, key := range value.MapKeys() {
			made = append(made, claimsPair{claimsPlain(key), claimsPlain(value.MapIndex(key))})
		}
		sort.Slice(made, func(one, other int) bool { return claimsText(made[one].key) < claimsText(made[other].key) })
		return made
	case kind == reflect.Struct && value.CanInterface() && value.Type().PkgPath() != "target":
		if value.NumField() > 0 {
			return claimsOpaque(value.Type().String())
		}
		return true // what the values of sets are
	case kind == reflect.Struct:
		made := claimsDict{}
		for place := 0; place < value.NumField(); place++ {
			made = append(made, claimsPair{value.Type().Field(place).Name, claimsPlain(value.Field(place))})
		}
		return made
	}
	return "a " + value.Kind().String()
}

// claimsOpaque is a value of which no claim says what is in it, by its type.
type claimsOpaque string

// claimsNumber returns a number, and the digits of one that is of a whole kind.
func claimsNumber(value any) (number float64, digits string, is bool) {
	switch part := value.(type) {
	case claimsNamed:
		return claimsNumber(part.plain)
	case bool:
		return claimsNumber(map[bool]rune{true: 1}[part])
	case rune:
		return float64(part), strconv.Itoa(int(part)), true
	case float64:
		return part, "", true
	case json.Number:
		number, err := part.Float64()
		if !strings.ContainsAny(string(part), ".eEn") {
			digits = string(part)
		}
		return number, digits, err == nil
	}
	return 0, "", false
}

func claimsList(value any) ([]any, bool) {
	made := []any{}
	switch part := value.(type) {
	case nil:
		return nil, true
	case []any:
		return part, true
	case claimsSet:
		return part, true
	case []byte:
		for _, one := range part {
			made = append(made, json.Number(strconv.Itoa(int(one))))
		}
		return made, true
	}
	return nil, false
}

func claimsAlike(found, wanted any) bool {
	text, isText := wanted.(string)
	switch part := found.(type) {
	case claimsNamed:
		if _, isOpaque := part.plain.(claimsOpaque); isText && (isOpaque || text == part.text) {
			return text == part.text
		}
		isAlike := claimsAlike(part.plain, wanted)
		if !isAlike && !isText && part.isDuration {
			claimsFail("a duration is compared with its text, or with nanoseconds")
		}
		return isAlike
	case time.Time:
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02", "15:04:05"} {
			if moment, err := time.Parse(layout, text); err == nil && isText {
				return part.Equal(moment)
			}
		}
		claimsFail("a time is compared with texts of times alone")
	case claimsOpaque:
		claimsFail("a %s is compared with nothing", string(part))
	}
	one, digits, isOne := claimsNumber(found)
	other, others, isOther := claimsNumber(wanted)
	if isOne && isOther {
		if digits != "" && others != "" {
			return digits == others
		}
		apart, most := math.Abs(one-other), math.Max(math.Abs(one), math.Abs(other))
		isNone := math.IsNaN(one) && math.IsNaN(other)
		return one == other || isNone || apart < math.Inf(1) && apart <= math.Max(1e-9, 1e-6*most)
	}
	if isText {
		switch part := found.(type) {
		case string:
			return part == text
		case []byte:
			return string(part) == text
		case rune:
			return string(part) == text
		case []any:
			letters := []rune(text)
			for place, one := range part {
				if letter, is := one.(rune); !is || place >= len(letters) || letter != letters[place] {
					return false
				}
			}
			return len(part) == len(letters) && len(part) > 0
		}
		return false
	}
	if set, is := wanted.(claimsSet); is {
		items, isList := claimsList(found)
		if pairs, isDict := found.(claimsDict); isDict {
			isList = true
			for _, pair := range pairs {
				if pair.value != false {
					items = append(items, pair.key)
				}
			}
		}
		return isList && len(items) == len(set) && claimsWithin(items, set) && claimsWithin(set, items)
	}
	if pairs, is := wanted.(claimsDict); is {
		all, isDict := found.(claimsDict)
		for _, pair := range pairs {
			isDict = isDict && claimsHas(all, pair)
		}
		return (isDict && len(all) == len(pairs)) || (found == nil && len(pairs) == 0)
	}
	if pairs, is := found.(claimsDict); is && wanted == nil {
		return len(pairs) == 0
	}
	items, isList := claimsList(found)
	parts, areParts := claimsList(wanted)
	if !isList || !areParts || len(items) != len(parts) {
		return false
	}
	for place := range items {
		if !claimsAlike(items[place], parts[place]) {
			return false
		}
	}
	return true
}

func claimsHas(all claimsDict, pair claimsPair) bool {
	for _, one := range all {
		name, isName := one.key.(string)
		wanted, isWanted := pair.key.(string)
		isKey := claimsAlike(one.key, pair.key) || isName && isWanted &&
			strings.EqualFold(name, strings.ReplaceAll(wanted, "_", ""))
		if isKey && claimsAlike(one.value, pair.value) {
			return true
		}
	}
	return false
}

func claimsWithin(items, others []any) bool {
	for _, item := range items {
		isIn := false
		for _, other := range others {
			isIn = isIn || claimsAlike(item, other) || claimsAlike(other, item)
		}
		if !isIn {
			return false
		}
	}
	return true
}

// claimsText returns a plain value as the second reader writes it, which is in Python.
func claimsText(value any) string {
	parts := []string{}
	switch part := value.(type) {
	case nil:
		return "None"
	case bool:
		return map[bool]string{true: "True", false: "False"}[part]
	case string:
		return strconv.Quote(part)
	case []byte:
		return strconv.Quote(string(part))
	case claimsNamed:
		if _, _, isNumber := claimsNumber(part.plain); isNumber {
			return claimsText(part.plain)
		}
		return strconv.Quote(part.text)
	case time.Time:
		return strconv.Quote(part.Format(time.RFC3339))
	case claimsOpaque:
		return "a " + string(part)
	case claimsDict:
		for _, pair := range part {
			parts = append(parts, claimsText(pair.key)+": "+claimsText(pair.value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	items, isList := claimsList(value)
	for _, item := range items {
		parts = append(parts, claimsText(item))
	}
	if isList {
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(value)
}

// claimsSuits returns whether a plain value is one of some, or a text with words in order, or of a
// pattern.
func claimsSuits(found any, way string, wanted any) bool {
	if way == "one of" {
		for _, one := range wanted.([]any) {
			if claimsAlike(found, one) {
				return true
			}
		}
		return false
	}
	if way != "contains" && way != "matches" {
		return claimsAlike(found, wanted)
	}
	lines, isLines := found.([]any)
	for place, one := range lines {
		line, isText := one.(string)
		if isLines = isLines && isText; isLines && place > 0 {
			line = found.(string) + "\n" + line
		}
		found = line
	}
	text, isText := found.(string)
	if data, is := found.([]byte); is {
		text, isText = string(data), true
	}
	if named, is := found.(claimsNamed); is {
		text, isText = named.text, true
	}
	if way == "matches" {
		return isText && regexp.MustCompile(`\A(?:`+wanted.(string)+`)\z`).MatchString(text)
	}
	isWord := regexp.MustCompile(`\A\w`)
	for _, word := range strings.Fields(wanted.(string)) {
		pattern := regexp.QuoteMeta(word)
		if isWord.MatchString(word) {
			pattern = `\b` + pattern
		}
		if isWord.MatchString(word[len(word)-1:]) {
			pattern += `\b`
		}
		place := regexp.MustCompile(pattern).FindStringIndex(text)
		if place == nil {
			return false
		}
		text = text[place[1]:]
	}
	return isText
}

// claimsLined returns a printed text or a file's without blanks at the ends of its lines.
func claimsLined(text string) string {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	for place, line := range lines {
		lines[place] = strings.TrimRightFunc(line, unicode.IsSpace)
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// claimsContent returns a file's content, nil where there is none.
func claimsContent(name string, isText bool) any {
	found, err := os.Stat(claimsFolder + "/" + name)
	if err != nil {
		return nil
	}
	if found.IsDir() {
		return "a folder"
	}
	if !found.Mode().IsRegular() {
		return "no file"
	}
	data, _ := os.ReadFile(claimsFolder + "/" + name)
	if isText {
		return claimsLined(string(data))
	}
	return base64.StdEncoding.EncodeToString(data)
}

// claimsOutcome returns what the adapter gives, what was printed, and what the code raised; one that
// is to raise may do so for want of a file.
func claimsOutcome(arguments string, mayLack bool) (value any, printed, raised string) {
	adapter := reflect.ValueOf(answer)
	given := claimsRead(arguments).([]any)
	if len(given) != adapter.Type().NumIn() {
		claimsFail("it takes %d arguments, not %d", adapter.Type().NumIn(), len(given))
	}
	made := []reflect.Value{}
	for place, one := range given {
		argument := reflect.New(adapter.Type().In(place)).Elem()
		claimsFill(argument, one)
		made = append(made, argument)
	}
	file, _ := os.CreateTemp("", "")
	real := os.Stdout
	os.Stdout = file
	var results []reflect.Value
	func() {
		defer func() {
			if fault := recover(); fault != nil {
				raised = "raises panic"
				if strings.Contains(fmt.Sprint(fault), "nil pointer") {
					raised = "raises panic in target"
				}
			}
		}()
		results = adapter.Call(made)
	}()
	os.Stdout = real
	data, _ := os.ReadFile(file.Name())
	if last := len(results) - 1; last >= 0 && adapter.Type().Out(last).String() == "error" {
		if err, is := results[last].Interface().(error); is {
			if raised = "raises error"; !mayLack && claimsLacking.MatchString(err.Error()) {
				panic(err)
			}
		}
		results = results[:last]
	}
	all := []any{}
	for _, result := range results {
		all = append(all, claimsPlain(result))
	}
	value = all
	if len(all) == 1 {
		value = all[0]
	}
	return value, string(data), raised
}

func claimsGives(t *testing.T, arguments, demanded, way string) {
	value, _, raised := claimsOutcome(arguments, false)
	if raised != "" {
		t.Fatal("gave " + raised)
	}
	if !claimsSuits(value, way, claimsRead(demanded)) {
		t.Fatalf("gave %.300s", claimsText(value))
	}
}

// Names of errors are Python's: any error is meant by them, and no use of nothing.
func claimsRaises(t *testing.T, arguments, _, _ string) {
	value, _, raised := claimsOutcome(arguments, true)
	if raised == "" {
		raised = claimsText(value)
	}
	if !strings.HasPrefix(raised, "raises ") || strings.HasSuffix(raised, " in target") {
		t.Fatalf("gave %.300s", raised)
	}
}

func claimsWrites(t *testing.T, arguments, demanded, _ string) {
	_, _, raised := claimsOutcome(arguments, false)
	if raised != "" {
		t.Fatal("gave " + raised)
	}
	found, wanted := []any{}, []any{}
	for _, one := range claimsRead(demanded).([]any) {
		file := one.([]any)
		content, isText := file[1].(string)
		if isText && file[2] == true {
			data, _ := base64.StdEncoding.DecodeString(content)
			file[1] = claimsLined(string(data))
		}
		wanted = append(wanted, file[:2])
		found = append(found, []any{file[0], claimsContent(file[0].(string), file[2] == true)})
	}
	if !claimsAlike(found, wanted) {
		t.Fatalf("gave %.300s", claimsText(found))
	}
}

func claimsPrints(t *testing.T, arguments, demanded, way string) {
	_, printed, raised := claimsOutcome(arguments, false)
	if raised != "" {
		t.Fatal("gave " + raised)
	}
	parts := claimsLined
	if way == "words" {
		parts = func(text string) string { return strings.Join(strings.Fields(text), " ") }
	}
	wanted := claimsRead(demanded)
	if texts, is := wanted.([]any); is {
		for place, one := range texts {
			texts[place] = parts(one.(string))
		}
	} else if way == "words" || way == "lines" {
		wanted = parts(wanted.(string))
	}
	if !claimsSuits(parts(printed), way, wanted) {
		t.Fatalf("gave %.300s", strconv.Quote(printed))
	}
}
