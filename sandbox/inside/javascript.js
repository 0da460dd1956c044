// The harness of JavaScript: two processes of node, one for a test program, one for the code under
// test. They share nothing but a socket with frames of plain values, so that nothing that the code
// does to its own process (globals, prototypes, modules) reaches the asserts or the report.
//
// A call waits for its answer, and nothing else happens in its process meanwhile; what comes from
// the other one between calls (promises that are settled, callbacks) comes by the event loop. Timers
// of both run by one clock and in one order, which the program's process keeps. The clock is that of
// what the processes compute, so that nothing depends on what else the machine does: each frame
// carries its sender's time, and where both only wait, it is put forward to the next timer.
//
// Both get a job as JSON on stdin. The program's process writes the report to file 3 in the form
// that `processes.py` reads, after a token that no program is told; file 4 is the socket. The code's
// process has the socket as file 3.
"use strict";
(() => {
  const names = ["assert", "fs", "module", "net", "stream", "timers", "timers/promises", "util", "vm"];
  const [assert, fs, modules, { Socket }, { Writable }, timers, promises, util, vm] = names.map(
    (name) => require(name),
  );
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
  const { readSync, writeSync } = fs;
  const { parse, stringify } = JSON;
  const [bytes, joined] = [Buffer.from.bind(Buffer), Buffer.concat.bind(Buffer)];
  const [sleep, cell] = [Atomics.wait, new Int32Array(new SharedArrayBuffer(4))];
  const [soon, later, then] = [setImmediate, setTimeout, Promise.prototype.then];
  const active = process.getActiveResourcesInfo.bind(process);
  const [FILES, TARGET, PROGRAM] = [["/tmp/"], "target.js", "program.js"];
  const [GIVEN_UP, ALONE, LARGEST] = [job.given_up, job.alone, 64 * 2 ** 20];
  const [LOAD, STATE, FIRE, SURROUND] = [0, 1, 2, 3]; // the first functions that the code's process hands out
  const [RETURNED, RAISED, WAIT] = [0, 1, 1];
  const MOST_GIVEN = 1000; // of a generator's objects of which it is told what becomes of them
  const NUMBERS = new Map([["NaN", NaN], ["Infinity", Infinity], ["-Infinity", -Infinity], ["-0", -0]]);
  const named = (...all) => new Map(all.map((kind) => [kind.name, kind]));
  const ERRORS = named(EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError);
  const ARRAYS = named(
    Uint8Array, Int8Array, Uint8ClampedArray, Uint16Array, Int16Array, Uint32Array, Int32Array,
    Float32Array, Float64Array, BigInt64Array, BigUint64Array,
  ).set("Buffer", Buffer);
  const PLAIN = new Set(["array", "map", "set", "date", "typed", "object", "error"]);
  const define = Object.defineProperty;

  class NotPlainError extends Error {}

  // What is node's own stays as it is, wherever the program hands it.
  const BUILT_IN = new Set([globalThis, process]);
  function protect(owner) {
    BUILT_IN.add(owner);
    for (const { value } of Object.values(Object.getOwnPropertyDescriptors(owner))) {
      BUILT_IN.add(value).add(typeof value === "function" ? value.prototype : value);
    }
  }
  protect(globalThis);

  // Return what a value is here, which the other process cannot change.
  function kindOf(value) {
    if (typeof value === "function") return "function";
    if (value instanceof Timer || value instanceof TimerThere) return "timer";
    if (types.isPromise(value)) return "promise";
    if (types.isProxy(value) || types.isBoxedPrimitive(value)) {
      throw new NotPlainError("a proxy or a wrapped value");
    }
    if (Array.isArray(value)) return "array";
    if (types.isMap(value)) return "map";
    if (types.isSet(value)) return "set";
    if (types.isDate(value)) return "date";
    if (types.isRegExp(value)) return "regexp";
    if (types.isTypedArray(value)) return "typed";
    if (types.isNativeError(value)) return "error";
    if (typeof value.next !== "function") return "object";
    if (Symbol.asyncIterator in value) return "async generator";
    return Symbol.iterator in value ? "generator" : "object";
  }

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
          return ["undefined", ""];
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

    all(values) {
      return Array.from(values, (value) => this.add(value));
    }

    fields(value) {
      return Object.keys(value).map((key) => [key, this.add(value[key])]);
    }

    content(value) {
      const kind = kindOf(value);
      switch (kind) {
        case "array":
        case "set":
          return [kind, this.all(value)];
        case "map":
          return [kind, Array.from(value, (pair) => this.all(pair))];
        case "date":
          return [kind, this.add(Number(value))];
        case "regexp":
          return [kind, value.source, value.flags];
        case "typed":
          return [kind, Buffer.isBuffer(value) ? "Buffer" : value[Symbol.toStringTag], this.all(value)];
        case "error":
          return [kind, String(value.name), String(value.message), this.fields(value)];
        case "object":
          return [kind, this.fields(value)];
      }
      return this.foreign(kind, value, this);
    }
  }

  // What a frame may hold. Every one is held against this before anything in it is used, and no
  // text in it is used as a name of what this process has.
  const isText = (part) => typeof part === "string";
  const isCount = (part) => Number.isSafeInteger(part) && part >= 0;
  const isMany = (check) => (parts) => Array.isArray(parts) && parts.every((part) => check(part));
  const isRow = (...checks) => (parts) =>
    Array.isArray(parts) && parts.length === checks.length && checks.every((check, n) => check(parts[n]));
  const isPlace = isRow(isCount);
  const isWord = isRow(isText, isText);
  const isValue = (part) =>
    part === null || ["string", "number", "boolean"].includes(typeof part) || isPlace(part) || isWord(part);
  const isValues = isMany(isValue);
  const isFields = isMany(isRow(isText, isValue));
  const NODES = new Map([
    ["array", [isValues]], ["set", [isValues]], ["map", [isMany(isRow(isValue, isValue))]],
    ["date", [isValue]], ["regexp", [isText, isText]], ["typed", [isText, isValues]],
    ["object", [isFields]], ["error", [isText, isText, isFields]],
    ["function", [isCount, isText, isCount, isFields]], ["generator", [isCount]],
    ["async generator", [isCount]], ["promise", [isCount]], ["timer", [isCount]], ["own", [isCount]], ["unplain", [isText]],
  ]);
  const isNode = (node) =>
    node === null || (Array.isArray(node) && NODES.has(node[0]) && isRow(isText, ...NODES.get(node[0]))(node));
  const isFrame = isRow(isText, isCount, isCount, isCount, isValues, isMany(isNode), isCount);

  // Values that have come from the other process: plain ones, and what `foreign` makes.
  class Reader {
    constructor(nodes, known, foreign) {
      Object.assign(this, { nodes, known, foreign, made: new Map() });
    }

    objects(most = this.nodes.length) {
      return this.nodes.slice(0, most).map((_, place) => this.object(place));
    }

    value(element) {
      if (!Array.isArray(element)) return element;
      if (element.length === 1) return this.object(element[0]);
      const [kind, text] = element;
      if (kind === "bigint") return BigInt(text);
      if (kind === "number" && NUMBERS.has(text)) return NUMBERS.get(text);
      if (kind === "undefined") return undefined;
      throw new NotPlainError("of no kind");
    }

    values(elements) {
      return elements.map((element) => this.value(element));
    }

    object(place) {
      if (this.made.has(place)) return this.made.get(place);
      if (place >= this.nodes.length) throw new NotPlainError("missing");
      const node = this.nodes[place];
      const isKnown = place < this.known.length;
      const [kind, ...parts] = node ?? [];
      const target = isKnown ? this.known[place] : this.empty(kind, parts);
      this.made.set(place, target);
      if (!isKnown || this.canFill(node, target)) this.fill(kind, target, parts);
      return target;
    }

    // An object that was here before is what it was: only its contents can be others.
    canFill(node, target) {
      const kind = kindOf(target);
      if (node === null || !PLAIN.has(kind) || BUILT_IN.has(target) || Object.isFrozen(target)) return false;
      if (kind !== node[0]) throw new NotPlainError(`${node[0]} in place of ${kind}`);
      return true;
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
          return new Date(0);
        case "regexp":
          return new RegExp(...parts);
        case "typed":
          return ARRAYS.get(parts[0]).from(this.values(parts[1]));
        case "object":
          return {};
        case "error": {
          const error = new (ERRORS.get(parts[0]) ?? Error)(parts[1]);
          if (error.name !== parts[0]) define(error, "name", { value: parts[0] });
          return error;
        }
      }
      return this.foreign(kind, parts, this);
    }

    // Give an object its contents in place of those it has.
    fill(kind, target, parts) {
      if (kind === "array") {
        target.length = 0;
        for (const item of parts[0]) target.push(this.value(item));
      } else if (kind === "map") {
        target.clear();
        for (const [key, item] of parts[0]) target.set(this.value(key), this.value(item));
      } else if (kind === "set") {
        target.clear();
        for (const item of parts[0]) target.add(this.value(item));
      } else if (kind === "typed") {
        parts[1].forEach((item, index) => (target[index] = this.value(item)));
      } else if (kind === "date") {
        target.setTime(this.value(parts[0]));
      } else if (kind === "object" || kind === "error" || kind === "function") {
        this.fillFields(target, parts[parts.length - 1]);
      }
    }

    fillFields(target, fields) {
      const kept = new Set(fields.map(([key]) => key));
      for (const key of Object.keys(target)) if (!kept.has(key)) delete target[key];
      for (const [key, item] of fields) {
        const value = this.value(item); // no setter is called, least of all that of __proto__
        if (Object.getOwnPropertyDescriptor(target, key)?.get) continue;
        define(target, key, { value, writable: true, enumerable: true, configurable: true });
      }
    }
  }

  // The way to the other process. Frames that nobody waits for come by the event loop, one a turn.
  class Channel {
    constructor(file, handle, refuse) {
      Object.assign(this, { file, handle, refuse, frames: [], parts: [], size: 0, isWaking: false });
      const socket = new Socket({ fd: file, readable: true, writable: false });
      this.pipe = socket._handle;
      socket.on("data", (data) => (this.take(data), this.wake())).on("close", () => exit(ALONE));
    }

    send(...frame) {
      const text = bytes(stringify([...frame, Math.ceil(now() * 1000)]));
      const header = Buffer.alloc(4);
      header.writeUInt32BE(text.length);
      const data = joined([header, text]);
      for (let [done, waits] = [0, 0]; done < data.length; ) {
        const size = this.attempt(() => writeSync(this.file, data, done));
        if (size) done += size;
        else if (!this.pull()) pause((waits += 1)); // the other process may be writing, too
      }
    }

    // Return the next frame; nothing else happens in this process until it is there.
    receive() {
      while (!this.frames.length) {
        if (this.pull()) continue;
        this.pipe.setBlocking(true);
        this.pull();
        this.pipe.setBlocking(false);
      }
      return this.frames.shift();
    }

    pull() {
      const data = Buffer.alloc(2 ** 16);
      const size = this.attempt(() => readSync(this.file, data, 0, data.length, null) || exit(ALONE));
      if (size) this.take(data.subarray(0, size));
      return size;
    }

    attempt(work) {
      try {
        return work();
      } catch (error) {
        return ["EAGAIN", "EINTR"].includes(error.code) ? 0 : exit(ALONE);
      }
    }

    take(data) {
      this.parts.push(data);
      this.size += data.length;
      for (let wanted = 4; this.size >= wanted; ) {
        const all = joined(this.parts);
        this.parts = [all];
        wanted = 4 + all.readUInt32BE();
        if (wanted > LARGEST) this.refuse("the other process sent a frame that is too large");
        if (all.length < wanted) return;
        this.frames.push(this.read(all.subarray(4, wanted)));
        this.parts = [all.subarray(wanted)];
        [this.size, wanted] = [all.length - wanted, 4];
      }
    }

    read(data) {
      try {
        const frame = parse(data.toString());
        if (isFrame(frame)) {
          putForward(frame[6] / 1000);
          return frame;
        }
      } catch {}
      return this.refuse("the other process sent no frame");
    }

    wake() {
      if (this.isWaking || !this.frames.length) return;
      this.isWaking = true;
      soon(() => {
        this.isWaking = false;
        if (this.frames.length) this.handle(this.frames.shift());
        this.wake();
      });
    }
  }

  function pause(times) {
    sleep(cell, 0, 0, Math.min(times / 20, 2));
  }

  // One of the two processes as the other one sees it.
  class Peer {
    constructor(file, { refuse, noted = () => {}, handlers = {}, isWritten = true, waits = false }) {
      const channel = new Channel(file, (frame) => this.handle(frame), refuse);
      Object.assign(this, { channel, refuse, noted, isWritten, waits, handled: 0, deferred: [] });
      this.handlers = new Map(Object.entries(handlers));
      this.handed = []; // what the other process may name: a value and what its calls run
      this.numbers = new Map(); // value → its place in there
      this.received = new Map(); // number in the other process → what stands for it here
      this.theirs = new Map(); // what stands for something there → its number
      this.unsettled = new Map(); // number of a promise there → how it is settled here
      this.serving = []; // calls of the other process that run now
      this.asked = 0;
      this.foreign = this.foreign.bind(this);
      this.stand = this.stand.bind(this);
    }

    hand(value, run = value) {
      if (!this.numbers.has(value)) this.numbers.set(value, this.handed.push({ value, run }) - 1);
      return this.numbers.get(value);
    }

    // Return the node of what stays in this process.
    foreign(kind, value, graph) {
      if (this.theirs.has(value)) return ["own", this.theirs.get(value)];
      if (kind === "promise") {
        const isNew = !this.numbers.has(value);
        const number = this.hand(value);
        const settle = (outcome) => (result) => this.settle(number, outcome, result, graph);
        if (isNew) then.call(value, settle(RETURNED), settle(RAISED));
        return [kind, number];
      }
      if (kind === "timer") return [kind, this.hand(value, () => void value.close())];
      if (kind !== "function") return [kind, this.hand(value, steps(value, kind))];
      if (Function.prototype.toString.call(value).startsWith("class")) return ["unplain", "a class"];
      const length = isCount(value.length) ? value.length : 0;
      return [kind, this.hand(value), String(value.name), length, graph.fields(value)];
    }

    // Return what stands for something in the other process.
    stand(kind, [number, name, length], reader) {
      if (kind === "own" && number < this.handed.length) return this.handed[number].value;
      if (kind === "own" || kind === undefined) throw new NotPlainError("nothing that there is");
      if (kind === "unplain") {
        const refuse = () => this.refuse(`the program uses ${number} of the code`);
        return { refused: (...values) => refuse(values) }.refused;
      }
      if (!this.received.has(number)) {
        const made = this.standIn(kind, number, name, length, reader);
        this.received.set(number, made);
        this.theirs.set(made, number);
      }
      const made = this.received.get(number);
      if (kindOf(made) !== kind) throw new NotPlainError(`${kind} in place of another kind`);
      return made;
    }

    standIn(kind, number, name, length, reader) {
      if (kind === "promise") {
        const settled = (resolve, reject) => this.unsettled.set(number, { resolve, reject, reader });
        return new Promise(settled);
      }
      if (kind === "timer") return new TimerThere(() => this.ask(number, undefined, []));
      if (kind !== "function") {
        const step = (way, value) => this.ask(number, undefined, [way, value]);
        return kind === "generator" ? iterator(step) : asyncIterator(step);
      }
      const peer = this;
      const { stub } = {
        stub(...values) {
          peer.noted("call");
          return peer.ask(number, isReceiver(this) ? this : undefined, values);
        },
      };
      define(stub, "name", { value: name });
      return define(stub, "length", { value: length });
    }

    encoded(graph, values) {
      try {
        return graph.all(values);
      } catch (error) {
        return this.refuse(`a value on its way to the other process is ${error.message}`);
      }
    }

    decoded(reader, values) {
      try {
        reader.objects();
        return reader.values(values);
      } catch (error) {
        return this.refuse(`a value of the other process cannot be read: ${error.message}`);
      }
    }

    // Call a function of the other process and return what it gives.
    ask(number, receiver, given) {
      const graph = new Graph([], this.foreign);
      const values = this.encoded(graph, [receiver === this.module ? undefined : receiver, ...given]);
      const id = (this.asked += 1);
      this.channel.send("call", id, this.serving.at(-1) ?? 0, number, values, graph.nodes);
      const [, , outcome, , results, nodes] = this.answer(id);
      const reader = new Reader(nodes, this.isWritten ? graph.objects : [], this.stand);
      const [value, stack] = this.decoded(reader, results);
      if (outcome === RETURNED) return value;
      this.noted("raised", value, stack);
      throw value;
    }

    // Answers come for the innermost call first. A call that belongs to none of ours has its turn
    // when this process is through with what it does.
    answer(id) {
      for (;;) {
        const frame = this.channel.receive();
        const [kind, number, during] = frame;
        if (kind === "answer" && number === id) {
          this.channel.wake();
          return frame;
        }
        if (kind === "call" && this.waits && during !== id) this.deferred.push(frame);
        else this.handle(frame);
      }
    }

    handle(frame) {
      const [kind, number, outcome, , values, nodes] = frame;
      this.handled += 1;
      if (kind === "call") return this.serve(frame);
      if (kind === "settle" && this.unsettled.has(number)) {
        const { resolve, reject, reader } = this.unsettled.get(number);
        this.unsettled.delete(number);
        const [value, stack] = this.decoded(new Reader(nodes, reader.objects(), this.stand), values);
        if (outcome === RETURNED) return resolve(value);
        this.noted("raised", value, stack);
        return reject(value);
      }
      if (!this.handlers.has(kind)) return this.refuse(`the other process sent a frame out of turn: ${kind}`);
      return this.handlers.get(kind)(...this.decoded(new Reader(nodes, [], this.stand), values));
    }

    tell(kind, ...given) {
      const graph = new Graph([], this.foreign);
      const values = this.encoded(graph, given);
      this.channel.send(kind, 0, 0, 0, values, graph.nodes);
    }

    serve([, id, , number, elements, nodes]) {
      const reader = new Reader(nodes, [], this.stand);
      const [receiver, ...given] = this.decoded(reader, elements);
      if (number >= this.handed.length) this.refuse("the other process calls what there is not");
      let [outcome, value, stack] = [RETURNED, undefined, ""];
      this.serving.push(id);
      try {
        value = Reflect.apply(this.handed[number].run, receiver, given);
      } catch (error) {
        [outcome, value, stack] = [RAISED, error, stackOf(error)];
      }
      this.serving.pop();
      const graph = new Graph(reader.objects(), this.foreign);
      const values = this.encoded(graph, [value, stack]);
      this.channel.send("answer", id, outcome, 0, values, graph.nodes);
    }

    // Tell how a promise ended, and what has changed of the objects that came with it.
    settle(number, outcome, value, before) {
      const graph = new Graph(before.objects, this.foreign);
      const values = this.encoded(graph, [value, outcome === RAISED ? stackOf(value) : ""]);
      before.nodes.forEach((node, place) => {
        if (stringify(node) === stringify(graph.nodes[place])) graph.nodes[place] = null;
      });
      this.channel.send("settle", number, outcome, 0, values, graph.nodes);
    }
  }

  function stackOf(error) {
    return String(error?.stack ?? "").slice(0, 4000);
  }

  // A method's object goes with the call where it has nothing but fields.
  function isReceiver(value) {
    if (typeof value !== "object" || value === null || BUILT_IN.has(value)) return false;
    return [Object.prototype, null].includes(Object.getPrototypeOf(value));
  }

  // Return what the other process calls to go on with a generator: 0 next, 1 return, 2 throw. At
  // its end it tells what has become of the objects that it gave: it may have refilled one of them.
  function steps(made, kind) {
    const all = [];
    const step = (way, value) => {
      if (way === 0) return made.next(value);
      if (way === 1) return made.return ? made.return(value) : { value, done: true };
      if (made.throw) return made.throw(value);
      throw value;
    };
    const parts = ({ value, done }) => {
      if (!done && typeof value === "object" && all.length < MOST_GIVEN) all.push(value);
      return [Boolean(done), value, done ? all : []];
    };
    return kind === "generator"
      ? (way, value) => parts(step(way, value))
      : async (way, value) => parts(await step(way, value));
  }

  // Return what makes a result of a generator's step, and changes in the end what was changed there.
  function noting() {
    const all = [];
    return ([done, value, last]) => {
      if (!done && typeof value === "object" && all.length < MOST_GIVEN) all.push([value, copyOf(value)]);
      last.forEach((now, place) => {
        const [given, before] = all[place] ?? [];
        if (before && !util.isDeepStrictEqual(before, now)) refill(given, now);
      });
      return { value, done };
    };
  }

  // Return a copy of plain data, undefined of what has more.
  function copyOf(value) {
    try {
      const copy = structuredClone(Buffer.isBuffer(value) ? null : value);
      return util.isDeepStrictEqual(copy, value) ? copy : Buffer.isBuffer(value) ? Buffer.from(value) : undefined;
    } catch {}
  }

  function refill(target, now) {
    if (types.isMap(target) || types.isSet(target)) {
      target.clear();
      for (const item of now) types.isMap(target) ? target.set(...item) : target.add(item);
    } else if (types.isTypedArray(target)) target.set(now.subarray(0, target.length));
    else if (types.isDate(target)) target.setTime(Number(now));
    else {
      for (const key of Object.keys(target)) delete target[key];
      if (Array.isArray(target)) target.length = now.length;
      for (const key of Object.keys(now)) define(target, key, Object.getOwnPropertyDescriptor(now, key));
    }
  }

  function iterator(step) {
    const note = noting();
    const taken = (way) => (value) => note(step(way, value));
    const methods = { next: taken(0), return: taken(1), throw: taken(2), [Symbol.toStringTag]: "Generator" };
    return Object.create({ ...methods, [Symbol.iterator]() { return this; } });
  }

  function asyncIterator(step) {
    const note = noting();
    const taken = (way) => async (value) => note(await step(way, value));
    const methods = { next: taken(0), return: taken(1), throw: taken(2) };
    methods[Symbol.toStringTag] = "AsyncGenerator";
    return Object.create({ ...methods, [Symbol.asyncIterator]() { return this; } });
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

  // Time begins where the job says, goes on by what this process computes, and is put forward.
  const usage = process.cpuUsage();
  let ahead = job.clock * 1000;
  function now() {
    const { user, system } = process.cpuUsage(usage);
    return ahead + (user + system) / 1000;
  }

  function putForward(moment) {
    ahead += Math.max(0, moment - now());
  }

  function setClock() {
    const [RealDate, real, wait] = [Date, Date.now, Atomics.wait];
    const start = now();
    const clock = new Proxy(RealDate, {
      construct: (kind, given, made) => Reflect.construct(kind, given.length ? given : [Date.now()], made),
      apply: () => String(new RealDate(now())),
    });
    RealDate.now = () => Math.floor(now());
    RealDate.prototype.constructor = clock;
    globalThis.Date = clock;
    define(performance, "now", { value: () => now() - start });
    const hrtime = (since = [0, 0]) => {
      const passed = hrtime.bigint() - BigInt(since[0]) * 1_000_000_000n - BigInt(since[1]);
      return [Number(passed / 1_000_000_000n), Number(passed % 1_000_000_000n)];
    };
    hrtime.bigint = () => BigInt(Math.round((now() - start) * 1e6));
    define(process, "hrtime", { value: hrtime });
    Atomics.wait = (...given) => {
      const begun = real();
      const ending = wait(...given);
      ahead += real() - begun;
      return ending;
    };
  }

  // Return whether something is under way that takes real time, such as the reading of a file.
  function isActive() {
    return active().some((kind) => kind !== "PipeWrap");
  }

  // Timers that wait until the program's process lets them run.
  class Timer {
    static waiting = new Map();
    static count = 0;

    constructor(isRepeated, run, delay, given) {
      if (typeof run !== "function") throw new TypeError('The "callback" argument must be of type function');
      this.delay = delay >= 1 && delay < 2 ** 31 ? Math.trunc(delay) : 1;
      define(this, "work", { value: { isRepeated, number: (Timer.count += 1), run, given } });
      this.refresh();
    }

    static next() {
      const waiting = [...Timer.waiting.values()];
      return waiting.length ? waiting.reduce((one, two) => (two.due < one.due ? two : one)) : { due: Infinity };
    }

    static fire() {
      const timer = Timer.next();
      if (timer.due > now()) return;
      if (timer.work.isRepeated) timer.refresh();
      else timer.close();
      Reflect.apply(timer.work.run, timer, timer.work.given);
    }

    static clear(timer) {
      if (timer instanceof TimerThere) timer.close();
      else Timer.waiting.delete(timer instanceof Timer ? timer.work.number : Number(timer));
    }

    refresh() {
      this.due = now() + this.delay;
      Timer.waiting.set(this.work.number, this);
      return this;
    }

    close() {
      Timer.clear(this);
      return this;
    }

    ref() {
      return this;
    }

    unref() {
      return this;
    }

    hasRef() {
      return true;
    }

    [Symbol.toPrimitive]() {
      return this.work.number;
    }
  }

  // A timer of the other process.
  class TimerThere {
    constructor(close) {
      this.close = close;
    }

    unref() {
      return this;
    }
  }

  function setTimers() {
    const sleep = (delay, value) => new Promise((done) => made.setTimeout(done, delay, value));
    const made = {
      setTimeout: (run, delay, ...given) => new Timer(false, run, delay, given),
      setInterval: (run, delay, ...given) => new Timer(true, run, delay, given),
      clearTimeout: Timer.clear,
      clearInterval: Timer.clear,
    };
    define(made.setTimeout, util.promisify.custom, { value: sleep });
    Object.assign(globalThis, made);
    Object.assign(timers, made);
    promises.setTimeout = sleep;
    promises.setInterval = async function* (delay, value) {
      for (;;) yield await sleep(delay, value);
    };
  }

  // The process of the code under test: it answers calls. Nothing here is protected from the code,
  // which may say what it likes: it can do no more than return it.
  function serve() {
    const refuse = (reason) => {
      peer.channel.send("unplain", 0, 0, 0, [String(reason)], []);
      exit(1);
    };
    const peer = new Peer(3, { refuse });
    peer.hand(load);
    peer.hand(() => [Timer.next().due, isActive()]);
    peer.hand(Timer.fire);
    peer.hand(surround);
    print((file, text) => peer.tell("print", String(text)));
    process.on("uncaughtException", (error) => peer.tell("crash", error, stackOf(error)));

    function load() {
      const names = ["exports", "require", "module", "__filename", "__dirname"];
      const made = { exports: {} };
      const given = [made.exports, modules.createRequire(FILES + TARGET), made, TARGET, "/tmp"];
      const run = vm.compileFunction(job.code, names, { filename: TARGET });
      const found = run.apply(made.exports, given);
      const exported = made.exports;
      const named = typeof exported === "function" ? { [exported.name]: exported, exports: exported } : {};
      const all = Object.entries({ ...named, ...exported, ...found });
      return Object.fromEntries(all.filter(([, value]) => isSent(value)));
    }

    // Take over the folder, the variables and the arguments of the program's process.
    function surround(text) {
      const [folder, variables, words] = parse(text);
      if (fs.existsSync(folder)) process.chdir(folder);
      for (const name of Object.keys(process.env)) if (!(name in variables)) delete process.env[name];
      Object.assign(process.env, variables);
      process.argv.splice(0, Infinity, ...words);
    }

    function isSent(value) {
      try {
        return value !== undefined && new Graph([], () => ["unplain", ""]).add(value) !== undefined;
      } catch {
        return false;
      }
    }
  }

  // The process of a test program: it calls the code by stubs, runs the tests and reports.
  function runProgram() {
    const failures = []; // of assertions, also of those that the program hides
    const counts = { tests: 0, asserts: 0, call: 0 };
    const thrown = new Map(); // what the code raised → its stack
    let begun = 0; // how many failures there were when this test began
    let testing = ""; // the name of the test that runs

    function giveUp(reason) {
      write(2, bytes(`${reason}\n`));
      exit(GIVEN_UP);
    }

    const peer = new Peer(4, {
      refuse: giveUp,
      noted: (what, value, stack) => (what === "call" ? called() : thrown.set(value, String(stack))),
      isWritten: !job.on_copies,
      waits: true,
      handlers: {
        print: (text) => process.stdout.write(String(text)),
        unplain: (reason) => giveUp(String(reason)),
        crash: (error, stack) => (thrown.set(error, String(stack)), ended(error)),
      },
    });

    // The code's process has the surroundings that this one has: those of its start, until they are
    // others or the program goes to a folder.
    const { chdir } = process;
    process.chdir = (folder) => {
      chdir(folder);
      shared = "";
    };
    const surroundings = () => stringify([process.cwd(), { ...process.env }, process.argv]);
    let shared = surroundings();

    function called() {
      counts.call += 1;
      const now = surroundings();
      if (now !== shared) peer.ask(SURROUND, undefined, [(shared = now)]);
    }

    // Let what is due next happen, here or there, whenever the program waits.
    function turn() {
      if (peer.deferred.length) {
        peer.handle(peer.deferred.shift());
        return soon(turn);
      }
      const before = peer.handled;
      const [due, isBusy] = peer.ask(STATE, undefined, []);
      if (typeof due !== "number" || Number.isNaN(due)) giveUp("the code's process has no clock");
      if (peer.handled > before || peer.deferred.length) return soon(turn);
      const own = Timer.next().due;
      const next = Math.min(own, due);
      if (next > now()) {
        if (isBusy || isActive()) return later(() => soon(turn), WAIT, putForward(now() + WAIT));
        if (next === Infinity) return ended(new Error("the program waits for what never comes"));
        putForward(next);
      }
      if (due <= own) peer.ask(FIRE, undefined, []);
      else Timer.fire();
      return soon(turn);
    }

    // End where a test cannot go on.
    function ended(error) {
      const ending = failed(failures.length > begun ? failures[begun] : error);
      if (testing) note(true, testing, ending);
      report();
    }

    const own = modules.createRequire(FILES + PROGRAM);
    const closed = ["child_process", "cluster", "inspector", "module", "repl", "test", "v8", "vm"];
    closed.push("worker_threads");
    // The code writes to the same folder, so that nothing is loaded from files.
    function given(name) {
      const plain = String(name).replace(/^node:/, "");
      if (/^(\.\/)?target(\.js)?$/.test(plain)) {
        return (peer.module ??= callable(peer.ask(LOAD, undefined, [])));
      }
      if (plain === "assert") return counted;
      if (plain === "assert/strict") return counted.strict;
      if (closed.includes(plain.split("/")[0])) throw new Error(`${name} is not available in a box`);
      if (modules.isBuiltin(name)) {
        const found = own(name);
        protect(found);
        return found;
      }
      const message = `Cannot find module '${name}': a program has node's own modules and 'target'`;
      throw Object.assign(new Error(message), { code: "MODULE_NOT_FOUND" });
    }

    // Return a module, which may be a function itself.
    const callable = (all) => (all.exports ? Object.assign((...values) => all.exports(...values), all) : all);

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
      let text = `${counts.tests} ${counts.asserts} ${counts.call} =${signs}\n`;
      text += (weight ? "!" + gravest : "") + told;
      write(3, bytes(`${token}${bytes(text).length}\n${text}`));
      exit(0);
    }

    async function runTest(name, test) {
      let [isFailed, ending] = [true, ""];
      [begun, testing] = [failures.length, name];
      counts.tests += 1;
      try {
        await test();
        if (failures.length > begun) {
          throw new Error(`an assertion failed, which the program hides: ${failures[begun]}`);
        }
        isFailed = false;
      } catch (error) {
        ending = failed(thrown.has(error) && failures.length > begun ? failures[begun] : error);
      }
      testing = "";
      note(isFailed, name, ending);
    }

    function note(isFailed, name, ending) {
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
    process.on("uncaughtException", ended);
    soon(turn);
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

  setClock();
  setTimers();
  if (job.code === undefined) runProgram();
  else serve();
})();
