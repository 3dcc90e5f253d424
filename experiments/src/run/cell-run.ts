import type { Clock } from "@isochrone/runtime";
import { ContenderError } from "../contenders/port.ts";
import type { Contender } from "../contenders/port.ts";
import type { Testbed } from "../testbed/port.ts";
import type { ContenderId } from "../scenario/model.ts";
import { cellHash } from "./cells.ts";
import type { Cell } from "./cells.ts";
import type { CellResult } from "./result.ts";
import { runTrial, settledP95 } from "./trial.ts";

interface CellDeps {
  readonly contender: (id: ContenderId) => Contender;
  readonly ground: Testbed;
  readonly clock: Pick<Clock, "monotonic">;
  /** Product settings as text; other settings make another measurement. */
  readonly settings: string;
}

/** Measures a cell. A pod without a node gives a failed result, not an error. */
export async function runCell(cell: Cell, deps: CellDeps, signal: AbortSignal): Promise<CellResult> {
  const { contender: create, ground, clock, settings } = deps;
  const startedMs = clock.monotonic();
  const contender = create(cell.contender);
  const result = (outcome: Pick<CellResult, "failure" | "measured">): CellResult => ({
    hash: cellHash(cell, contender.by, settings),
    ground: cell.ground.name,
    point: cell.point.id,
    labels: cell.point.labels,
    contender: cell.contender,
    by: contender.by,
    trial: cell.trial,
    ...outcome,
    tookSeconds: Math.round(clock.monotonic() - startedMs) / 1000,
  });
  try {
    const measured = await runTrial(cell, contender, ground, signal);
    const settled = cell.findsOptimum ? await newOptimum(cell, deps, signal) : null;
    return result({ failure: null, measured: { ...measured, settledP95: settled } });
  } catch (error) {
    if (error instanceof ContenderError) return result({ failure: error.message, measured: null });
    throw new Error(`${cell.ground.name}, ${cell.point.id}, ${cell.contender}, trial ${cell.trial} failed`, {
      cause: error,
    });
  } finally {
    await contender.close();
  }
}

/** Returns null if integer programming finds no solution. */
async function newOptimum(
  cell: Cell,
  { contender: create, ground }: CellDeps,
  signal: AbortSignal,
): Promise<number | null> {
  const optimum = create("optimum");
  try {
    return await settledP95(cell, optimum, ground, signal);
  } catch (error) {
    if (error instanceof ContenderError) return null;
    throw error;
  } finally {
    await optimum.close();
  }
}
