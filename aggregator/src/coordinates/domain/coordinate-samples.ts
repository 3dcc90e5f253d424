import type { ClusterGraphSnapshot, Link } from "@isochrone/topology";

interface FitNode {
  readonly name: string;
  readonly zone: string | null;
  readonly region: string | null;
}

/** Samples in columns, one row per ordered pair of node indexes. */
interface FitSamples {
  readonly source: Int32Array;
  readonly target: Int32Array;
  readonly rttMs: Float64Array;
  readonly count: Float64Array;
  /** Standard deviation of single replies, ms; NaN: unknown. */
  readonly spreadMs: Float64Array;
}

export interface FitInput {
  readonly nodes: readonly FitNode[];
  readonly samples: FitSamples;
}

/** Normal distribution: standard deviation divided by the mean difference of two draws. */
const DEVIATION_PER_JITTER = Math.sqrt(Math.PI) / 2;

/** One sample per measured pair, from its first link with a cost. Never mixes methods within a pair. */
export function fitInputOf({ nodes, links }: ClusterGraphSnapshot): FitInput {
  const indexes = new Map(nodes.map(({ name }, index) => [name, index]));
  const columns = new Columns(links.length);
  let last: Link | null = null;
  let source: number | undefined;
  for (const link of links) {
    if (!isSample(link) || (last !== null && isSamePair(last, link))) continue;
    if (last === null || last.source !== link.source) source = indexes.get(link.source);
    last = link;
    const target = indexes.get(link.target);
    if (source !== undefined && target !== undefined) columns.add(source, target, link);
  }
  return {
    nodes: nodes.map(({ name, zone, region }) => ({ name, zone, region })),
    samples: columns.filled(),
  };
}

/** Number of links that could be samples; a cheap indicator of change. */
export function sampleLinks({ links }: ClusterGraphSnapshot): number {
  let count = 0;
  for (const link of links) if (isSample(link)) count++;
  return count;
}

/** Returns true if both inputs give the same fit. Nodes are compared because their labels affect it. */
export function sameInput(a: FitInput, b: FitInput): boolean {
  return (
    a.nodes.length === b.nodes.length &&
    a.nodes.every((node, index) => sameNode(node, b.nodes[index]!)) &&
    sameColumn(a.samples.source, b.samples.source) &&
    sameColumn(a.samples.target, b.samples.target) &&
    sameColumn(a.samples.rttMs, b.samples.rttMs) &&
    sameColumn(a.samples.count, b.samples.count) &&
    sameColumn(a.samples.spreadMs, b.samples.spreadMs)
  );
}

function isSample({ origin, costMs, source, target }: Link): boolean {
  return costMs !== null && origin === "measured" && source !== target;
}

function isSamePair(a: Link, b: Link): boolean {
  return a.target === b.target && a.source === b.source;
}

/** Collects samples. There may be tens of thousands, and requests wait meanwhile. */
class Columns {
  readonly #all: FitSamples;
  #rows = 0;

  constructor(most: number) {
    this.#all = {
      source: new Int32Array(most),
      target: new Int32Array(most),
      rttMs: new Float64Array(most),
      count: new Float64Array(most),
      spreadMs: new Float64Array(most),
    };
  }

  add(source: number, target: number, { costMs, rttMs, jitterMs }: Link): void {
    const row = this.#rows++;
    const all = this.#all;
    all.source[row] = source;
    all.target[row] = target;
    all.rttMs[row] = costMs!;
    all.count[row] = rttMs.count;
    all.spreadMs[row] = jitterMs === null ? Number.NaN : jitterMs * DEVIATION_PER_JITTER;
  }

  filled(): FitSamples {
    const { source, target, rttMs, count, spreadMs } = this.#all;
    return {
      source: source.slice(0, this.#rows),
      target: target.slice(0, this.#rows),
      rttMs: rttMs.slice(0, this.#rows),
      count: count.slice(0, this.#rows),
      spreadMs: spreadMs.slice(0, this.#rows),
    };
  }
}

function sameNode(a: FitNode, b: FitNode): boolean {
  return a.name === b.name && a.zone === b.zone && a.region === b.region;
}

function sameColumn(a: Int32Array | Float64Array, b: Int32Array | Float64Array): boolean {
  if (a.length !== b.length) return false;
  for (let row = 0; row < a.length; row++) if (!Object.is(a[row], b[row])) return false;
  return true;
}
