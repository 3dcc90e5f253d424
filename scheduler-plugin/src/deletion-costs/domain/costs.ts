// Ranks pods of a ReplicaSet by the loss that deleting them causes. Kubernetes deletes the lowest cost first;
// the default is 0.

/** Leaves room below for pods that orchestration wants removed. */
const LOWEST = -99;
/** Smaller differences don't count. One kilobyte per second, delayed by one millisecond. */
const LEAST = 1_000;
/** An existing order may violate losses by this share of the largest difference. */
const MARGIN_SHARE = 0.1;

interface RankedPod {
  /** Cost increase if the pod is deleted, bytes/s x ms. */
  readonly loss: number;
  /** Current deletion cost; 0 without one. */
  readonly cost: number;
}

export function newCosts(pods: readonly RankedPod[]): readonly number[] | null {
  const losses = pods.map(({ loss }) => loss);
  const [least, most] = [Math.min(...losses), Math.max(...losses)];
  const range = most - least;
  if (!(range > LEAST)) return pods.some(({ cost }) => cost !== 0) ? pods.map(() => 0) : null;
  if (isInOrder(pods, Math.max(LEAST, MARGIN_SHARE * range))) return null;
  // `|| 0` removes -0.
  return losses.map((loss) => Math.round((LOWEST * (most - loss)) / range) || 0);
}

/** True if no pod would be deleted before one with a lower loss. */
function isInOrder(pods: readonly RankedPod[], margin: number): boolean {
  return pods.every((pod) => pods.every((other) => pod.cost > other.cost || pod.loss <= other.loss + margin));
}
