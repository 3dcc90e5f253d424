// Seeded latencies and traffic that change over a day, from measured matrices or from generated zones.
import { seededRandom } from "@isochrone/runtime";
import type { Random } from "@isochrone/runtime";

export const HOUR_MS = 3_600_000;

interface DayNode {
  readonly name: string;
  readonly zone: string;
  readonly region: string;
}

interface DayWorkload {
  readonly name: string;
  readonly replicas: number;
}

interface DayChannel {
  readonly source: number;
  readonly target: number;
  /** Daily mean. */
  readonly bytesPerSecond: number;
  /** Time of the daily peak, as a share of the day. */
  readonly phase: number;
}

export interface Day {
  readonly nodes: readonly DayNode[];
  readonly workloads: readonly DayWorkload[];
  readonly channels: readonly DayChannel[];
  /** True cost, ms. */
  costMs(a: number, b: number, atMs: number): number;
  /** True rate, bytes per second. */
  rate(channel: number, atMs: number): number;
}

const ZONES = 6;
const PER_ZONE = 4;
const TIERS = [2, 4, 5, 3];
const STORES = 3;
/** Share of a channel's traffic that varies with the hour. */
const DAILY_SWING = 0.5;
const DAY_MS = 24 * HOUR_MS;

/** @param slices consecutive matrices of the day; empty: generated zones with occasional trouble */
export function day(seed: number, slices: readonly (readonly (readonly number[])[])[] = [], hours = 24): Day {
  const random = seededRandom(seed);
  const { workloads, channels } = application(random);
  const net = slices.length > 0 ? measured(random, slices, hours) : madeUp(random, hours);
  return {
    ...net,
    workloads,
    channels,
    rate: (channel, atMs) => {
      const { bytesPerSecond, phase } = channels[channel]!;
      return bytesPerSecond * (1 + DAILY_SWING * Math.sin(2 * Math.PI * (atMs / DAY_MS + phase)));
    },
  };
}

/** Builds tiers that call the next tier, and stores with one replica each that never move. */
function application(random: Random): Pick<Day, "workloads" | "channels"> {
  const workloads: DayWorkload[] = [];
  const tiers = TIERS.map((count, tier) =>
    Array.from({ length: count }, (_, index) => {
      workloads.push({ name: `t${tier}-${index}`, replicas: 2 + Math.floor(random.next() * 2) });
      return workloads.length - 1;
    }),
  );
  const stores = Array.from({ length: STORES }, (_, index) => {
    workloads.push({ name: `db-${index}`, replicas: 1 });
    return workloads.length - 1;
  });
  const channels: DayChannel[] = [];
  for (const [tier, members] of tiers.entries()) {
    const behind = tiers[tier + 1] ?? stores;
    for (const source of members) {
      const targets = new Set([pick(random, behind), pick(random, behind)]);
      if (random.next() < 0.4) targets.add(pick(random, stores));
      for (const target of targets) {
        const bytesPerSecond = Math.round(10 ** (4 + 2 * random.next()));
        channels.push({ source, target, bytesPerSecond, phase: random.next() });
      }
    }
  }
  return { workloads, channels };
}

function madeUp(random: Random, hours: number): Pick<Day, "nodes" | "costMs"> {
  const nodes = Array.from({ length: ZONES * PER_ZONE }, (_, index) => {
    const zone = Math.floor(index / PER_ZONE);
    return { name: `n${index}`, zone: `z${zone}`, region: `r${Math.floor(zone / 2)}` };
  });
  const factor = pairTable(nodes.length, () => 0.85 + 0.3 * random.next());
  /** For a while, one zone is this much farther from all others. */
  const troubles = Array.from({ length: Math.ceil(hours / 3) }, () => {
    const fromMs = random.next() * hours * HOUR_MS;
    return {
      zone: `z${Math.floor(random.next() * ZONES)}`,
      fromMs,
      toMs: fromMs + (1 + 4 * random.next()) * HOUR_MS,
      ms: 10 + 40 * random.next(),
    };
  });
  const slow = pairTable(ZONES, () => random.next());
  const zoneIndex = (node: DayNode): number => Number(node.zone.slice(1));
  return {
    nodes,
    costMs: (a, b, atMs) => {
      if (a === b) return 0;
      const [x, y] = [nodes[a]!, nodes[b]!];
      const base = x.zone === y.zone ? 0.8 : x.region === y.region ? 8 : 45;
      const phase = slow[zoneIndex(x)]![zoneIndex(y)]!;
      const swing = x.zone === y.zone ? 1 : 1 + 0.3 * Math.sin(2 * Math.PI * (atMs / DAY_MS + phase));
      const extra = troubles
        .filter(
          ({ zone, fromMs, toMs }) =>
            atMs >= fromMs && atMs < toMs && (x.zone === zone) !== (y.zone === zone),
        )
        .reduce((sum, { ms }) => sum + ms, 0);
      return base * factor[a]![b]! * swing + extra;
    },
  };
}

/** Hosts around randomly chosen ones form a zone each. Latencies between two slices are interpolated. */
function measured(
  random: Random,
  slices: readonly (readonly (readonly number[])[])[],
  hours: number,
): Pick<Day, "nodes" | "costMs"> {
  const first = slices[0]!;
  const isKnown = (a: number, b: number): boolean =>
    slices.every((slice) => (slice[a]?.[b] ?? 0) > 0 && (slice[b]?.[a] ?? 0) > 0);
  const left = new Set(first.keys());
  const chosen: { readonly host: number; readonly zone: number }[] = [];
  for (let zone = 0; zone < ZONES; zone++) {
    const centre = pick(
      random,
      [...left].filter((host) => chosen.every((one) => isKnown(one.host, host))),
    );
    left.delete(centre);
    const members = [centre];
    const near = [...left].sort((a, b) => (first[centre]![a] ?? 0) - (first[centre]![b] ?? 0));
    for (const host of near) {
      if (members.length === PER_ZONE) break;
      if (![...members, ...chosen.map((one) => one.host)].every((one) => isKnown(one, host))) continue;
      members.push(host);
      left.delete(host);
    }
    chosen.push(...members.map((host) => ({ host, zone })));
  }
  const nodes = chosen.map(({ zone }, index) => ({
    name: `n${index}`,
    zone: `z${zone}`,
    region: `r${zone}`,
  }));
  const spanMs = (hours * HOUR_MS) / Math.max(1, slices.length - 1);
  return {
    nodes,
    costMs: (a, b, atMs) => {
      if (a === b) return 0;
      const [from, to] = [chosen[a]!.host, chosen[b]!.host];
      const at = Math.min(Math.floor(atMs / spanMs), slices.length - 1);
      const next = Math.min(at + 1, slices.length - 1);
      const share = atMs / spanMs - at;
      return slices[at]![from]![to]! * (1 - share) + slices[next]![from]![to]! * share;
    },
  };
}

function pairTable(size: number, value: () => number): number[][] {
  const table = Array.from({ length: size }, () => Array.from({ length: size }, () => 0));
  for (let a = 0; a < size; a++) for (let b = a; b < size; b++) table[a]![b] = table[b]![a] = value();
  return table;
}

function pick<T>(random: Random, items: readonly T[]): T {
  const item = items[Math.floor(random.next() * items.length)];
  if (item === undefined)
    throw new Error("there is nothing to pick from: the matrices hold too few measured pairs");
  return item;
}
