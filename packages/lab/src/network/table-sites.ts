// Nodes of a round-trip table, with zones and regions from names or derived from times.
import { NetworkError } from "./errors.ts";
import type { RttTable } from "./matrix-file.ts";
import type { NetworkSite } from "./sites.ts";

/** Longest round trip within a zone and within a region, ms; the classes of the built-in matrix. */
export const ZONE_MS = 7;
export const REGION_MS = 40;

export interface TableSites {
  readonly sites: readonly NetworkSite[];
  readonly derived: readonly ("regions" | "zones")[];
}

type Label = string | null;
type FarMs = (a: number, b: number) => number;

/**
 * Returns the first `count` nodes of a table. A name is `node`, `node/zone` or `node/zone/region`. A cloud
 * zone name (`us-east-1a`, `europe-west1-b`), also of a node, gives its region. Other labels are derived:
 * nodes of a zone are at most ZONE_MS apart, zones of a region at most REGION_MS.
 * @throws NetworkError `invalid_matrix` naming place, rule and value
 */
export function tableSites({ names, namesPlace, rttMs }: RttTable, count = rttMs.length): TableSites {
  const given = Array.from({ length: count }, (_, row) =>
    readName(names?.[row] ?? `node-${row + 1}`, namesPlace),
  );
  checkNames(
    given.map(({ name }) => name),
    names ?? [],
    namesPlace,
  );
  checkZones(given, namesPlace);
  const farMs: FarMs = (a, b) => longerOf(rttMs[a]?.[b] ?? null, rttMs[b]?.[a] ?? null);
  const zones = withDerived(
    given.map(({ zone }) => zone),
    given.map(({ name }) => name),
    farMs,
    ZONE_MS,
    "zone",
  );
  const zoneNames = [...new Set(zones)];
  const rowsOf = zoneNames.map((zone) => zones.flatMap((each, row) => (each === zone ? [row] : [])));
  const regionOf = withDerived(
    rowsOf.map((rows) => given[rows.find((row) => given[row]?.region !== null) ?? -1]?.region ?? null),
    zoneNames,
    (a, b) => Math.max(...rowsOf[a]!.flatMap((from) => rowsOf[b]!.map((to) => farMs(from, to)))),
    REGION_MS,
    "region",
  );
  const sites = given.map(({ name }, row) => {
    const zone = zones[row]!;
    return { name, zone, region: regionOf[zoneNames.indexOf(zone)]!, row };
  });
  const isGiven = (field: "region" | "zone"): boolean => given.every((each) => each[field] !== null);
  const derived = [
    ...(isGiven("zone") ? [] : (["zones"] as const)),
    ...(isGiven("region") ? [] : (["regions"] as const)),
  ];
  return { sites, derived };
}

interface GivenName {
  readonly name: string;
  readonly zone: Label;
  readonly region: Label;
}

const REGION_OF_ZONE = /^((?:[a-z]+-)+[a-z]*\d+)-?[a-z]$/;

function readName(text: string, place: string): GivenName {
  const parts = text.split("/").map(labelOf);
  const [name = "", zone = null, region = null] = parts;
  if (parts.length > 3 || parts.includes(""))
    return fail(`${place}: a name must be node, node/zone or node/zone/region, got ${JSON.stringify(text)}`);
  const cloudRegion = REGION_OF_ZONE.exec(zone ?? name)?.[1] ?? null;
  return { name, zone: zone ?? (cloudRegion === null ? null : name), region: region ?? cloudRegion };
}

function labelOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z\d.]+/g, "-")
    .replace(/-*\.-*/g, ".")
    .replace(/^[-.]+|[-.]+$/g, "");
}

function checkNames(names: readonly string[], texts: readonly string[], place: string): void {
  const at = names.findIndex((name, row) => names.indexOf(name) !== row);
  if (at < 0) return;
  const both = [texts[names.indexOf(names[at]!)], texts[at]];
  fail(`${place}: names must differ in lower-case letters and digits, got ${JSON.stringify(both)}`);
}

function checkZones(given: readonly GivenName[], place: string): void {
  const regions = new Map<string, string>();
  for (const { zone, region } of given) {
    if (zone === null || region === null) continue;
    const before = regions.get(zone) ?? region;
    if (before !== region)
      fail(`${place}: a zone must be in one region, got ${zone} in ${before} and in ${region}`);
    regions.set(zone, region);
  }
}

/** Unmeasured pairs are far apart. */
function longerOf(a: number | null, b: number | null): number {
  return Math.max(a ?? b ?? Infinity, b ?? a ?? Infinity);
}

/** Derives missing labels. Labelled and unlabelled nodes share no group. */
function withDerived(
  labels: readonly Label[],
  members: readonly string[],
  farMs: FarMs,
  limitMs: number,
  kind: string,
): readonly string[] {
  const open = labels.flatMap((label, at) => (label === null ? [at] : []));
  const groups = groupsWithin(open, farMs, limitMs);
  const used = new Set(labels.filter((label) => label !== null));
  const filled = [...labels];
  for (const group of groups) {
    const name = groupName(group, members, kind, used);
    used.add(name);
    for (const at of group) filled[at] = name;
  }
  return filled.map((label, at) => label ?? members[at]!);
}

/** Complete linkage: merges the closest groups while all their pairs are within the limit. */
function groupsWithin(open: readonly number[], farMs: FarMs, limitMs: number): number[][] {
  const groups = open.map((at) => [at]);
  const apart = (a: readonly number[], b: readonly number[]): number =>
    Math.max(...a.flatMap((one) => b.map((other) => farMs(one, other))));
  for (;;) {
    let best = { ms: limitMs, a: -1, b: -1 };
    for (const [a, one] of groups.entries())
      for (const [b, other] of groups.entries()) {
        if (b <= a) continue;
        const ms = apart(one, other);
        if (ms < best.ms || (ms === best.ms && best.a < 0)) best = { ms, a, b };
      }
    if (best.a < 0) return groups;
    groups[best.a]!.push(...groups.splice(best.b, 1)[0]!);
  }
}

function groupName(
  group: readonly number[],
  members: readonly string[],
  kind: string,
  used: ReadonlySet<string>,
): string {
  const names = group.map((at) => members[at]!);
  const [first = ""] = names;
  if (names.length === 1 && !used.has(first)) return first;
  const shared = commonWords(names);
  const isOurs = members.every((name, at) => group.includes(at) || !`${name}-`.startsWith(`${shared}-`));
  if (shared !== "" && isOurs && !used.has(shared)) return shared;
  for (let number = 1; ; number++)
    if (!used.has(`${kind}-${number}`) && !members.includes(`${kind}-${number}`)) return `${kind}-${number}`;
}

function commonWords(names: readonly string[]): string {
  const [first = [], ...others] = names.map((name) => name.split("-"));
  const end = first.findIndex((word, at) => others.some((other) => other[at] !== word));
  return first.slice(0, end < 0 ? first.length : end).join("-");
}

function fail(message: string): never {
  throw new NetworkError("invalid_matrix", message);
}
