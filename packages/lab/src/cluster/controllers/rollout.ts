// Sizes of a Deployment's ReplicaSets, computed as in kube-controller-manager.
import { looseFields } from "@isochrone/primitives";

export interface RolloutStrategy {
  readonly type?: string;
  readonly rollingUpdate?: { readonly maxSurge?: number | string; readonly maxUnavailable?: number | string };
}

interface Size {
  readonly wanted: number;
  readonly running: number;
  readonly ready: number;
}

interface Rollout {
  readonly replicas: number;
  readonly strategy: RolloutStrategy;
  readonly current: Size;
  readonly old: readonly Size[];
}

/** The API server's default of both limits. */
const QUARTER = "25%";

/** Returns the next spec.replicas of each ReplicaSet. */
export function rolloutSizes({ replicas, strategy, current, old }: Rollout): {
  readonly current: number;
  readonly old: readonly number[];
} {
  if (strategy.type === "Recreate") {
    const isRunning = old.some(({ running }) => running > 0);
    return { current: isRunning ? current.wanted : replicas, old: old.map(() => 0) };
  }
  const { maxSurge = QUARTER, maxUnavailable = QUARTER } = looseFields<
    NonNullable<RolloutStrategy["rollingUpdate"]>
  >(strategy.rollingUpdate);
  const surge = podsOf(maxSurge, replicas, Math.ceil);
  const unavailable = podsOf(maxUnavailable, replicas, Math.floor);
  const wanted = sum([current, ...old], (size) => size.wanted);
  const room = Math.max(0, replicas + surge - wanted);
  const next = Math.min(replicas, current.wanted + room);
  // The API server forbids two zeros, but rounding can cause them.
  const least = replicas - (surge === 0 && unavailable === 0 ? 1 : unavailable);
  const missing = Math.max(0, next - current.ready);
  let spare = wanted + (next - current.wanted) - least - missing;
  // Removing unready pods costs no availability.
  const cleaned = old.map((size) => {
    const gone = Math.min(Math.max(0, spare), Math.max(0, size.wanted - size.ready));
    spare -= gone;
    return { ...size, wanted: size.wanted - gone };
  });
  let fewer = Math.max(0, Math.min(spare, current.ready + sum(cleaned, (size) => size.ready) - least));
  return {
    current: next,
    old: cleaned.map((size) => {
      const gone = Math.min(fewer, size.wanted);
      fewer -= gone;
      return size.wanted - gone;
    }),
  };
}

function podsOf(limit: unknown, replicas: number, round: (value: number) => number): number {
  if (typeof limit === "number") return limit;
  return round((Number.parseInt(String(limit), 10) / 100) * replicas);
}

function sum(sizes: readonly Size[], of: (size: Size) => number): number {
  return sizes.reduce((total, size) => total + of(size), 0);
}
