export type Vector = readonly [number, number, number] | number[] | Float64Array;
export type Quaternion = readonly [number, number, number, number] | number[]; // w first

/** Loads the library; nothing else works before. */
export function load(source?: BufferSource | WebAssembly.Module): Promise<void>;
export function version(): string;

export interface RigidDef {
  shape?: "sphere" | "capsule" | "box" | "cylinder";
  half?: Vector; /** box: half sizes, m */
  radius?: number;
  halfHeight?: number;
  motion?: "dynamic" | "static" | "kinematic";
  density?: number; /** kg/m^3, used when mass is 0 */
  mass?: number;
  friction?: number;
  restitution?: number;
  position?: Vector;
  rotation?: Quaternion;
  velocity?: Vector;
  angularVelocity?: Vector;
}
export interface SoftDef {
  vertices: ArrayLike<number>; /** 3 a vertex, m */
  tets: ArrayLike<number>; /** 4 indices a tetrahedron */
  young?: number;
  poisson?: number;
  density?: number;
  friction?: number;
  position?: Vector;
}
export interface Stats {
  time: number;
  certified: boolean;
  contacts: number;
  touching: number;
  iterations: number;
  penetration: number;
  dynamics: number;
  contact: number;
}
export interface Contact {
  a: number; /** Body.number, -1: none */
  b: number;
  began: boolean;
  touches: boolean;
  point: number[];
  normal: number[];
  impulse: number; /** N s */
}
export interface Hit {
  body: Body;
  point: number[];
  normal: number[]; /** outward */
  distance: number; /** m */
}
export interface Events {
  begins: { a: number; b: number }[]; /** pairs of Body.number that touch since this step */
  ends: { a: number; b: number }[];
  hits: { a: number; b: number; speed: number; point: number[]; normal: number[]; impulse: number[] }[];
  sleeps: { body: number; asleep: boolean }[];
}
export class Body {
  readonly world: World;
  readonly number: number;
  readonly state: { position: number[]; rotation: number[]; velocity: number[]; angularVelocity: number[] };
  readonly position: number[];
  readonly rotation: number[];
  setVelocity(linear: Vector, angular?: Vector): void;
  addForce(force: Vector, torque?: Vector): void;
  nodes(): Float64Array;
  destroy(): void;
}
export class World {
  constructor(def?: { gravity?: Vector; tolerance?: number; sleep?: boolean });
  readonly error: string;
  readonly stats: Stats;
  readonly hash: string;
  ground(def?: { point?: Vector; normal?: Vector; friction?: number }): Body;
  rigid(def: RigidDef): Body;
  soft(def: SoftDef): Body;
  step(h?: number): Stats;
  contacts(): Contact[];
  castRay(from: Vector, way: Vector): Hit | null;
  closestPoint(point: Vector, within: number): Hit | null;
  overlapBox(lower: Vector, upper: Vector): Body[];
  events(): Events;
  save(): Uint8Array;
  restore(bytes: Uint8Array): void;
  destroy(): void;
}
