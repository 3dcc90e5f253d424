// Similarity of nodes as a product of few features: shares in the nearest of coarse and fine centres.
// Positive definite by construction, unlike a kernel cut off at the nearest neighbours.
import type { Ensemble } from "./ensemble.ts";
import type { SimilarityState } from "./types.ts";

interface Level {
  readonly share: number;
  readonly most: number;
  /** Similarity that this level gives two nodes in one place. */
  readonly variance: number;
}

const LEVELS: readonly Level[] = [
  { share: 0.35, most: 300, variance: 0.3 },
  { share: 0.08, most: 60, variance: 0.25 },
];
const NEAREST = 3;
const OWN_VARIANCE = 0.2;

const TOTAL = LEVELS.reduce((sum, { variance }) => sum + variance, OWN_VARIANCE);

export const OWN_WEIGHT: number = OWN_VARIANCE / TOTAL;

interface Similarity {
  readonly state: SimilarityState;
  readonly centres: readonly Int32Array[];
}

/**
 * Inactive nodes are no centres.
 * @param before centres of the previous round, kept so that a node's features change only as far as it moved
 */
export function similarityOf(
  ensemble: Ensemble,
  nodes: number,
  active: (node: number) => boolean,
  before: readonly Int32Array[] | null,
): Similarity {
  const ids = [...Array(nodes).keys()].filter(active);
  const perNode = NEAREST * LEVELS.length;
  const feature = new Int32Array(nodes * perNode);
  const weight = new Float64Array(nodes * perNode);
  let features = 0;
  const centres = LEVELS.map(({ share, most, variance }, level) => {
    const count = Math.min(ids.length, most, Math.max(2, Math.ceil(share * ids.length)));
    const nearest = new NearestCentres(nodes);
    const given = (before?.[level] ?? []).filter(active).slice(0, count);
    const chosen = spreadCentres(ensemble, ids, { count, given }, nearest);
    for (const node of ids)
      nearest.shares(node, Math.sqrt(variance / TOTAL), (rank, centre, value) => {
        feature[node * perNode + level * NEAREST + rank] = features + centre;
        weight[node * perNode + level * NEAREST + rank] = value;
      });
    features += count;
    return chosen;
  });
  return { state: { features, perNode, feature, weight }, centres };
}

/** Each new centre is the node farthest from all earlier ones (Gonzalez, 1985). */
function spreadCentres(
  ensemble: Ensemble,
  ids: readonly number[],
  { count, given }: { readonly count: number; readonly given: ArrayLike<number> },
  nearest: NearestCentres,
): Int32Array {
  const centres = new Int32Array(count);
  let farthest = ids[0] ?? -1;
  for (let index = 0; index < count; index++) {
    const centre = index < given.length ? given[index]! : farthest;
    centres[index] = centre;
    let most = -1;
    for (const node of ids) {
      nearest.offer(node, index, ensemble.distance(centre, node));
      const distance = nearest.distance(node);
      if (distance > most) {
        most = distance;
        farthest = node;
      }
    }
  }
  return centres;
}

class NearestCentres {
  readonly #slots = NEAREST + 1;
  readonly #centres: Int32Array;
  readonly #distances: Float64Array;

  constructor(nodes: number) {
    this.#centres = new Int32Array(nodes * this.#slots).fill(-1);
    this.#distances = new Float64Array(nodes * this.#slots).fill(Infinity);
  }

  distance(node: number): number {
    return this.#distances[node * this.#slots]!;
  }

  offer(node: number, centre: number, distance: number): void {
    const start = node * this.#slots;
    let at = start + this.#slots - 1;
    if (distance >= this.#distances[at]!) return;
    for (; at > start && this.#distances[at - 1]! > distance; at--) {
      this.#distances[at] = this.#distances[at - 1]!;
      this.#centres[at] = this.#centres[at - 1]!;
    }
    this.#distances[at] = distance;
    this.#centres[at] = centre;
  }

  /** Shares fall linearly to 0 at the first excluded centre. Their squares sum to `length` squared. */
  shares(node: number, length: number, visit: (rank: number, centre: number, share: number) => void): void {
    const start = node * this.#slots;
    let known = 0;
    while (known < this.#slots && this.#centres[start + known]! >= 0) known++;
    const reach = this.#distances[start + known - 1]! + LEAST_REACH;
    const raw = (rank: number): number => Math.max(LEAST_SHARE, 1 - this.#distances[start + rank]! / reach);
    const used = Math.min(NEAREST, known);
    let squares = 0;
    for (let rank = 0; rank < used; rank++) squares += raw(rank) ** 2;
    for (let rank = 0; rank < used; rank++)
      visit(rank, this.#centres[start + rank]!, (length * raw(rank)) / Math.sqrt(squares));
  }
}

const LEAST_REACH = 1e-9;
const LEAST_SHARE = 1e-3;
