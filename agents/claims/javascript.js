"use strict";
const claims = (() => {
  const target = require("target");
  const [RELATIVE, ABSOLUTE] = [1e-6, 1e-9];
  let [given, demanded] = [[], undefined];

  // Return a value as numbers, texts and lists; what is none of them as its kind and its parts.
  function plain(value) {
    if (value === undefined || value === null) return null;
    if (typeof value === "bigint") {
      const number = Number(value);
      return Number.isFinite(number) ? number : `${value}n`;
    }
    if (typeof value !== "object") return typeof value === "function" ? "a function" : value;
    if (value instanceof Set) return { set: sorted(Array.from(value, plain)) };
    if (value instanceof Date) return value.toISOString();
    const isMap = value instanceof Map;
    if (!isMap && typeof value[Symbol.iterator] === "function") return Array.from(value, plain);
    if (value instanceof RegExp || value instanceof Error) return String(value);
    const items = isMap ? [...value] : Object.entries(value);
    const set = items.filter(([, item]) => item !== undefined);
    return { dict: sorted(set.map(([key, item]) => [String(key), plain(item)])) };
  }

  function sorted(parts) {
    return parts.map((part) => [text(part), part]).sort().map(([, part]) => part);
  }

  function alike(one, other) {
    const isNumber = (value) => typeof value === "number" || typeof value === "boolean"; // as in Python
    if (isNumber(one) && isNumber(other)) {
      [one, other] = [Number(one), Number(other)];
      const [most, apart] = [Math.max(Math.abs(one), Math.abs(other)), Math.abs(one - other)];
      if (Object.is(one, other) || apart === 0) return true;
      if (Number.isSafeInteger(one) && Number.isSafeInteger(other)) return false;
      return apart < Infinity && apart <= Math.max(ABSOLUTE, RELATIVE * most);
    }
    if (Array.isArray(one) && Array.isArray(other)) {
      return one.length === other.length && one.every((part, place) => alike(part, other[place]));
    }
    if (typeof one !== "object" || typeof other !== "object" || !one || !other) return one === other;
    const [kind] = Object.keys(one);
    return kind in other && alike(one[kind], other[kind]);
  }

  // Return a plain value as the second reader writes it, which is in Python.
  function text(value) {
    if (value === null) return "None";
    if (typeof value === "boolean") return value ? "True" : "False";
    if (Array.isArray(value)) return `[${value.map(text).join(", ")}]`;
    if (typeof value === "number" && !Number.isInteger(value)) value = Number(value.toPrecision(9));
    if (typeof value !== "object") return typeof value === "string" ? JSON.stringify(value) : String(value);
    if (value.set) return value.set.length ? `{${value.set.map(text).join(", ")}}` : "set()";
    return `{${value.dict.map(([key, item]) => `${text(key)}: ${text(item)}`).join(", ")}}`;
  }

  // Return a function of the code, which takes nothing from the adapter that is the answer already.
  function called(name) {
    return (...values) => {
      for (const value of values.map(plain)) {
        const isMade = demanded !== undefined && alike(value, demanded);
        if (isMade && !given.some((argument) => alike(argument, value))) {
          throw new Error("the adapter makes the value that is demanded");
        }
      }
      return target[name](...values);
    };
  }

  // Return what a call gives, or what the code raised by its own logic.
  async function outcome(values, wanted, look = (value) => value) {
    [given, demanded] = [values.map(plain), wanted];
    try {
      return { value: look(await claims.adapter(...values)) };
    } catch (error) {
      const lacks = error instanceof ReferenceError || error?.code === "MODULE_NOT_FOUND";
      if (lacks || String(error?.message).startsWith("the adapter makes")) throw error;
      const kind = String(error?.name ?? typeof error);
      return { raised: `raises ${kind}${kind === "TypeError" ? " in target" : ""}` };
    }
  }

  return {
    called,
    async gives(values, value) {
      const wanted = plain(value);
      const found = await outcome(values, wanted);
      const told = found.raised ?? text(plain(found.value));
      assert(!found.raised && alike(plain(found.value), wanted), `gave ${told.slice(0, 300)}`);
    },
    // Names of errors are Python's; a TypeError is what arguments of another form bring.
    async raises(values, kind) {
      const found = await outcome(values, undefined);
      const isMeant = found.raised && (kind === "TypeError" || !found.raised.endsWith(" in target"));
      assert(isMeant, `gave ${found.raised ?? text(plain(found.value)).slice(0, 300)}`);
    },
    async prints(values, value, way) {
      const parts = (all) => (way === "words" ? all.trim().split(/\s+/) : all.trim().split("\n"));
      let printed = "";
      const { write } = process.stdout;
      process.stdout.write = (chunk) => ((printed += chunk), true);
      const isGenerator = (value) => Object.prototype.toString.call(value) === "[object Generator]";
      const done = (value) => isGenerator(value) && [...value]; // it prints as it is read
      const found = await outcome(values, undefined, done);
      process.stdout.write = write;
      const told = found.raised ?? JSON.stringify(printed);
      const isAlike = alike(parts(printed), parts(String(value)));
      assert(!found.raised && isAlike, `gave ${told.slice(0, 300)}`);
    },
  };
})();
