// What an experiment is asked for, and what it gives.
import type { ExperimentDeps, ExperimentOptions } from "./run/experiment.ts";
import type { Verdict } from "./run/verdict.ts";

export interface ConductOptions extends ExperimentOptions {
  /** The scenario's file. */
  readonly file: string;
  readonly quick: boolean;
  /** Results go to a folder in it, named after the scenario. */
  readonly out: string;
  /** As it was typed, for the report. */
  readonly command: string;
  /** @default all of the scenario's */
  readonly contenders?: readonly string[];
  /** Of the lab, in place of the scenario's: results must not depend on it. */
  readonly scale?: number;
  /** A file of tasks in place of generated requests; scenarios of kind `kais` only. */
  readonly trace?: string;
  /** Trains the learned contenders first, or goes on with it; scenarios of kind `kais` only. */
  readonly train?: boolean;
}

export type ConductDeps = Omit<ExperimentDeps, "labGround">;

export interface Conducted {
  readonly scenario: { readonly name: string };
  readonly cells: number;
  readonly measured: number;
  readonly failed: number;
  readonly verdicts: readonly Verdict[];
  /** Mean share of requests in time and bytes moved, of scenarios of kind `kais`. */
  readonly figures?: readonly {
    readonly point: string;
    readonly contender: string;
    readonly inTime: number;
    readonly movedGb: number;
  }[];
  /** What else a reader should know, such as rows of a trace that were left out. */
  readonly notes?: readonly string[];
  readonly files: { readonly html: string; readonly csv: string; readonly json: string };
}

/**
 * Tells of cells that are done. The time left is of what runs since none was: of one ground after the other.
 */
export function progressOf({ onProgress }: ConductOptions) {
  let began = performance.now();
  return (done: number, total: number, what: string): void => {
    if (done === 0) began = performance.now();
    const perCell = (performance.now() - began) / 1_000 / Math.max(1, done);
    const secondsLeft = done === 0 ? null : (total - done) * perCell;
    onProgress({ done, total, share: done / total, secondsLeft, what });
  };
}
