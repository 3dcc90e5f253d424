import type { Method } from "@isochrone/telemetry";
import type { ClusterNode, Origin } from "./schema.ts";

/** What it costs to talk from one node to another, or why that isn't known. Unknown is never 0. */
export type Cost = KnownCost | UnknownCost;

export interface KnownCost {
  readonly known: true;
  /** Milliseconds of a round trip that the first node starts; a declared cost is in its declarer's unit. */
  readonly ms: number;
  readonly origin: Origin;
  /** null for estimates, declared costs of areas, and a node's cost to itself. */
  readonly method: Method | null;
  /** Age of the sample (of an estimate's oldest input) when the snapshot was taken; null when not known. */
  readonly ageSeconds: number | null;
  /** Uncertainty of `ms`; null when not known. */
  readonly errorMs: number | null;
}

export interface UnknownCost {
  readonly known: false;
  readonly reason: UnknownReason;
}

/**
 * `unmeasured`: nobody probed it and nothing estimates it. `unreachable`: probed, and never answered within the window.
 * `stale`: the only figure is too old. `unknown_node`: a name that the graph doesn't hold.
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
}

/** How a ClusterGraph looks costs up. */
export interface CostOptions {
  /** A pair measured by several methods is looked up by the first of these that has a figure. @default icmp, udp_rr, tcp_rr */
  readonly methodOrder?: readonly Method[];
  /** Which IP family comes first, for equal methods. @default 4, 6 */
  readonly ipFamilyOrder?: readonly (4 | 6)[];
  /** Figures older than this are stale. @default three windows of the snapshot */
  readonly maxAgeSeconds?: number;
  /** How old the snapshot itself is; added to each age. @default 0 */
  readonly snapshotAgeSeconds?: number;
  /** Fills in pairs without a link when both nodes have coordinates. @default none */
  readonly estimate?: CostEstimator;
  readonly declared?: DeclaredAreaCosts;
}

/** Windows after which a figure is stale (design §6: graph data after three windows). */
export const STALE_AFTER_WINDOWS = 3;
