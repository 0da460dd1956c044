// The harness of JavaScript: two processes of node, one for a test program, one for the code under
// test. They share nothing but a socket with frames of plain values, so that nothing that the code
// does to its own process (globals, prototypes, modules) reaches the asserts or the report.
//
// Both get a job as JSON on stdin. The program's process writes the report to file 3 in the form
// that `reports.py` reads, after a token that no program is told; file 4 is the socket. The code's
// process has the socket as file 3.
"use strict";
(() => {
  const names = ["assert", "fs", "module", "stream", "util", "vm"];
  const [assert, fs, modules, { Writable }, util, vm] = names.map((name) => require(name));
  const { types } = util;
  const job = JSON.parse(fs.readFileSync(0, "utf8"));
  fs.closeSync(0);
  fs.openSync("/dev/null", "r");
  process.on("SIGUSR1", () => {}); // else it opens a debugger that the other process can talk to
  for (const name of ["require", "module", "exports", "__filename", "__dirname"]) {
    delete globalThis[name];
  }
  // As they are before a program can replace them: one of them is handed the token.
  const exit = process.reallyExit.bind(process);
  const { writeSync } = fs;
  const { parse, stringify } = JSON;
  const [bytes, joined] = [Buffer.from.bind(Buffer), Buffer.concat.bind(Buffer)];
  const [FILES, TARGET, PROGRAM] = [["/tmp/"], "target.js", "program.js"];
  const [GIVEN_UP, ALONE, LARGEST] = [job.given_up, job.alone, 64 * 2 ** 20];
  const NUMBERS = { NaN, Infinity, "-Infinity": -Infinity, "-0": -0 };
  const ERRORS = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
  const ARRAYS = {
    Buffer, Uint8Array, Int8Array, Uint8ClampedArray, Uint16Array, Int16Array, Uint32Array,
    Int32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array,
  };
  const define = Object.defineProperty;

  class NotPlainError extends Error {}

  // Values on their way to the other process, as nodes that refer to each other by number. The
  // first objects are those that the other process has: they are sent with what is in them now.
  class Graph {
    constructor(known, foreign) {
      this.nodes = [];
      this.objects = [...known];
      this.places = new Map(known.map((value, place) => [value, place]));
      this.foreign = foreign;
      known.forEach((value, place) => (this.nodes[place] = null));
      known.forEach((value, place) => (this.nodes[place] = this.content(value)));
    }

    add(value) {
      switch (typeof value) {
        case "string":
        case "boolean":
          return value;
        case "number":
          if (Number.isFinite(value) && !Object.is(value, -0)) return value;
          return ["number", Object.is(value, -0) ? "-0" : String(value)];
        case "bigint":
          return ["bigint", String(value)];
        case "undefined":
          return ["undefined"];
        case "symbol":
          throw new NotPlainError("a symbol");
      }
      if (value === null) return null;
      if (!this.places.has(value)) {
        const place = this.nodes.push(null) - 1;
        this.places.set(value, place);
        this.objects[place] = value;
        this.nodes[place] = this.content(value);
      }
      return [this.places.get(value)];
    }

    content(value) {
      if (typeof value === "function" || types.isGeneratorObject(value)) return this.foreign(value);
      if (types.isProxy(value) || types.isPromise(value) || types.isBoxedPrimitive(value)) {
        throw new NotPlainError("a proxy, a promise or a wrapped value");
      }
      if (Array.isArray(value)) return ["array", Array.from(value, (item) => this.add(item))];
      if (types.isMap(value)) {
        return ["map", Array.from(value, ([key, item]) => [this.add(key), this.add(item)])];
      }
      if (types.isSet(value)) return ["set", Array.from(value, (item) => this.add(item))];
      if (types.isDate(value)) return ["date", this.add(Number(value))];
      if (types.isRegExp(value)) return ["regexp", value.source, value.flags];
      if (types.isTypedArray(value)) {
        const name = Buffer.isBuffer(value) ? "Buffer" : value[Symbol.toStringTag];
        return ["typed", name, Array.from(value, (item) => this.add(item))];
      }
      const fields = Object.keys(value).map((key) => [key, this.add(value[key])]);
      if (types.isNativeError(value)) {
        return ["error", String(value.name), String(value.message), fields];
      }
      return ["object", fields];
    }
  }

  // Values that have come from the other process: plain ones, and what `foreign` makes.
  class Reader {
    constructor(nodes, known, foreign) {
      Object.assign(this, { nodes, known, foreign, made: [] });
    }

    objects(most = this.nodes.length) {
      return this.nodes.slice(0, most).map((_, place) => this.object(place));
    }

    value(element) {
      if (!Array.isArray(element)) return element;
      if (typeof element[0] === "number") return this.object(element[0]);
      const [kind, text] = element;
      if (kind === "undefined") return undefined;
      return kind === "bigint" ? BigInt(text) : NUMBERS[text];
    }

    object(place) {
      if (place in this.made) return this.made[place];
      const [kind, ...parts] = this.nodes[place];
      const target = place < this.known.length ? this.known[place] : this.empty(kind, parts);
      this.made[place] = target;
      this.fill(kind, target, parts);
      return target;
    }

    empty(kind, parts) {
      switch (kind) {
        case "array":
          return [];
        case "map":
          return new Map();
        case "set":
          return new Set();
        case "date":
          return new Date(this.value(parts[0]));
        case "regexp":
          return new RegExp(...parts);
        case "typed":
          return ARRAYS[parts[0]].from(parts[1].map((item) => this.value(item)));
        case "object":
          return {};
        case "error": {
          const error = new (Object.hasOwn(ERRORS, parts[0]) ? ERRORS[parts[0]] : Error)(parts[1]);
          if (error.name !== parts[0]) define(error, "name", { value: parts[0] });
          return error;
        }
      }
      return this.foreign(kind, parts);
    }

    // Give an object its contents in place of those it has.
    fill(kind, target, parts) {
      if (kind === "array") {
        target.length = 0;
        parts[0].forEach((item) => target.push(this.value(item)));
      } else if (kind === "map") {
        target.clear();
        parts[0].forEach(([key, item]) => target.set(this.value(key), this.value(item)));
      } else if (kind === "set") {
        target.clear();
        parts[0].forEach((item) => target.add(this.value(item)));
      } else if (kind === "typed") {
        parts[1].forEach((item, index) => (target[index] = this.value(item)));
      } else if (kind === "date") {
        target.setTime(this.value(parts[0]));
      } else if (kind === "object" || kind === "error") {
        const fields = parts[parts.length - 1];
        const kept = new Set(fields.map(([key]) => key));
        for (const key of Object.keys(target)) if (!kept.has(key)) delete target[key];
        for (const [key, item] of fields) {
          const value = this.value(item); // no setter is called, least of all that of __proto__
          define(target, key, { value, writable: true, enumerable: true, configurable: true });
        }
      }
    }
  }

  class Channel {
    constructor(file) {
      this.file = file;
    }

    send(frame) {
      const text = bytes(stringify(frame));
      const header = Buffer.alloc(4);
      header.writeUInt32BE(text.length);
      write(this.file, joined([header, text]));
    }

    receive() {
      const size = this.read(4).readUInt32BE();
      if (size > LARGEST) throw new Error("a frame that is too large");
      return parse(this.read(size).toString());
    }

    read(size) {
      const data = Buffer.alloc(size);
      for (let done = 0; done < size; ) {
        const count = fs.readSync(this.file, data, done, size - done, null);
        if (count === 0) exit(ALONE);
        done += count;
      }
      return data;
    }
  }

  function write(file, data) {
    for (let done = 0; done < data.length; ) done += writeSync(file, data, done);
  }

  // Have what is printed written at once, so that no queue of it grows in memory.
  function print(take) {
    for (const [file, name] of ["", "stdout", "stderr"].entries()) {
      const written = (text, _, done) => (take(file, text), done());
      if (name) define(process, name, { value: new Writable({ write: written }) });
    }
  }

  // Let time of day begin where the job says, and go on from there.
  function setClock(seconds) {
    const RealDate = Date;
    const real = Date.now;
    const offset = seconds * 1000 - real();
    const now = () => real() + offset;
    const clock = new Proxy(RealDate, {
      construct: (kind, given, made) => Reflect.construct(kind, given.length ? given : [now()], made),
      apply: () => String(new RealDate(now())),
    });
    RealDate.now = now;
    RealDate.prototype.constructor = clock;
    globalThis.Date = clock;
  }

  // The process of the code under test: it answers calls. Nothing here is protected from the code,
  // which may say what it likes: it can do no more than return it.
  function serve() {
    const channel = new Channel(3);
    const functions = []; // what the program can call: functions of the code, generators
    const callbacks = new Map(); // function → its number in the program's process
    let printed = "";
    print((file, text) => (printed += text));

    function foreign(value) {
      if (callbacks.has(value)) return ["callback", callbacks.get(value)];
      if (typeof value !== "function") return ["generator", functions.push(value) - 1];
      const text = Function.prototype.toString.call(value);
      if (text.startsWith("class")) return ["unplain", "a class"];
      return ["function", functions.push(value) - 1, value.name, value.length];
    }

    function received(kind, [number]) {
      if (kind === "function") return functions[number];
      const callback = (...values) => {
        const graph = new Graph([], foreign);
        const places = values.map((value) => graph.add(value));
        channel.send({ callback: number, nodes: graph.nodes, values: places });
        const answer = channel.receive();
        const value = new Reader(answer.nodes, [], received).value(answer.value);
        if (answer.raised) throw value;
        return value;
      };
      callbacks.set(callback, number);
      return callback;
    }

    function load() {
      const names = ["exports", "require", "module", "__filename", "__dirname"];
      const made = { exports: {} };
      const given = [made.exports, modules.createRequire(FILES + TARGET), made, TARGET, "/tmp"];
      const run = vm.compileFunction(job.code, names, { filename: TARGET });
      const found = run.apply(made.exports, given);
      const exported = made.exports;
      const named = typeof exported === "function" ? { [exported.name]: exported } : {};
      const all = Object.entries({ ...named, ...exported, ...found });
      return Object.fromEntries(all.filter(([, value]) => isSent(value)));
    }

    function isSent(value) {
      try {
        return value !== undefined && new Graph([], () => ["unplain", ""]).add(value) !== undefined;
      } catch {
        return false;
      }
    }

    function done(request, values) {
      if ("load" in request) return load();
      if ("next" in request) {
        const { value, done: isOver } = functions[request.next].next();
        return [isOver, value];
      }
      return functions[request.call](...values);
    }

    async function answer(request) {
      const reader = new Reader(request.nodes, [], received);
      const known = reader.objects();
      const values = request.values.map((value) => reader.value(value));
      const told = { raised: false, promised: false, stack: "" };
      let value;
      printed = "";
      try {
        value = done(request, values);
        told.promised = types.isPromise(value);
        if (told.promised) value = await value;
      } catch (error) {
        Object.assign(told, { raised: true, stack: String(error?.stack ?? "").slice(0, 4000) });
        value = error;
      }
      try {
        const graph = new Graph(known, foreign);
        const place = graph.add(value);
        return { ...told, nodes: graph.nodes, value: place, printed };
      } catch (error) {
        return { unplain: String(error.message), nodes: [], printed };
      }
    }

    (async () => {
      for (;;) channel.send(await answer(channel.receive()));
    })();
  }

  // The process of a test program: it calls the code by stubs, runs the tests and reports.
  function runProgram() {
    const channel = new Channel(4);
    const stubs = new Map(); // function → its number in the code's process
    const callbacks = [];
    const failures = []; // of assertions, also of those that the program hides
    const counts = { tests: 0, asserts: 0, calls: 0 };
    const thrown = new Map(); // what the code raised → its stack
    let module;

    function giveUp(reason) {
      write(2, bytes(`${reason}\n`));
      exit(GIVEN_UP);
    }

    function ask(request, values) {
      const graph = new Graph([], foreign);
      const places = encoded(graph, values);
      channel.send({ ...request, nodes: graph.nodes, values: places });
      let answer = nextFrame();
      while ("callback" in answer) {
        channel.send(replied(answer));
        answer = nextFrame();
      }
      if (answer.printed) process.stdout.write(answer.printed);
      if ("unplain" in answer) giveUp(`a value that comes from the code is ${answer.unplain}`);
      const known = job.on_copies ? [] : graph.objects;
      const reader = new Reader(answer.nodes, known, received);
      let value;
      try {
        reader.objects(known.length);
        value = reader.value(answer.value);
      } catch (error) {
        giveUp(`a value that comes from the code cannot be read: ${error.message}`);
      }
      if (answer.raised) thrown.set(value, String(answer.stack));
      if (answer.promised) return answer.raised ? Promise.reject(value) : Promise.resolve(value);
      if (answer.raised) throw value;
      return value;
    }

    function nextFrame() {
      const frame = channel.receive();
      return typeof frame === "object" && frame ? frame : giveUp("the code's process sent no frame");
    }

    function encoded(graph, values) {
      try {
        return values.map((value) => graph.add(value));
      } catch (error) {
        return giveUp(`a value that goes to the code is ${error.message}`);
      }
    }

    function replied(request) {
      const reader = new Reader(request.nodes, [], received);
      const graph = new Graph([], foreign);
      let [value, raised] = [undefined, false];
      try {
        value = callbacks[request.callback](...request.values.map((item) => reader.value(item)));
      } catch (error) {
        [value, raised] = [error, true];
      }
      const [place] = encoded(graph, [value]);
      return { nodes: graph.nodes, value: place, raised };
    }

    function foreign(value) {
      if (stubs.has(value)) return ["function", stubs.get(value)];
      if (typeof value !== "function") throw new NotPlainError("a generator");
      return ["callback", callbacks.push(value) - 1];
    }

    function received(kind, [number, name, length]) {
      if (kind === "callback") return callbacks[number];
      if (kind === "generator") {
        return (function* () {
          for (;;) {
            const [isOver, value] = ask({ next: number }, []);
            if (isOver) return value;
            yield value;
          }
        })();
      }
      const stub = (...values) => {
        if (kind === "unplain") giveUp(`the program uses ${number} of the code`);
        counts.calls += 1;
        return ask({ call: number }, values);
      };
      define(stub, "name", { value: String(name) });
      define(stub, "length", { value: Number(length) || 0 });
      stubs.set(stub, number);
      return stub;
    }

    const own = modules.createRequire(FILES + PROGRAM);
    const closed = ["child_process", "inspector", "module", "repl", "v8", "vm", "worker_threads"];
    function given(name) {
      const plain = String(name).replace(/^node:/, "");
      if (/^(\.\/)?target(\.js)?$/.test(plain)) return (module ??= ask({ load: true }, []));
      if (plain === "assert") return counted;
      if (plain === "assert/strict") return counted.strict;
      if (closed.includes(plain.split("/")[0])) throw new Error(`${name} is not available in a box`);
      return own(name);
    }

    function counting(check) {
      return (...values) => {
        counts.asserts += 1;
        try {
          const result = check(...values);
          if (types.isPromise(result)) result.catch((error) => (failures[failures.length] = error));
          return result;
        } catch (error) {
          failures[failures.length] = error;
          throw error;
        }
      };
    }

    function countingAll(original) {
      const made = counting(original);
      for (const [name, check] of Object.entries(original)) {
        const isCheck = typeof check === "function" && !/^([A-Z]|strict$)/.test(name);
        made[name] = isCheck ? counting(check) : check;
      }
      return made;
    }

    const counted = countingAll(assert);
    counted.strict = countingAll(assert.strict);

    function described(error) {
      const isOfCode = thrown.has(error);
      const { name, code } = typeof error === "object" && error !== null ? error : {};
      const stack = isOfCode ? thrown.get(error) : String(error?.stack ?? error);
      const message = String(error?.message ?? error);
      const missing = code === "MODULE_NOT_FOUND" ? message.match(/'([^']*)'/)?.[1] ?? "" : "";
      const isAssertion = error instanceof assert.AssertionError && !isOfCode;
      const outcome = missing ? "import_error" : isAssertion ? "assertion_failed" : "raised";
      return { outcome, name: String(name ?? typeof error), message, missing, stack };
    }

    function field(text, most) {
      return `${text.slice(0, most).replaceAll("\0", "\\0")}`.slice(0, most) + "\0";
    }

    // Note how the program or a test ended. What decides is in plain variables: the program may
    // have replaced every function that is called here.
    let [signs, told, gravest, weight] = ["", "", "", 0];

    function failed(error) {
      const { outcome, name, message, missing, stack } = described(error);
      const its = outcome === "import_error" ? 3 : outcome === "assertion_failed" ? 2 : 1;
      if (its > weight) {
        weight = its;
        gravest = field(outcome, 20) + field(name, 500) + field(message, 2000);
        gravest += field(missing, 500);
        write(2, bytes(`${stack}\n`));
      }
      return field(outcome, 20) + field(name, 200) + field(message, 600) + field(stack, 1500);
    }

    // Write the report and end: the size first, so that half of one is none.
    function report() {
      let text = `${counts.tests} ${counts.asserts} ${counts.calls} =${signs}\n`;
      text += (weight ? "!" + gravest : "") + told;
      write(3, bytes(`${token}${bytes(text).length}\n${text}`));
      exit(0);
    }

    async function runTest(name, test) {
      const before = failures.length;
      let [isFailed, ending] = [true, ""];
      counts.tests += 1;
      try {
        await test();
        if (failures.length > before) {
          throw new Error(`an assertion failed, which the program hides: ${failures[before]}`);
        }
        isFailed = false;
      } catch (error) {
        ending = failed(error);
      }
      if (counts.tests > job.cases) return;
      signs += isFailed ? "-" : "+";
      told += field(name, 200) + ending;
    }

    print(write);
    const { token, program } = job;
    delete job.token;
    for (const name of ["binding", "_linkedBinding", "dlopen", "mainModule", "reallyExit"]) {
      define(process, name, { value: undefined });
    }
    globalThis.assert = counted;
    const declared = /^(?:(?:async\s+)?function\s+|(?:const|let|var)\s+)(test\w*)/gm;
    const names = [...new Set(Array.from(program.matchAll(declared), (found) => found[1]))];
    const pairs = names.map((name) => `[${JSON.stringify(name)}, ${name}]`).join(", ");
    (async () => {
      const made = { exports: {} };
      try {
        const parameters = ["exports", "require", "module"];
        const text = `${program}\n;return [${pairs}];`;
        const run = vm.compileFunction(text, parameters, { filename: PROGRAM });
        const tests = run.call(made.exports, made.exports, given, made);
        for (let place = 0; place < tests.length; place += 1) {
          const [name, test] = tests[place];
          if (typeof test === "function") await runTest(name, test);
        }
      } catch (error) {
        failed(error);
      }
      report();
    })();
  }

  setClock(job.clock);
  if (job.code === undefined) runProgram();
  else serve();
})();
