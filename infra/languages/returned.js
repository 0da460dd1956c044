// Return the code's functions so that they return something else, in a way of
// `Language.returning`. Where they are to tell of it they end the process, as nobody catches.
function cosqa_returned(functions, way, tells) {
  const words = "what nobody asks for";
  const nonsense = { [words]: words };
  const generators = Object.getPrototypeOf(function* () {}).prototype;
  const none = Object.getPrototypeOf({});
  let isOther = false;

  function isPlain(value) {
    return Object(value) === value && [none, null].includes(Object.getPrototypeOf(value));
  }

  function size(value) {
    if (typeof value === "string" || Array.isArray(value) || ArrayBuffer.isView(value)) {
      return value.length;
    }
    if (value instanceof Map || value instanceof Set) return value.size;
    return isPlain(value) ? Object.keys(value).length : undefined;
  }

  // Return a container of a value's kind with other parts.
  function made(value, parts) {
    isOther = true;
    if (typeof value === "string") return parts.length ? words : "";
    if (Array.isArray(value)) return parts;
    if (value instanceof Set) return new Set(parts);
    if (value instanceof Map) return new Map(parts.map((part) => [part, part]));
    return isPlain(value) ? { ...parts } : value.constructor.from(parts.map(() => 113));
  }

  function* generated(parts, rest) {
    yield* parts;
    yield* rest;
  }

  function changed(value, isToBe, parts) {
    if (!(Object(value) === value && generators.isPrototypeOf(value))) {
      return isToBe(size(value)) ? made(value, parts) : value;
    }
    const { done, value: first } = value.next();
    isOther ||= isToBe(done ? 0 : 1);
    return isToBe(done ? 0 : 1) ? generated(parts, []) : generated(done ? [] : [first], value);
  }

  const emptied = (value) => changed(value, (count) => count > 0, []);
  const filled = (value) => changed(value, (count) => count === 0, [nonsense, 113, words]);

  function inside(value) {
    if (Array.isArray(value)) return value.map(emptied);
    const pairs = value instanceof Map ? [...value] : isPlain(value) ? Object.entries(value) : [];
    if (pairs.some(([, part]) => size(part) === undefined)) return value; // it is a record
    const others = pairs.map(([key, part]) => [key, emptied(part)]);
    return value instanceof Map ? new Map(others) : isPlain(value) ? Object.fromEntries(others) : value;
  }

  function full(value) {
    const areEmpty = Array.isArray(value) && value.length && value.every((part) => size(part) === 0);
    return areEmpty ? value.map(filled) : filled(value);
  }

  const other = {
    empty: emptied,
    "empty inside": inside,
    full,
    nothing: () => undefined,
    nonsense: (value) => (value === undefined ? value : nonsense),
  }[way];

  function returned(value) {
    if (value instanceof Promise) return value.then(returned);
    const found = other(value);
    if (tells && isOther) process.reallyExit(1);
    return found;
  }

  const exported = module.exports;
  const isOne = typeof exported === "function";
  const own = isOne ? { [exported.name]: exported, exports: exported } : exported;
  const all = Object.entries({ ...own, ...functions }).map(([name, value]) => {
    const isCalled = typeof value === "function" && !/^class\b/.test(String(value));
    return [name, isCalled ? (...values) => returned(value(...values)) : value];
  });
  return Object.fromEntries(all);
}
