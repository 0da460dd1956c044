"use strict";
const claims = (() => {
  const [target, fs] = [require("target"), require("fs")];
  const [RELATIVE, ABSOLUTE] = [1e-6, 1e-9];
  const [FOLDER, LONGEST, MOST_PARTS] = ["/tmp/claim", 100_000, 10_000];
  const VARIABLES = { ...process.env };
  let [given, demanded] = [[], []]; // arguments, and values that no adapter may make

  // Return a value as numbers, texts and lists; what is none of them as its kind and its parts.
  function plain(value) {
    if (value === undefined || value === null) return null;
    if (typeof value === "bigint") {
      const number = Number(value);
      return Number.isFinite(number) ? number : `${value}n`;
    }
    if (typeof value !== "object") return typeof value === "function" ? "a function" : value;
    if (value instanceof Set) return { set: sorted(Array.from(value, plain)) };
    if (value instanceof Date) return value;
    const isMap = value instanceof Map;
    if (!isMap && typeof value[Symbol.iterator] === "function") {
      const made = [];
      for (const part of value) if (made.push(part) === MOST_PARTS) break;
      return made.map(plain);
    }
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
    if (one instanceof Date) return Number(one) === Number(other instanceof Date ? other : momentOf(other));
    if (typeof one !== "object" || typeof other !== "object" || !one || !other) return one === other;
    const [kind] = Object.keys(one);
    return kind in other && alike(one[kind], other[kind]);
  }

  // Return the moment that a text of a date says, NaN for any other value.
  function momentOf(value) {
    return typeof value === "string" ? Date.parse(value) : NaN;
  }

  // Return whether a plain value is one of some, or a text with words in order, or of a pattern.
  function suits(value, way, wanted) {
    if (way === "") return alike(value, wanted);
    if (way === "one of") return wanted.some((one) => alike(value, one));
    if (Array.isArray(value) && value.every((part) => typeof part === "string")) value = value.join("\n");
    if (typeof value !== "string") return false;
    if (way === "matches") return new RegExp(`^(?:${wanted})$`).test(value);
    let place = 0;
    return wanted.split(/\s+/).filter(Boolean).every((word) => {
      const [begin, end] = [word, word.slice(-1)].map((one) => (/^\w/.test(one) ? "\\b" : ""));
      const found = new RegExp(begin + word.replace(/\W/g, "\\$&") + end, "g");
      found.lastIndex = place;
      const isFound = found.test(value);
      place = found.lastIndex;
      return isFound;
    });
  }

  // Return a printed text or a file's without blanks at the ends of its lines.
  function lined(text) {
    return text.split(/\r\n|[\r\n]/).map((line) => line.trimEnd()).join("\n").replace(/\n+$/, "");
  }

  function contentOf(path, isText) {
    const place = `${FOLDER}/${path}`;
    const found = fs.statSync(place, { throwIfNoEntry: false });
    if (!found) return null;
    if (found.isDirectory()) return "a folder";
    if (!found.isFile()) return "no file";
    const data = fs.readFileSync(place).subarray(0, LONGEST);
    return isText ? lined(data.toString()) : data.toString("base64");
  }

  // Return a plain value as the second reader writes it, which is in Python.
  function text(value) {
    if (value === null) return "None";
    if (typeof value === "boolean") return value ? "True" : "False";
    if (Array.isArray(value)) return `[${value.map(text).join(", ")}]`;
    if (value instanceof Date) return text(Number.isNaN(Number(value)) ? "Invalid Date" : value.toISOString());
    if (typeof value === "number" && !Number.isInteger(value)) value = Number(value.toPrecision(9));
    if (typeof value !== "object") return typeof value === "string" ? JSON.stringify(value) : String(value);
    if (value.set) return value.set.length ? `{${value.set.map(text).join(", ")}}` : "set()";
    return `{${value.dict.map(([key, item]) => `${text(key)}: ${text(item)}`).join(", ")}}`;
  }

  // Return a function of the code, which takes nothing from the adapter that is the answer already.
  function called(name) {
    return (...values) => {
      for (const value of values.map(plain)) {
        const isMade = demanded.some((one) => alike(value, one));
        if (isMade && !given.some((argument) => alike(argument, value))) {
          throw new Error("the adapter makes the value that is demanded");
        }
      }
      return target[name](...values);
    };
  }

  // Return the parts that a generator gives, which does its work as they are read.
  async function read(value) {
    if (!/Generator\]$/.test(Object.prototype.toString.call(value))) return value;
    const made = [];
    for await (const part of value) if (made.push(part) === MOST_PARTS) break;
    return made;
  }

  // Return what a call gives, or what the code raised by its own logic.
  async function outcome(values, wanted = [], mayLack = false) {
    [given, demanded] = [values.map(plain), wanted];
    try {
      return { value: await read(await claims.adapter(...values)) };
    } catch (error) {
      const lacksFile = error?.syscall !== undefined && !mayLack;
      const lacks = lacksFile || error instanceof ReferenceError || error?.code === "MODULE_NOT_FOUND";
      if (lacks || String(error?.message).startsWith("the adapter makes")) throw error;
      const kind = String(error?.name ?? typeof error);
      return { raised: `raises ${kind}${kind === "TypeError" ? " in target" : ""}` };
    }
  }

  return {
    called,
    // Begin with a folder, variables and a program's arguments of its own.
    begin([files, variables, words]) {
      fs.mkdirSync(FOLDER, { recursive: true });
      for (const name of fs.readdirSync(FOLDER)) fs.rmSync(`${FOLDER}/${name}`, { recursive: true });
      for (const [path, content, time] of files) {
        const place = `${FOLDER}/${path}`;
        if (content === null) fs.mkdirSync(place);
        else fs.writeFileSync(place, Buffer.from(content, "base64"));
        if (time !== null) fs.utimesSync(place, 0, time);
      }
      for (const name of Object.keys(process.env)) delete process.env[name];
      Object.assign(process.env, VARIABLES, Object.fromEntries(variables));
      process.argv.splice(1, Infinity, ...words);
      process.chdir(FOLDER);
    },
    async gives(values, value, way) {
      const wanted = plain(value);
      const { value: made, raised } = await outcome(values, way === "one of" ? wanted : [wanted]);
      const found = plain(made);
      const isHeld = !raised && suits(found, way, wanted);
      const isOpen = found instanceof Date && !isHeld && Number.isNaN(momentOf(wanted));
      if (isOpen) throw new Error("a date is compared with texts of dates alone");
      assert(isHeld, `gave ${(raised ?? text(found)).slice(0, 300)}`);
    },
    // Names of errors are Python's; a TypeError is what arguments of another form bring.
    async raises(values, kind) {
      const found = await outcome(values, [], true);
      const isMeant = found.raised && (kind === "TypeError" || !found.raised.endsWith(" in target"));
      assert(isMeant, `gave ${(found.raised ?? text(plain(found.value))).slice(0, 300)}`);
    },
    async writes(values, files) {
      const { raised } = await outcome(values);
      const wanted = files.map(([path, content, isText]) => {
        return [path, isText ? lined(Buffer.from(content, "base64").toString()) : content];
      });
      const found = files.map(([path, , isText]) => [path, contentOf(path, isText)]);
      assert(!raised && alike(found, wanted), `gave ${(raised ?? text(found)).slice(0, 300)}`);
    },
    async prints(values, value, way) {
      let printed = "";
      const { write } = process.stdout;
      process.stdout.write = (chunk) => ((printed += chunk), true);
      const { raised } = await outcome(values);
      process.stdout.write = write;
      const parts = (all) => (way === "words" ? all.trim().split(/\s+/) : lined(all));
      const isByParts = way === "words" || way === "lines";
      const wanted = isByParts ? parts(value) : way === "one of" ? value.map(parts) : value;
      const isHeld = suits(parts(printed), isByParts ? "" : way, wanted);
      assert(!raised && isHeld, `gave ${(raised ?? JSON.stringify(printed)).slice(0, 300)}`);
    },
  };
})();
