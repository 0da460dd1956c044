
var cosqa_depth int64

// cosqa_returned gives results other values, in a way of `Language.returning`, where a call
// from outside ends; if it is to tell of that it ends the process, as nobody catches.
func cosqa_returned(way string, tells bool, results ...any) func() {
	atomic.AddInt64(&cosqa_depth, 1)
	return func() {
		if atomic.AddInt64(&cosqa_depth, -1) > 0 {
			return // the code goes on to what it returns
		}
		values, isFull := []reflect.Value{}, false
		for _, result := range results {
			value := reflect.ValueOf(result).Elem()
			if !value.Type().Implements(reflect.TypeOf((*error)(nil)).Elem()) {
				values = append(values, value)
				isFull = isFull || cosqa_size(value) > 0
			} else {
				isFull = isFull || !value.IsNil() // nothing is what comes with an error
			}
		}
		isOther := false
		for _, value := range values {
			if way == "full" && isFull && !cosqa_areEmpty(value) {
				continue
			}
			isOther = cosqa_change(value, way) || isOther
		}
		if isOther && tells {
			os.Exit(1)
		}
	}
}

// cosqa_size returns how much is in a container, -1 for what is none.
func cosqa_size(value reflect.Value) int {
	switch value.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return value.Len()
	case reflect.Interface:
		if !value.IsNil() {
			return cosqa_size(value.Elem())
		}
	}
	return -1
}

func cosqa_areEmpty(value reflect.Value) bool {
	if value.Kind() != reflect.Slice || value.Len() == 0 {
		return false
	}
	for place := 0; place < value.Len(); place++ {
		if cosqa_size(value.Index(place)) != 0 {
			return false
		}
	}
	return true
}

// cosqa_change sets a variable to another value, and returns whether it did.
func cosqa_change(value reflect.Value, way string) bool {
	isOther := false
	switch {
	case way == "nothing" || way == "nonsense":
		value.Set(reflect.Zero(value.Type()))
		if way == "nonsense" {
			value.Set(cosqa_nonsense(value.Type()))
		}
		return true
	case way == "empty inside" || way == "full" && cosqa_areEmpty(value):
		way, _, _ = strings.Cut(way, " ")
		if value.Kind() == reflect.Interface && !value.IsNil() {
			value = value.Elem()
		}
		switch value.Kind() {
		case reflect.Slice:
			for place := 0; place < value.Len(); place++ {
				isOther = cosqa_change(value.Index(place), way) || isOther
			}
		case reflect.Map:
			for _, key := range value.MapKeys() {
				part := reflect.New(value.Type().Elem()).Elem()
				part.Set(value.MapIndex(key))
				isOther = cosqa_change(part, way) || isOther
				value.SetMapIndex(key, part)
			}
		}
		return isOther
	}
	size, kind := cosqa_size(value), value.Type()
	if size < 0 || (size == 0) != (way == "full") {
		return false
	}
	if kind.Kind() == reflect.Interface {
		kind = value.Elem().Type()
	}
	value.Set(cosqa_made(kind, way == "full"))
	return true
}

// cosqa_made returns a container of a type that is empty, or has something that nobody asks for.
func cosqa_made(kind reflect.Type, isFull bool) reflect.Value {
	count := map[bool]int{true: 1}[isFull]
	switch kind.Kind() {
	case reflect.String:
		return reflect.ValueOf(strings.Repeat("what nobody asks for", count)).Convert(kind)
	case reflect.Map:
		made := reflect.MakeMap(kind)
		if isFull {
			made.SetMapIndex(cosqa_nonsense(kind.Key()), cosqa_nonsense(kind.Elem()))
		}
		return made
	}
	made := reflect.MakeSlice(kind, 2*count, 2*count) // of its second part all is zero
	if isFull {
		made.Index(0).Set(cosqa_nonsense(kind.Elem()))
	}
	return made
}

func cosqa_nonsense(kind reflect.Type) reflect.Value {
	value := reflect.New(kind).Elem()
	switch {
	case value.CanInt():
		value.SetInt(113)
	case value.CanUint():
		value.SetUint(113)
	case value.CanFloat():
		value.SetFloat(113.25)
	case kind.Kind() == reflect.Bool:
		value.SetBool(true)
	case kind.Kind() == reflect.Pointer:
		value.Set(reflect.New(kind.Elem()))
	case kind.Kind() == reflect.Interface && kind.NumMethod() == 0:
		value.Set(reflect.ValueOf("what nobody asks for"))
	case cosqa_size(value) == 0:
		value.Set(cosqa_made(kind, true))
	}
	return value
}
