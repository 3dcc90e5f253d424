import type { BilledGraphs } from "../bill.ts";
import type { BilledWorkflow, Name } from "../billed.ts";
import type { Change } from "../change.ts";
import type { PriceTable } from "../table.ts";

/** A move that the planner proposes. */
export interface ProposedMove extends Name {
  /** Name of the pod's workload in its namespace. */
  readonly workload: string;
  readonly from: string;
  readonly to: string;
}

/** What the callers in a zone ask of a workload. */
export interface ZoneAsk {
  /** null: their nodes have none. */
  readonly zone: string | null;
  readonly bytesPerSecond: number;
  /** null: nobody counts the requests of some channel. */
  readonly requestsPerSecond: number | null;
}

/** Whether each zone's ready endpoints carry what its callers ask, when nothing leaves its zone. */
export interface Judgement {
  readonly verdict: "safe" | "starves" | "slower" | "unknown" | "without-effect";
  /** Why, in words; empty where it is safe. */
  readonly reasons: readonly string[];
  /** CPU use over capacity of the busiest endpoint, with requests to all, and to the own zone. */
  readonly loadNow: number | null;
  readonly loadThen: number | null;
}

export interface SavingsInput {
  readonly graphs: Omit<BilledGraphs, "workflows"> & { readonly workflows: readonly BilledWorkflow[] };
  readonly table: PriceTable;
  /** Round trip between two nodes; null: unknown. */
  readonly roundTripMs: (from: string, to: string) => number | null;
  /** In the order in which they are to be made; why there are none, in words. */
  readonly movesOf: (workflow: Name) => readonly ProposedMove[] | string;
  /** @param asks by zone of the callers, after the change */
  readonly judge: (workload: Name, asks: readonly ZoneAsk[], change: Change) => Judgement;
  /** What carries it out, to be entered in a shell. */
  readonly commands: (services: readonly Name[], moves: readonly ProposedMove[]) => readonly string[];
  /** So many Services of a workflow at most, those with the most traffic. */
  readonly maxServices: number;
}
