// condsim: bodies with frictional contact, certified. The library itself is condsim.wasm beside this file.

const SHAPES = { sphere: 0, capsule: 1, box: 2, cylinder: 3 };
const MOTIONS = { dynamic: 0, static: 1, kinematic: 2 };

let wasm = null;

/** Loads the library; bytes or a compiled module, or nothing: the file beside this one. */
export async function load(source) {
  if (wasm) return;
  if (!source) {
    const url = new URL("./condsim.wasm", import.meta.url);
    if (url.protocol === "file:") {
      const { readFile } = await import("node:fs/promises");
      source = await readFile(url);
    } else source = await (await fetch(url)).arrayBuffer();
  }
  const system = new Proxy({ proc_exit: (code) => { throw new Error("condsim ended with " + code); } },
    { get: (o, name) => o[name] || (() => 8) });
  const made = await WebAssembly.instantiate(source, { wasi_snapshot_preview1: system });
  wasm = (made.instance || made).exports;
  if (wasm._initialize) wasm._initialize();
}

const text = (at) => {
  const bytes = new Uint8Array(wasm.memory.buffer);
  let end = at;
  while (bytes[end]) end++;
  return new TextDecoder().decode(bytes.slice(at, end));
};
const doubles = (at, n) => new Float64Array(wasm.memory.buffer, at, n);
const vector = (v, what) => {
  if (!Array.isArray(v) && !ArrayBuffer.isView(v)) throw new TypeError(`${what} is ${v}; it must be [x, y, z]`);
  return [+v[0], +v[1], +v[2]];
};

/** Memory of the library for the length of a call. */
function borrow(bytes, use) {
  const at = wasm.alloc(Math.max(8, bytes));
  if (!at) throw new Error("out of memory");
  try { return use(at); } finally { wasm.release(at); }
}

export class Body {
  constructor(world, number) { this.world = world; this.number = number; }
  get state() {
    const at = wasm.state(this.world.at, this.number);
    if (!at) throw new Error(this.world.error);
    const n = doubles(at, 13);
    return { position: [n[0], n[1], n[2]], rotation: [n[3], n[4], n[5], n[6]], velocity: [n[7], n[8], n[9]], angularVelocity: [n[10], n[11], n[12]] };
  }
  get position() { return this.state.position; }
  get rotation() { return this.state.rotation; }
  setVelocity(linear, angular = [0, 0, 0]) { this.world.check(wasm.set_velocity(this.world.at, this.number, ...vector(linear, "linear"), ...vector(angular, "angular"))); }
  addForce(force, torque = [0, 0, 0]) { this.world.check(wasm.add_force(this.world.at, this.number, ...vector(force, "force"), ...vector(torque, "torque"))); }
  /** Vertices of a soft body, 3 numbers each. */
  nodes() {
    const n = 3 * wasm.node_count(this.world.at, this.number);
    return borrow(8 * n, (at) => { this.world.check(wasm.nodes(this.world.at, this.number, at)); return doubles(at, n).slice(); });
  }
  destroy() { this.world.check(wasm.destroy(this.world.at, this.number)); }
}

