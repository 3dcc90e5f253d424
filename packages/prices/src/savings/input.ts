import type { BilledGraphs } from "../bill.ts";
import type { BilledWorkflow, Name } from "../billed.ts";
import type { Change } from "../change.ts";
import type { PriceTable } from "../table.ts";

export interface ProposedMove extends Name {
  /** Name within the pod's namespace. */
  readonly workload: string;
  readonly from: string;
  readonly to: string;
}

/** Requests from one zone to a workload. */
export interface ZoneAsk {
  /** Null: nodes without a zone. */
  readonly zone: string | null;
  readonly bytesPerSecond: number;
  /** Null: some channel's requests are not counted. */
  readonly requestsPerSecond: number | null;
}

export interface Judgement {
  readonly verdict: "safe" | "starves" | "slower" | "unknown" | "without-effect";
  /** Empty if safe. */
  readonly reasons: readonly string[];
  /** Busiest endpoint's CPU use over capacity, with global and with zonal routing. */
  readonly loadNow: number | null;
  readonly loadThen: number | null;
}

export interface SavingsInput {
  readonly graphs: Omit<BilledGraphs, "workflows"> & { readonly workflows: readonly BilledWorkflow[] };
  readonly table: PriceTable;
  /** Null: unknown. */
  readonly roundTripMs: (from: string, to: string) => number | null;
  /** In execution order, or the reason for having none. */
  readonly movesOf: (workflow: Name) => readonly ProposedMove[] | string;
  /** @param asks by callers' zone, after the change */
  readonly judge: (workload: Name, asks: readonly ZoneAsk[], change: Change) => Judgement;
  /** Shell commands that apply it. */
  readonly commands: (services: readonly Name[], moves: readonly ProposedMove[]) => readonly string[];
  /** Maximum Services per workflow, by traffic. */
  readonly maxServices: number;
}
