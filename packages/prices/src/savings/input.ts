import type { BilledGraphs } from "../bill.ts";
import type { BilledWorkflow, Name } from "../billed.ts";
import type { Change } from "../change.ts";
import type { PriceTable } from "../table.ts";

export interface ProposedMove extends Name {
  readonly workload: string;
  readonly from: string;
  readonly to: string;
}

export interface ZoneAsk {
  readonly zone: string | null;
  readonly bytesPerSecond: number;
  /** Null: some channel's requests are not counted. */
  readonly requestsPerSecond: number | null;
}

export interface Judgement {
  readonly verdict: "safe" | "starves" | "slower" | "unknown" | "without-effect";
  readonly reasons: readonly string[];
  /** Busiest endpoint's CPU use over capacity, with global and with zonal routing. */
  readonly loadNow: number | null;
  readonly loadThen: number | null;
}

export interface SavingsInput {
  readonly graphs: Omit<BilledGraphs, "workflows"> & { readonly workflows: readonly BilledWorkflow[] };
  readonly table: PriceTable;
  readonly roundTripMs: (from: string, to: string) => number | null;
  /** In execution order, or the reason for having none. */
  readonly movesOf: (workflow: Name) => readonly ProposedMove[] | string;
  readonly judge: (workload: Name, asks: readonly ZoneAsk[], change: Change) => Judgement;
  readonly commands: (services: readonly Name[], moves: readonly ProposedMove[]) => readonly string[];
  /** Maximum Services per workflow, by traffic. */
  readonly maxServices: number;
}
