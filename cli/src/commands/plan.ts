import { planVerdict, SchedulingModel, workflowPlan } from "@isochrone/placement";
import type { WorkflowPlanInput, WorkflowPlanReport } from "@isochrone/placement";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { GraphClient } from "@isochrone/topology/client";
import { CommandError } from "../errors.ts";
import { graphClientOf } from "../graph-client.ts";
import type { GraphServerOptions } from "../graph-client.ts";
import type { Format } from "../output/format.ts";
import { show, viewOf } from "../output/show.ts";
import type { View } from "../output/show.ts";
import { table } from "../output/table.ts";
import { FILTERED_BY, readCluster, type ClusterSource } from "../what-if/cluster-objects.ts";
import { proposedMoves } from "./proposed-moves.ts";

interface PlanOptions extends GraphServerOptions, ClusterSource {
  /** @default all of the namespace */
  readonly workflow?: string;
  /** Milliseconds for each workflow's search. */
  readonly time: number;
  readonly seed: number;
  /**
   * File of the service's settings; variables of the environment count, too.
   * @default the planner's defaults
   */
  readonly settings?: string;
  /** Milliseconds between two looks; undefined: one. */
  readonly watch?: number;
  readonly output: Format;
}

/**
 * Prints what the workflows of a namespace cost today, what the best plans cost, and the moves between.
 * Changes nothing.
 */
export async function planCommand(
  namespace: string,
  options: PlanOptions,
  print: (text: string) => void,
): Promise<void> {
  const client = graphClientOf(options);
  const planning = await planningOf(options.settings);
  await show(() => readPlans(client, namespace, options, planning), options, print);
}

/** What is left out is the planner's default. */
type Planning = Pick<WorkflowPlanInput, "spread" | "cost">;

const PLANNER_VARIABLES = /^ISOCHRONE_(PLANNER|SCHEDULER)_/;

/** As the planner that runs is set: with other limits its plans would be others. Throws CommandError. */
export async function planningOf(settings: string | undefined): Promise<Planning> {
  const isSet =
    settings !== undefined || Object.keys(process.env).some((name) => PLANNER_VARIABLES.test(name));
  return isSet ? (await import("../planner-settings.ts")).plannerPlanning(settings, process.env) : {};
}

async function readPlans(
  client: GraphClient,
  namespace: string,
  options: PlanOptions,
  planning: Planning,
): Promise<View> {
  const { value: cluster } = await client.cluster();
  const { value: list } = await client.workflows();
  const names = list.workflows
    .filter((each) => each.namespace === namespace)
    .map(({ name }) => name)
    .filter((name) => options.workflow === undefined || name === options.workflow);
  if (names.length === 0)
    throw new CommandError(
      `the graph API knows no workflow ${options.workflow === undefined ? "" : `${JSON.stringify(options.workflow)} `}in namespace ${JSON.stringify(namespace)}`,
    );
  const [objects, proposed] = await Promise.all([
    readCluster(options, FILTERED_BY),
    proposedMoves(namespace, options),
  ]);
  const { pods } = objects;
  const model = SchedulingModel.of(objects);
  const graph = new ClusterGraph(cluster);
  const reports: WorkflowPlanReport[] = [];
  for (const name of names) {
    const { value } = await client.workflow(namespace, name);
    const previous = proposed.get(`${namespace}/${name}`);
    const report = workflowPlan({
      ...(previous === undefined ? {} : { previous }),
      model,
      pods,
      cluster: graph,
      workflow: new WorkflowGraph(value),
      seed: options.seed,
      budgetMs: options.time,
      ...planning,
      now: () => performance.now(),
    });
    if (report !== null) reports.push(report);
  }
  return viewOf(reports, {
    text: (shown) =>
      shown.length === 0 ? `no pod of namespace ${namespace} runs` : shown.map(reportText).join("\n\n"),
  });
}

/** Costs in kB/s x ms: bytes give numbers that nobody can read. */
export function reportText(report: WorkflowPlanReport): string {
  const { workflow, today, best, moves, kept, notes } = report;
  const kilo = (cost: number): number => cost / 1_000;
  const rows = [
    ["today", kilo(today.network), kilo(today.pressure), kilo(today.total)],
    ["best plan", kilo(best.network), kilo(best.pressure), kilo(best.total)],
  ] as const;
  return [
    `workflow ${workflow}: cost in kB/s x ms`,
    table(["", "network", "load of nodes", "total"], rows),
    "",
    planVerdict(report),
    ...(moves.length === 0
      ? []
      : [
          table(
            ["pod", "workload", "from", "to", "brings", ""],
            moves.map(({ pod, workload, from, to, gain, obstacle }) => [
              pod,
              workload,
              from,
              to,
              kilo(gain),
              obstacle,
            ]),
          ),
        ]),
    ...kept.map(({ pod, reason }) => `${pod} stays: ${reason}`),
    ...notes,
  ].join("\n");
}
