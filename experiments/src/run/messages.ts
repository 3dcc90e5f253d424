// What the thread that owns the experiment and those that measure cells say to each other.
import type { ProductSettings, SchedulingRequest } from "../contenders/index.ts";
import type { Placement } from "../contenders/port.ts";
import type { Cell } from "./cells.ts";
import type { CellResult } from "./result.ts";

export interface WorkerSettings {
  readonly product: ProductSettings;
  /** Of the real scheduler, which the owner asks for all; null: the imitation decides. */
  readonly schedulerVersion: string | null;
}

export type ToWorker =
  | { readonly kind: "cell"; readonly cell: Cell }
  | { readonly kind: "placed"; readonly id: number; readonly placement: Placement }
  | { readonly kind: "not-placed"; readonly id: number; readonly reason: string };

export type FromWorker =
  | { readonly kind: "result"; readonly result: CellResult }
  | { readonly kind: "failed"; readonly error: Error }
  | { readonly kind: "schedule"; readonly id: number; readonly request: SchedulingRequest };
