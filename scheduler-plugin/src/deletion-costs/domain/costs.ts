// Deletion costs by how much pods of a ReplicaSet are missed. Kubernetes deletes the lowest first; a pod
// without one has 0.

/** Leaves room below for pods that orchestration wants gone. */
const LOWEST = -99;
/** Less is no difference: a kilobyte per second one millisecond longer. */
const LEAST = 1_000;
/** Losses of an order that stays may differ by this share of the largest difference. */
const MARGIN_SHARE = 0.1;

/** A pod of one ReplicaSet. */
interface RankedPod {
  /** What is paid when it is gone, bytes/s x ms. */
  readonly loss: number;
  /** That it has; 0: none. */
  readonly cost: number;
}

/** For each pod, in order; null: what they have is in order, as far as it matters. */
export function newCosts(pods: readonly RankedPod[]): readonly number[] | null {
  const losses = pods.map(({ loss }) => loss);
  const [least, most] = [Math.min(...losses), Math.max(...losses)];
  const range = most - least;
  // Nobody is missed more than another one.
  if (!(range > LEAST)) return pods.some(({ cost }) => cost !== 0) ? pods.map(() => 0) : null;
  if (isInOrder(pods, Math.max(LEAST, MARGIN_SHARE * range))) return null;
  // No -0, which isn't 0 to everybody.
  return losses.map((loss) => Math.round((LOWEST * (most - loss)) / range) || 0);
}

/** Whether none goes before one that is missed less, or as soon. */
function isInOrder(pods: readonly RankedPod[], margin: number): boolean {
  return pods.every((pod) => pods.every((other) => pod.cost > other.cost || pod.loss <= other.loss + margin));
}
