// Checks values against TOSCA's types and constraints.
import { isList } from "@isochrone/primitives";
import type { Cursor } from "./cursor.ts";

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === "string";
const isScalar: Check = (value) => typeof value === "string" || typeof value === "number";
const isMap: Check = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** Checked types; others (data types) are unknown here. */
const PRIMITIVES: Readonly<Record<string, readonly [Check, string]>> = {
  string: [isText, "must be a text"],
  integer: [(value) => Number.isSafeInteger(value), "must be a whole number"],
  float: [(value) => typeof value === "number" && Number.isFinite(value), "must be a number"],
  boolean: [(value) => typeof value === "boolean", "must be true or false"],
  list: [(value) => Array.isArray(value), "must be a list"],
  map: [isMap, "must be a map"],
  "scalar-unit.time": [isScalar, "must be a time, as 10 s"],
  "scalar-unit.size": [isScalar, "must be a size, as 1 GiB"],
  "scalar-unit.bitrate": [isScalar, "must be a bit rate, as 10 Mbps"],
  "scalar-unit.frequency": [isScalar, "must be a frequency, as 1 GHz"],
};

/** The broken rule; null: valid, or unknown type. */
export function typeFault(value: unknown, type: string): string | null {
  if (!Object.hasOwn(PRIMITIVES, type)) return null;
  const [check, rule] = PRIMITIVES[type]!;
  return check(value) ? null : rule;
}

type Constraint = (value: unknown, limit: unknown) => boolean;

const compared =
  (holds: (a: number, b: number) => boolean): Constraint =>
  (value, limit) =>
    typeof value !== "number" || typeof limit !== "number" || holds(value, limit);
const atLeast = compared((a, b) => a >= b);
const atMost = compared((a, b) => a <= b);
const sized =
  (holds: (a: number, b: number) => boolean): Constraint =>
  (value, limit) =>
    typeof limit !== "number" ||
    !(typeof value === "string" || Array.isArray(value)) ||
    holds(value.length, limit);

/** Keyed by name; incomparable values pass. */
const CONSTRAINTS: Readonly<Record<string, Constraint>> = {
  equal: (value, limit) => value === limit,
  greater_than: compared((a, b) => a > b),
  greater_or_equal: atLeast,
  less_than: compared((a, b) => a < b),
  less_or_equal: atMost,
  in_range: (value, limit) => !isList(limit) || (atLeast(value, limit[0]) && atMost(value, limit[1])),
  valid_values: (value, limit) => !Array.isArray(limit) || limit.includes(value),
  length: sized((a, b) => a === b),
  min_length: sized((a, b) => a >= b),
  max_length: sized((a, b) => a <= b),
};

/** The broken rule of `constraints` (1.3); null: none. Ignores patterns and 2.0's `validation`. */
export function constraintFault(value: unknown, definition: Cursor): string | null {
  for (const entry of definition.get("constraints")?.items() ?? []) {
    for (const [name, limit] of entry.entries()) {
      const holds = Object.hasOwn(CONSTRAINTS, name) ? CONSTRAINTS[name]! : () => true;
      if (!holds(value, limit.value))
        return `must be ${name.replaceAll("_", " ")} ${JSON.stringify(limit.value)}`;
    }
  }
  return null;
}

const RATE = /^\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]i?)?(b|B)ps\s*$/i;
const PREFIXES: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  ki: 1024,
  m: 1e6,
  mi: 1024 ** 2,
  g: 1e9,
  gi: 1024 ** 3,
  t: 1e12,
  ti: 1024 ** 4,
};

/** Bits per second of a scalar-unit.bitrate (`10 Mbps`, `2 KiBps`: B is bytes); null: invalid. */
export function bitsPerSecondOf(text: string): number | null {
  const [, number, prefix = "", unit] = RATE.exec(text) ?? [];
  if (number === undefined) return null;
  return Number(number) * PREFIXES[prefix.toLowerCase()]! * (unit === "B" ? 8 : 1);
}

const TIME = /^\s*([0-9]+(?:\.[0-9]+)?)\s*(d|h|m|s|ms|us|ns)\s*$/;
const SECONDS: Readonly<Record<string, number>> = {
  d: 86_400,
  h: 3600,
  m: 60,
  s: 1,
  ms: 1e-3,
  us: 1e-6,
  ns: 1e-9,
};

/** Seconds of a scalar-unit.time (`10 s`, `5m`), a bare number, or Puccini's object; null: invalid. */
export function secondsOf(value: unknown): number | null {
  if (typeof value === "number") return value;
  if (typeof value === "object" && value !== null && "$number" in value)
    return typeof value.$number === "number" ? value.$number : null;
  if (typeof value !== "string") return null;
  const [, number, unit] = TIME.exec(value) ?? [];
  return number === undefined ? null : Number(number) * SECONDS[unit!]!;
}
