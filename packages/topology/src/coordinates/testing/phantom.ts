// Networks with known truth, after serf's coordinate/phantom.go: generators, simulated probes and error
// measures.
import { seeded, type Draw } from "@isochrone/primitives";
import { gaussian } from "../random.ts";
import type { CoordinateInput, CoordinateModel } from "../index.ts";
import type { CoordinateNode } from "../types.ts";

/** A synthetic network: round-trip ms by ordered pair. NaN: never answers. */
export interface Phantom {
  readonly nodes: readonly CoordinateNode[];
  readonly rttMs: (source: number, target: number) => number;
}

function named(size: number): CoordinateNode[] {
  return Array.from({ length: size }, (_, index) => ({ name: `n${index}`, zone: null, region: null }));
}

export function line(size: number, spacingMs: number): Phantom {
  return { nodes: named(size), rttMs: (a, b) => spacingMs * Math.abs(a - b) };
}

export function grid(size: number, spacingMs: number): Phantom {
  const side = Math.ceil(Math.sqrt(size));
  const apart = (a: number, b: number): number =>
    Math.hypot((a % side) - (b % side), Math.floor(a / side) - Math.floor(b / side));
  return { nodes: named(size), rttMs: (a, b) => spacingMs * apart(a, b) };
}

export function split(size: number, lanMs: number, wanMs: number): Phantom {
  const half = size / 2;
  return { nodes: named(size), rttMs: (a, b) => lanMs + (a < half === b < half ? 0 : wanMs) };
}

/** A circle. Node 0 is twice the radius from all others: only a height explains it. */
export function circle(size: number, radiusMs: number): Phantom {
  const angle = (2 * Math.PI) / (size - 1);
  const apart = (a: number, b: number): number =>
    a === 0 || b === 0 ? 2 * radiusMs : 2 * radiusMs * Math.abs(Math.sin((angle * (a - b)) / 2));
  return { nodes: named(size), rttMs: apart };
}

/** A network of noise around a mean, without geometry. */
export function scattered(size: number, meanMs: number, deviationMs: number, seed: number): Phantom {
  const random = seeded(seed);
  return symmetric(named(size), () => Math.max(1, meanMs + deviationMs * gaussian(random)));
}

/** 3 regions of 3 zones: 0.2 ms in a zone to 100 ms between regions; 6 % is a pair's own. */
export function regions(size: number, seed: number, labels: boolean): Phantom {
  const random = seeded(seed);
  const nodes = named(size).map(({ name }, index) => ({
    name,
    zone: labels ? `z${index % 9}` : null,
    region: labels ? `r${Math.floor((index % 9) / 3)}` : null,
  }));
  const between = areaTimes(random);
  const heights = Float64Array.from(nodes, () => 0.04 + 0.12 * random());
  return symmetric(
    nodes,
    (a, b) => (between[a % 9]![b % 9]! + heights[a]! + heights[b]!) * Math.exp(0.06 * gaussian(random)),
  );
}

function areaTimes(random: Draw): number[][] {
  const region: number[][] = [];
  for (let a = 0; a < 3; a++) region.push(Array.from({ length: 3 }, () => 15 + 85 * random()));
  const zone = Array.from({ length: 9 }, () => Array.from({ length: 9 }, () => 0.12));
  for (let a = 0; a < 9; a++) {
    for (let b = 0; b < a; b++) {
      const [from, to] = [Math.floor(b / 3), Math.floor(a / 3)];
      const far = region[from]![to]! * (1 + 0.03 * gaussian(random));
      zone[a]![b] = from === to ? 0.6 + 1.6 * random() : far;
      zone[b]![a] = zone[a]![b]!;
    }
  }
  return zone;
}

function symmetric(nodes: CoordinateNode[], rttMs: (a: number, b: number) => number): Phantom {
  const size = nodes.length;
  const times = new Float64Array(size * size);
  for (let a = 0; a < size; a++)
    for (let b = 0; b < a; b++) times[a * size + b] = times[b * size + a] = rttMs(a, b);
  return { nodes, rttMs: (a, b) => times[a * size + b]! };
}

interface Probing {
  readonly peers: number;
  readonly count: number;
  readonly noise?: number;
  readonly seed: number;
}

export function probed(
  { nodes, rttMs }: Phantom,
  { peers, count, noise = 0, seed }: Probing,
): CoordinateInput {
  const random = seeded(seed);
  const rows: { source: number; target: number; rttMs: number; spreadMs: number }[] = [];
  for (let source = 0; source < nodes.length; source++) {
    for (const target of peersOf(source, nodes.length, peers, random)) {
      const truth = rttMs(source, target);
      if (Number.isNaN(truth)) continue;
      const replies = Array.from(
        { length: count },
        () => truth * Math.max(0.01, 1 + noise * gaussian(random)),
      );
      replies.sort((a, b) => a - b);
      rows.push({
        source,
        target,
        rttMs: (replies[count >> 1]! + replies[(count - 1) >> 1]!) / 2,
        spreadMs: noise * truth,
      });
    }
  }
  return {
    nodes,
    samples: {
      source: Int32Array.from(rows, (row) => row.source),
      target: Int32Array.from(rows, (row) => row.target),
      rttMs: Float64Array.from(rows, (row) => row.rttMs),
      count: Int32Array.from(rows, () => count),
      spreadMs: Float64Array.from(rows, (row) => row.spreadMs),
    },
  };
}

function peersOf(source: number, size: number, peers: number, random: Draw): number[] {
  const others = Array.from({ length: size }, (_, index) => index).filter((index) => index !== source);
  const count = Math.min(peers, others.length);
  for (let at = 0; at < count; at++) {
    const other = at + Math.floor(random() * (others.length - at));
    [others[at], others[other]] = [others[other]!, others[at]!];
  }
  return others.slice(0, count);
}

interface PhantomErrors {
  readonly median: number;
  readonly p90: number;
  readonly meanMs: number;
  /** Share of unmeasured pairs whose truth lies in the stated interval. */
  readonly coverage: number;
}

export function evaluate(
  { nodes, rttMs }: Phantom,
  model: CoordinateModel,
  input: CoordinateInput,
): PhantomErrors {
  const size = nodes.length;
  const sampled = new Set<number>();
  for (let row = 0; row < input.samples.source.length; row++) {
    sampled.add(input.samples.source[row]! * size + input.samples.target[row]!);
    sampled.add(input.samples.target[row]! * size + input.samples.source[row]!);
  }
  const relative: number[] = [];
  let sumMs = 0;
  let unseen = 0;
  let covered = 0;
  for (let a = 0; a < size; a++) {
    for (let b = 0; b < size; b++) {
      if (a === b) continue;
      const truth = rttMs(a, b);
      const estimate = model.estimate(a, b)!;
      relative.push(Math.abs(estimate.rttMs - truth) / truth);
      sumMs += Math.abs(estimate.rttMs - truth);
      if (sampled.has(a * size + b)) continue;
      unseen++;
      if (truth >= estimate.lowMs && truth <= estimate.highMs) covered++;
    }
  }
  relative.sort((x, y) => x - y);
  return {
    median: relative[Math.floor(0.5 * relative.length)]!,
    p90: relative[Math.floor(0.9 * relative.length)]!,
    meanMs: sumMs / relative.length,
    coverage: covered / unseen,
  };
}
