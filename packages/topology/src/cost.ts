import type { Method } from "@isochrone/telemetry";
import type { ClusterNode, CoordinateFit, Origin } from "./schema.ts";

/** What it costs to talk from one node to another, or why that isn't known. Unknown is never 0. */
export type Cost = KnownCost | UnknownCost;

interface KnownCost {
  readonly known: true;
  /** Milliseconds of a round trip that the first node starts; a declared cost is in its declarer's unit. */
  readonly ms: number;
  readonly origin: Origin;
  /** null for estimates, declared costs of areas, and a node's cost to itself. */
  readonly method: Method | null;
  /** Age of the sample (of an estimate's oldest input) when the snapshot was taken; null when not known. */
  readonly ageSeconds: number | null;
  /** How far `ms` may be from the truth, about two standard errors; null when not known. */
  readonly errorMs: number | null;
}

interface UnknownCost {
  readonly known: false;
  readonly reason: UnknownReason;
}

/**
 * `unmeasured`: nobody probed it and nothing estimates it. `unreachable`: probed, and never answered within
 * the window. `stale`: the only figure is too old. `unknown_node`: a name that the graph doesn't hold.
 */
export type UnknownReason = "unmeasured" | "unreachable" | "stale" | "unknown_node";

/** An estimate of the cost between two nodes, e.g. from network coordinates; null when it can't say. */
export type CostEstimator = (
  a: ClusterNode,
  b: ClusterNode,
) => { readonly ms: number; readonly errorMs: number | null } | null;

/** Costs that somebody declared between zones or regions instead of between nodes. */
export interface DeclaredAreaCosts {
  /** By zone, for nodes of one region: `costs.get(from)?.get(to)`. */
  readonly zones: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** By region, for nodes of different regions. */
  readonly regions: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Between two nodes of one zone; null = not declared. */
  readonly sameZone: number | null;
  /** Milliseconds that a cost of 1 stands for. @default 1 */
  readonly unitMs?: number;
}

/** How a ClusterGraph looks costs up. */
export interface CostOptions {
  /**
   * A pair measured by several methods is looked up by the first of these that has a figure.
   * @default the snapshot's own order, else {@link DEFAULT_METHOD_ORDER}
   */
  readonly methodOrder?: readonly Method[];
  /** Which IP family comes first, for equal methods. @default 4, 6 */
  readonly ipFamilyOrder?: readonly (4 | 6)[];
  /** Figures older than this are stale. @default three windows of the snapshot */
  readonly maxAgeSeconds?: number;
  /** How old the snapshot itself is; added to each age. @default 0 */
  readonly snapshotAgeSeconds?: number;
  /**
   * Fills in pairs without a link when both nodes have coordinates.
   * @default {@link coordinateEstimator} while the snapshot's coordinates are young enough
   */
  readonly estimate?: CostEstimator;
  readonly declared?: DeclaredAreaCosts;
}

/**
 * The nearest to what workloads send comes first. A handshake is answered by whatever proxy ends the
 * connection on the way, which would look like no distance at all; so it comes last, behind the echo that
 * some networks put off.
 */
export const DEFAULT_METHOD_ORDER: readonly Method[] = ["udp_rr", "tcp_rr", "icmp", "tcp_connect"];

/** Windows after which a figure is stale (design §6: graph data after three windows). */
export const STALE_AFTER_WINDOWS = 3;

/**
 * Estimates by the nodes' published coordinates [x..., height]: |x_a - x_b| + height_a + height_b. The fit
 * itself knows more of each pair than they say; half the width of the 90 % interval is its relative error in
 * 90 % of the pairs that it was not shown.
 */
export function coordinateEstimator({ p90RelativeError }: CoordinateFit): CostEstimator {
  return (a, b) => {
    const ms = coordinateDistanceMs(a.coordinate, b.coordinate);
    return ms === null ? null : { ms, errorMs: p90RelativeError === null ? null : ms * p90RelativeError };
  };
}

/** Null when one isn't known, or when they aren't of one kind. */
function coordinateDistanceMs(a: readonly number[] | null, b: readonly number[] | null): number | null {
  if (a === null || b === null || a.length !== b.length || a.length < 2) return null;
  const height = a.length - 1;
  let square = 0;
  for (let axis = 0; axis < height; axis++) square += (a[axis]! - b[axis]!) ** 2;
  const ms = Math.sqrt(square) + a[height]! + b[height]!;
  return ms >= 0 && ms < Infinity ? ms : null;
}
