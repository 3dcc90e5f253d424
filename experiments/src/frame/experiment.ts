// What an experiment is asked for, what a kind of scenarios plugs into the frame, and what comes out.
import type { ContenderDeps, KubeScheduler, ProductSettings } from "../contenders/index.ts";
import { ScenarioError } from "../scenario/errors.ts";
import { hasLabels } from "../scenario/axes.ts";
import type { Labels } from "../scenario/model.ts";
import type { Clock } from "@isochrone/runtime";
import type { Bench, BenchOptions } from "./bench.ts";

export interface ConductOptions extends BenchOptions {
  /** The scenario's file. */
  readonly file: string;
  readonly quick: boolean;
  /** Results go to a folder in it, named after the scenario. */
  readonly out: string;
  /** As it was typed, for the report. */
  readonly command: string;
  readonly grounds: readonly ("model" | "lab")[];
  /** Only points with these labels; empty: all. */
  readonly only: Labels;
  /** Cells of the model that are measured in parallel. The lab measures one at a time. */
  readonly jobs: number;
  /** @default all of the scenario's */
  readonly contenders?: readonly string[];
  /** Replaces the scenario's scale of the lab. Results must not depend on it. */
  readonly scale?: number;
  /** A file of tasks in place of generated requests; scenarios of kind `kais` only. */
  readonly trace?: string;
  /** Trains the learned contenders first, or continues; scenarios of kind `kais` only. */
  readonly train?: boolean;
}

export interface ConductDeps {
  readonly clock: Pick<Clock, "monotonic">;
  readonly product: ProductSettings;
  /** The real one. Null: the imitation decides, and the results say so. */
  readonly kubeScheduler: KubeScheduler | null;
}

/** Without a kube-scheduler, contenders use the imitation. */
export function contenderDeps({ kubeScheduler, ...others }: ConductDeps): ContenderDeps {
  return kubeScheduler === null ? others : { ...others, kubeScheduler };
}

/** What a quick run must show. */
export interface Verdict {
  readonly isHeld: boolean;
  readonly text: string;
}

/** Mean share of requests in time and bytes moved. */
interface KaisFigure {
  readonly point: string;
  readonly contender: string;
  readonly inTime: number;
  readonly movedGb: number;
}

type Cell = string | number;

/** What a kind makes of its results. The frame writes the files. */
export interface Findings {
  /** Results, of this run and of earlier ones. */
  readonly cells: number;
  /** @default 0 */
  readonly failed?: number;
  readonly html: string;
  readonly rows: readonly (readonly Cell[])[];
  /** Rows of further tables, by name of the file. */
  readonly tables?: Readonly<Record<string, readonly (readonly Cell[])[]>>;
  /** Written after the command and the machine. */
  readonly json: object;
  readonly verdicts: readonly Verdict[];
  /** Scenarios of kind `kais` only. */
  readonly figures?: readonly KaisFigure[];
  /** Further facts for readers, such as rows of a trace that were left out. */
  readonly notes?: readonly string[];
}

/** A scenario that was read and can be run. */
export interface Experiment {
  readonly name: string;
  /** Results go there, below `out`. */
  readonly folder: string;
  run(bench: Bench, about: ReportContext): Promise<Findings>;
}

/** What every report says of its run. */
export interface ReportContext {
  readonly command: string;
  readonly quick: boolean;
  readonly machine: Readonly<Record<string, string | number>>;
}

/** Throws ScenarioError before anything starts. */
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

/** The chosen ones, in the order of `known`. Throws ScenarioError for an unknown one. */
export function chosenContenders<C extends string>(
  known: readonly C[],
  { file, contenders }: ConductOptions,
): readonly C[] {
  if (contenders === undefined) return known;
  const wrong = contenders.find((id) => !known.some((each) => each === id));
  if (wrong !== undefined) refuse(file, `contenders must be of ${known.join(", ")}, got ${wrong}`);
  return known.filter((id) => contenders.includes(id));
}

/** Points with the wanted labels. Throws ScenarioError where there are none. */
export function chosenPoints<P extends { readonly labels: Labels }>(
  points: readonly P[],
  { file, only }: ConductOptions,
): readonly P[] {
  const chosen = points.filter(({ labels }) => hasLabels(labels, only));
  return chosen.length > 0 ? chosen : refuse(file, "points must have the wanted labels, got none");
}
