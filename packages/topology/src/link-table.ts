// One record per ordered node pair, in compressed sparse rows: 80,000 records of 25 bytes at 5,000 nodes with
// 16 peers.
import { METHODS } from "@isochrone/telemetry";
import type { Method } from "@isochrone/telemetry";
import type { Link, Origin } from "./schema.ts";

export const PAIR_STATE = {
  measured: 0,
  declared: 1,
  estimated: 2,
  unreachable: 3,
  stale: 4,
  unmeasured: 5,
} as const;
export type PairState = (typeof PAIR_STATE)[keyof typeof PAIR_STATE];

const ORIGIN_STATE: Readonly<Record<Origin, PairState>> = {
  measured: PAIR_STATE.measured,
  declared: PAIR_STATE.declared,
  estimated: PAIR_STATE.estimated,
};

interface LinkPreference {
  readonly methodOrder: readonly Method[];
  readonly ipFamilyOrder: readonly (4 | 6)[];
  readonly maxAgeSeconds: number;
  readonly snapshotAgeSeconds: number;
}

export class LinkTable {
  /** Records of source a are at rowStart[a] .. rowStart[a + 1] - 1, sorted by target. */
  readonly rowStart: Int32Array;
  readonly target: Int32Array;
  readonly state: Uint8Array;
  /** Cost in milliseconds. NaN: the state has no figure. */
  readonly costMs: Float64Array;
  readonly #links: readonly Link[];

  constructor(nodeCount: number, pairs: readonly PairRecord[]) {
    const sorted = [...pairs].sort((x, y) => x.source - y.source || x.target - y.target);
    this.rowStart = new Int32Array(nodeCount + 1);
    this.target = new Int32Array(sorted.length);
    this.state = new Uint8Array(sorted.length);
    this.costMs = new Float64Array(sorted.length);
    this.#links = sorted.map((pair) => pair.link);
    for (const [at, pair] of sorted.entries()) {
      this.rowStart[pair.source + 1]!++;
      this.target[at] = pair.target;
      this.state[at] = pair.state;
      this.costMs[at] = hasFigure(pair.state) ? pair.link.costMs! : Number.NaN;
    }
    for (let node = 0; node < nodeCount; node++) this.rowStart[node + 1]! += this.rowStart[node]!;
  }

  find(source: number, target: number): number {
    let low = this.rowStart[source]!;
    let high = this.rowStart[source + 1]! - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const found = this.target[middle]!;
      if (found === target) return middle;
      if (found < target) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  link(at: number): Link {
    return this.#links[at]!;
  }

  get size(): number {
    return this.target.length;
  }
}

interface PairRecord {
  readonly source: number;
  readonly target: number;
  readonly state: PairState;
  readonly link: Link;
}

export function hasFigure(state: PairState): boolean {
  return state <= PAIR_STATE.estimated;
}

export function pairRecords(
  links: readonly Link[],
  idOf: (name: string) => number,
  preference: LinkPreference,
): { pairs: PairRecord[]; ignored: number } {
  const groups = new Map<number, Link[]>();
  let ignored = 0;
  for (const link of links) {
    const source = idOf(link.source);
    const target = idOf(link.target);
    if (source < 0 || target < 0 || source === target) {
      ignored++;
      continue;
    }
    const key = source * PAIR_FACTOR + target;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [link]);
    else group.push(link);
  }
  const pairs: PairRecord[] = [];
  for (const [key, group] of groups) {
    const { link, state } = believed(group, preference);
    pairs.push({ source: Math.floor(key / PAIR_FACTOR), target: key % PAIR_FACTOR, link, state });
  }
  return { pairs, ignored };
}

/** Factor of pair keys, above the number of nodes; its square is a safe integer. */
const PAIR_FACTOR = 2 ** 24;

/**
 * Prefers figures, then measured over declared over estimated, then the method order. Without a fresh figure,
 * one unanswered method makes the pair unreachable.
 */
function believed(group: readonly Link[], preference: LinkPreference): { link: Link; state: PairState } {
  let best: { link: Link; state: PairState; rank: number } | null = null;
  for (const link of group) {
    const state = stateOf(link, preference);
    const rank = STATE_RANK[state]! * METHOD_STRIDE + methodRank(link, preference);
    if (best === null || rank < best.rank) best = { link, state, rank };
  }
  return best!;
}

/** Ranks by PairState: declared or estimated figures must not hide unanswered probes. */
const STATE_RANK = [0, 2, 3, 1, 4, 5];
const METHOD_STRIDE = 1_000;

function stateOf(link: Link, { maxAgeSeconds, snapshotAgeSeconds }: LinkPreference): PairState {
  if (link.origin === "measured" && link.lossRatio === 1) return PAIR_STATE.unreachable;
  if (link.costMs === null) return PAIR_STATE.unmeasured;
  if (link.ageSeconds !== null && link.ageSeconds + snapshotAgeSeconds > maxAgeSeconds)
    return PAIR_STATE.stale;
  return ORIGIN_STATE[link.origin];
}

function methodRank(link: Link, { methodOrder, ipFamilyOrder }: LinkPreference): number {
  const method = methodOrder.indexOf(link.method);
  const family = ipFamilyOrder.indexOf(link.ipFamily);
  return (method < 0 ? METHODS.length : method) * 10 + (family < 0 ? 9 : family);
}