export class World {
  constructor({ gravity = [0, 0, -9.81], tolerance = 0, sleep = false } = {}) {
    if (!wasm) throw new Error("call await load() first");
    this.at = wasm.world_create(...vector(gravity, "gravity"), tolerance, sleep ? 1 : 0);
    if (!this.at) throw new Error("out of memory");
    if (!wasm.world_ok(this.at)) throw new Error(this.error);
  }
  get error() { return text(wasm.world_error(this.at)); }
  check(status) { if (status < 0) throw new Error(this.error); return status; }
  body(number) { return new Body(this, this.check(number)); }
  ground({ point = [0, 0, 0], normal = [0, 0, 1], friction = 0.5 } = {}) { return this.body(wasm.ground(this.at, ...vector(point, "point"), ...vector(normal, "normal"), friction)); }
  rigid(def) {
    const kind = SHAPES[def.shape ?? "box"], motion = MOTIONS[def.motion ?? "dynamic"];
    if (kind === undefined) throw new RangeError(`shape is '${def.shape}'; it must be one of ${Object.keys(SHAPES)}`);
    if (motion === undefined) throw new RangeError(`motion is '${def.motion}'; it must be one of ${Object.keys(MOTIONS)}`);
    const size = kind === SHAPES.box ? vector(def.half ?? [0.5, 0.5, 0.5], "half") : [def.radius ?? 0.5, def.halfHeight ?? 0.5, 0];
    const numbers = [kind, ...size, motion, def.density ?? 1000, def.mass ?? 0, def.friction ?? 0.5, def.restitution ?? 0, ...vector(def.position ?? [0, 0, 0], "position"),
      ...(def.rotation ?? [1, 0, 0, 0]), ...vector(def.velocity ?? [0, 0, 0], "velocity"), ...vector(def.angularVelocity ?? [0, 0, 0], "angularVelocity")];
    return borrow(8 * numbers.length, (at) => { doubles(at, numbers.length).set(numbers); return this.body(wasm.rigid(this.at, at)); });
  }
  soft({ vertices, tets, young = 1e5, poisson = 0.4, density = 1000, friction = 0.5, position = [0, 0, 0] }) {
    const head = 7 + vertices.length;
    return borrow(8 * head + 4 * tets.length, (at) => {
      doubles(at, head).set([young, poisson, density, friction, ...vector(position, "position"), ...vertices]);
      new Int32Array(wasm.memory.buffer, at + 8 * head, tets.length).set(tets);
      return this.body(wasm.soft(this.at, at + 56, vertices.length / 3, at + 8 * head, tets.length / 4, at));
    });
  }
  step(h = 1 / 60) { this.check(wasm.step(this.at, h)); return this.stats; }
  get stats() {
    const n = doubles(wasm.stats(this.at), 8);
    return { time: n[0], certified: n[1] === 0, contacts: n[2], touching: n[3], iterations: n[4], penetration: n[5], dynamics: n[6], contact: n[7] };
  }
  /** Contacts of the last step; began: this step is their first. */
  contacts() {
    const out = [];
    for (let i = 0; i < wasm.contact_count(this.at); i++) {
      const n = doubles(wasm.contact(this.at, i), 11);
      out.push({ a: n[0], b: n[1], began: n[2] !== 0, touches: n[3] !== 0, point: [n[4], n[5], n[6]], normal: [n[7], n[8], n[9]], impulse: n[10] });
    }
    return out;
  }
  /** The first thing on a way, or null. */
  castRay(from, way) { return this.hit(wasm.ray(this.at, ...vector(from, "from"), ...vector(way, "way"))); }
  /** The nearest point of anything within so many metres, or null; distance below 0: inside. */
  closestPoint(point, within) { return this.hit(wasm.closest(this.at, ...vector(point, "point"), within)); }
  /** Bodies in a box along the axes of the world. */
  overlapBox(lower, upper) {
    const box = [...vector(lower, "lower"), ...vector(upper, "upper")];
    for (let room = 64; ; room *= 4) {
      const found = borrow(8 * (6 + room), (at) => {
        doubles(at, 6).set(box);
        const n = this.check(wasm.overlap_box(this.at, at, at + 48, room));
        return n > room ? null : [...doubles(at + 48, n)];
      });
      if (found) return [...new Set(found)].map((n) => new Body(this, n));
    }
  }
  hit(at) {
    if (!at) return null;
    const n = doubles(at, 8);
    return { body: new Body(this, n[0]), point: [n[1], n[2], n[3]], normal: [n[4], n[5], n[6]], distance: n[7] };
  }
  /** What happened in the last step: bodies that began to touch, that no longer do, hits, who fell asleep or woke. */
  events() {
    const list = (kind, make) => Array.from({ length: wasm.event_count(this.at, kind) }, (_, i) => make(doubles(wasm.event(this.at, kind, i), 12)));
    const pairs = (kind) => list(kind, (n) => ({ a: n[0], b: n[1], bodies: n[2] !== 0 })).filter((e) => e.bodies).map(({ a, b }) => ({ a, b }));
    return {
      begins: pairs(0), ends: pairs(1),
      hits: list(2, (n) => ({ a: n[0], b: n[1], speed: n[2], point: [n[3], n[4], n[5]], normal: [n[6], n[7], n[8]], impulse: [n[9], n[10], n[11]] })),
      sleeps: list(3, (n) => ({ body: n[0], asleep: n[1] !== 0 })),
    };
  }
  save() {
    const bytes = wasm.save_bytes(this.at);
    return borrow(bytes, (at) => { this.check(wasm.save(this.at, at, bytes)); return new Uint8Array(wasm.memory.buffer, at, bytes).slice(); });
  }
  restore(bytes) { borrow(bytes.length, (at) => { new Uint8Array(wasm.memory.buffer, at, bytes.length).set(bytes); this.check(wasm.restore(this.at, at, bytes.length)); }); }
  get hash() { return [1, 0].map((k) => (wasm.hash_half(this.at, k) >>> 0).toString(16).padStart(8, "0")).join(""); }
  destroy() { if (this.at) wasm.world_destroy(this.at); this.at = 0; }
}

export const version = () => text(wasm.version());
