import type { Method } from "@isochrone/telemetry";
import type { ClusterNode, CoordinateFit, Origin } from "./schema.ts";

/** Round-trip cost between nodes, or why it is unknown. Unknown is never 0. */
export type Cost = KnownCost | UnknownCost;

interface KnownCost {
  readonly known: true;
  /** Milliseconds of a round trip, or the declarer's unit. */
  readonly ms: number;
  readonly origin: Origin;
  /** Method of measurement. Null: estimated, declared between areas, or the node itself. */
  readonly method: Method | null;
  /** Age of the figure, or of an estimate's oldest input. Null: unknown. */
  readonly ageSeconds: number | null;
  /** Error of `ms`, about two standard errors. Null: unknown. */
  readonly errorMs: number | null;
}

interface UnknownCost {
  readonly known: false;
  readonly reason: UnknownReason;
}

/**
 * `unmeasured`: not probed or estimated. `unreachable`: no probe was answered in the window. `stale`: the
 * only figure is too old. `unknown_node`: not in the graph.
 */
export type UnknownReason = "unmeasured" | "unreachable" | "stale" | "unknown_node";

export type CostEstimator = (
  a: ClusterNode,
  b: ClusterNode,
) => { readonly ms: number; readonly errorMs: number | null } | null;

export interface DeclaredAreaCosts {
  /** Costs between zones of a region: `costs.get(from)?.get(to)`. */
  readonly zones: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Costs between regions. */
  readonly regions: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Cost between nodes of one zone. Null: not declared. */
  readonly sameZone: number | null;
  /** Milliseconds per unit of cost. @default 1 */
  readonly unitMs?: number;
}

export interface CostOptions {
  /** Preferred methods. @default the snapshot's order, else {@link DEFAULT_METHOD_ORDER} */
  readonly methodOrder?: readonly Method[];
  /** Preferred IP families for equal methods. @default 4, 6 */
  readonly ipFamilyOrder?: readonly (4 | 6)[];
  /** Age at which a figure is stale. @default three windows of the snapshot */
  readonly maxAgeSeconds?: number;
  /** Age of the snapshot, added to each age. @default 0 */
  readonly snapshotAgeSeconds?: number;
  readonly estimate?: CostEstimator;
  readonly declared?: DeclaredAreaCosts;
}

/**
 * Closest to workload traffic first. `tcp_connect` is last, because a proxy may answer the handshake; before
 * it comes the echo that some networks deprioritize.
 */
export const DEFAULT_METHOD_ORDER: readonly Method[] = ["udp_rr", "tcp_rr", "icmp", "tcp_connect"];

/** Windows after which a figure is stale. */
export const STALE_AFTER_WINDOWS = 3;

/**
 * Estimates |x_a - x_b| + height_a + height_b from published coordinates [x..., height]. The fit's 90 %
 * relative error on held-out pairs gives the error.
 */
export function coordinateEstimator({ p90RelativeError }: CoordinateFit): CostEstimator {
  return (a, b) => {
    const ms = coordinateDistanceMs(a.coordinate, b.coordinate);
    return ms === null ? null : { ms, errorMs: p90RelativeError === null ? null : ms * p90RelativeError };
  };
}

/** Distance by coordinates. Null: one is missing, or dimensions differ. */
function coordinateDistanceMs(a: readonly number[] | null, b: readonly number[] | null): number | null {
  if (a === null || b === null || a.length !== b.length || a.length < 2) return null;
  const height = a.length - 1;
  let square = 0;
  for (let axis = 0; axis < height; axis++) square += (a[axis]! - b[axis]!) ** 2;
  const ms = Math.sqrt(square) + a[height]! + b[height]!;
  return ms >= 0 && ms < Infinity ? ms : null;
}
