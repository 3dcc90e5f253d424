// Names for address ranges outside the cluster, from an untrusted file.
import { isList, isRecord, looseFields } from "@isochrone/primitives";
import { overlap, plainAddress, RangeMap, rangeOf, type AddressRange } from "./address-ranges.ts";

/** Namespace of outside ends; no real namespace can have this name. */
export const OUTSIDE_NAMESPACE = "_outside";

const UNNAMED = { internet: "internet", private: "private" } as const;
export const OUTSIDE_UNKNOWN = "unknown";

const NAME = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/;
const MAX_NAME_LENGTH = 63;
const MAX_NAMES = 100;
const MAX_RANGES = 10_000;

/** IANA special-purpose ranges, and ranges that aren't single hosts. */
const NOT_PUBLIC = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
  "::/8",
  "100::/64",
  "2001:db8::/32",
  "3fff::/20",
  "fc00::/7",
  "fe80::/10",
  "ff00::/8",
];

export class OutsideError extends Error {
  readonly code = "ISOCHRONE_OUTSIDE";
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(mistakes.join("; "));
    this.name = "OutsideError";
    this.mistakes = mistakes;
  }
}

/** Validates an outside name, also from other processes. */
export function isOutsideName(name: string): boolean {
  return NAME.test(name);
}

/** Converts a cluster's name: "Prod_EU" becomes prod-eu. */
export function outsideNameOf(cluster: string): string {
  const name = cluster
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]+/g, "-")
    .slice(0, MAX_NAME_LENGTH)
    .replaceAll(/^[.-]+|[.-]+$/g, "");
  return name === "" ? OUTSIDE_UNKNOWN : name;
}

export class Outside {
  readonly #ranges: RangeMap<string | null>;

  /** @param ranges names; null: inside the cluster */
  constructor(ranges: RangeMap<string | null>) {
    this.#ranges = ranges;
  }

  /** Name of an address. Null: inside the cluster. @param raw 4 or 16 bytes as latin1 */
  nameOf(raw: string): string | null {
    const found = this.#ranges.get(plainAddress(raw));
    return found === undefined ? UNNAMED.internet : found;
  }
}

/** Parses the file. Throws OutsideError that lists all mistakes. */
export function readOutside(json: unknown): Outside {
  if (!isRecord(json)) throw new OutsideError([`outside must be an object, got ${shown(json)}`]);
  const { cluster, names = [], ...others } = json;
  const mistakes = Object.keys(others).map((field) => `${field} is no field of outside (cluster, names)`);
  const own = rangesOf(cluster, "cluster", mistakes);
  if (own.length === 0)
    mistakes.push("cluster must list the ranges of all pods, Services and nodes, got none");
  const named = namedRanges(names, mistakes);
  mistakes.push(...conflicts(own, named));
  if (mistakes.length > 0) throw new OutsideError(mistakes);
  const ranges = new RangeMap<string | null>();
  for (const text of NOT_PUBLIC) ranges.set(rangeOf(text)!, UNNAMED.private);
  for (const { range, name } of named) ranges.set(range, name);
  for (const range of own) ranges.set(range, null);
  return new Outside(ranges);
}

interface NamedRange {
  readonly range: AddressRange;
  readonly name: string;
}

function namedRanges(names: unknown, mistakes: string[]): NamedRange[] {
  if (!isList(names) || names.length > MAX_NAMES) {
    mistakes.push(
      `names must be a list of at most ${MAX_NAMES}, got ${isList(names) ? names.length : shown(names)}`,
    );
    return [];
  }
  const known = new Set<string>([...Object.values(UNNAMED), OUTSIDE_UNKNOWN]);
  return names.flatMap((entry, index) => {
    const path = `names[${index}]`;
    if (!isRecord(entry)) {
      mistakes.push(`${path} must be an object with name and cidrs, got ${shown(entry)}`);
      return [];
    }
    const { name, cidrs, ...others } = looseFields<{ name: string; cidrs: string[] }>(entry);
    for (const field of Object.keys(others))
      mistakes.push(`${path}.${field} is no field of a name (name, cidrs)`);
    if (typeof name !== "string" || !NAME.test(name)) {
      mistakes.push(`${path}.name must be 1 to 63 of a-z, 0-9, "-" and ".", got ${shown(name)}`);
      return [];
    }
    if (known.has(name)) mistakes.push(`${path}.name must be another one, got ${name}, which is in use`);
    known.add(name);
    const ranges = rangesOf(cidrs, `${path}.cidrs`, mistakes);
    if (ranges.length === 0) mistakes.push(`${path}.cidrs must list the ranges of ${name}, got none`);
    return ranges.map((range) => ({ range, name }));
  });
}

function rangesOf(list: unknown, path: string, mistakes: string[]): AddressRange[] {
  if (list === undefined) return [];
  if (!isList(list) || list.length > MAX_RANGES) {
    mistakes.push(
      `${path} must be a list of at most ${MAX_RANGES}, got ${isList(list) ? list.length : shown(list)}`,
    );
    return [];
  }
  return list.flatMap((text, index) => {
    const range = typeof text === "string" ? rangeOf(text) : null;
    if (range !== null) return [range];
    const rule = "must be a range as 10.0.0.0/16 or fd00::/48, without bits beyond its length";
    mistakes.push(`${path}[${index}] ${rule}, got ${shown(text)}`);
    return [];
  });
}

/** Finds conflicts. A named range may nest in another, but not overlap the cluster's. */
function conflicts(own: readonly AddressRange[], named: readonly NamedRange[]): string[] {
  const found: string[] = [];
  const byRange = new Map<string, NamedRange>();
  for (const one of named) {
    const { range, name } = one;
    const key = `${range.bits} ${range.first}`;
    const before = byRange.get(key);
    if (before !== undefined)
      found.push(`${name} must not have ${range.text}, which ${before.name} has as ${before.range.text}`);
    byRange.set(key, one);
    const cluster = own.find((each) => overlap(each, range));
    if (cluster !== undefined)
      found.push(`${name} must be outside of the cluster, but ${range.text} overlaps its ${cluster.text}`);
  }
  return found;
}

function shown(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value).slice(0, 80);
}
