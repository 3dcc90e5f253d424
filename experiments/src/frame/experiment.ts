import type { ContenderDeps, KubeScheduler, ProductSettings } from "../contenders/index.ts";
import { ScenarioError } from "../scenario/errors.ts";
import { hasLabels } from "../scenario/axes.ts";
import type { Labels } from "../scenario/model.ts";
import type { Clock } from "@isochrone/runtime";
import type { Bench, BenchOptions } from "./bench.ts";

export interface ConductOptions extends BenchOptions {
  readonly file: string;
  readonly quick: boolean;
  /** Folder for results; each scenario gets a subfolder with its name. */
  readonly out: string;
  /** Command line, for the report. */
  readonly command: string;
  readonly grounds: readonly ("model" | "lab")[];
  /** Restricts to points with these labels; empty: all. */
  readonly only: Labels;
  /** Parallel cells in the model. The lab measures one at a time. */
  readonly jobs: number;
  /** @default all contenders of the scenario */
  readonly contenders?: readonly string[];
  /** Overrides the lab's time scale. Results must not depend on it. */
  readonly scale?: number;
  /** File of tasks that replaces generated requests; kind `kais` only. */
  readonly trace?: string;
  /** Trains the learned contenders first, or continues training; kind `kais` only. */
  readonly train?: boolean;
}

export interface ConductDeps {
  readonly clock: Pick<Clock, "monotonic">;
  readonly product: ProductSettings;
  /** A real scheduler. Null: the imitation, which results mention. */
  readonly kubeScheduler: KubeScheduler | null;
}

export function contenderDeps({ kubeScheduler, ...others }: ConductDeps): ContenderDeps {
  return kubeScheduler === null ? others : { ...others, kubeScheduler };
}

export interface Verdict {
  readonly isHeld: boolean;
  readonly text: string;
}

/** Mean share of requests in time, and moved bytes. */
interface KaisFigure {
  readonly point: string;
  readonly contender: string;
  readonly inTime: number;
  readonly movedGb: number;
}

type Cell = string | number;

export interface Findings {
  /** Number of results, earlier runs included. */
  readonly cells: number;
  /** @default 0 */
  readonly failed?: number;
  readonly html: string;
  readonly rows: readonly (readonly Cell[])[];
  readonly tables?: Readonly<Record<string, readonly (readonly Cell[])[]>>;
  readonly json: object;
  readonly verdicts: readonly Verdict[];
  /** Kind `kais` only. */
  readonly figures?: readonly KaisFigure[];
  readonly notes?: readonly string[];
}

export interface Experiment {
  readonly name: string;
  readonly folder: string;
  run(bench: Bench, about: ReportContext): Promise<Findings>;
}

export interface ReportContext {
  readonly command: string;
  readonly quick: boolean;
  readonly machine: Readonly<Record<string, string | number>>;
}

export type OpenExperiment = (
  text: string,
  options: ConductOptions,
  deps: ConductDeps,
) => Experiment | Promise<Experiment>;

export interface Conducted extends Pick<Findings, "cells" | "verdicts" | "figures" | "notes"> {
  readonly scenario: { readonly name: string };
  readonly measured: number;
  readonly failed: number;
  readonly files: { readonly html: string; readonly csv: string; readonly json: string };
}

export function refuse(file: string, message: string): never {
  throw new ScenarioError(file, [{ line: 1, message }]);
}

export function folderOf(name: string, { quick }: ConductOptions): string {
  return quick ? `${name}-quick` : name;
}

/** Keeps the order of `known`. Throws ScenarioError for an unknown contender. */
export function chosenContenders<C extends string>(
  known: readonly C[],
  { file, contenders }: ConductOptions,
): readonly C[] {
  if (contenders === undefined) return known;
  const wrong = contenders.find((id) => !known.some((each) => each === id));
  if (wrong !== undefined) refuse(file, `contenders must be of ${known.join(", ")}, got ${wrong}`);
  return known.filter((id) => contenders.includes(id));
}

/** Returns points with the wanted labels. Throws ScenarioError if there are none. */
export function chosenPoints<P extends { readonly labels: Labels }>(
  points: readonly P[],
  { file, only }: ConductOptions,
): readonly P[] {
  const chosen = points.filter(({ labels }) => hasLabels(labels, only));
  return chosen.length > 0 ? chosen : refuse(file, "points must have the wanted labels, got none");
}
