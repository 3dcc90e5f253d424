import { planVerdict, SchedulingModel, workflowPlan } from "@isochrone/placement";
import type { ExclusionRules, WorkflowPlanInput, WorkflowPlanReport } from "@isochrone/placement";
import { listedPrices, pairPrices, type PairPrices } from "@isochrone/prices";
import { ClusterGraph, WorkflowGraph, type ClusterGraphSnapshot } from "@isochrone/topology";
import { GraphClientError, type GraphClient } from "@isochrone/topology/client";
import { CommandError } from "../errors.ts";
import { graphClientOf } from "../graph-client.ts";
import type { GraphServerOptions } from "../graph-client.ts";
import type { Format } from "../output/format.ts";
import { show, viewOf } from "../output/show.ts";
import { table } from "../output/table.ts";
import { MOVED_BY } from "../score/scheduling-objects.ts";
import { readCluster, type ClusterSource } from "../what-if/cluster-objects.ts";
import { proposedMoves } from "../moves/proposed-moves.ts";

export interface PlanOptions extends GraphServerOptions, ClusterSource {
  readonly workflow?: string;
  readonly time: number;
  readonly seed: number;
  /** Settings file of the service, combined with environment variables. @default the planner's defaults */
  readonly settings?: string;
  /** @default the settings' objective */
  readonly objective?: "latency" | "money" | "weighted";
  /** Refresh interval, ms; undefined: print once. */
  readonly watch?: number;
  readonly output: Format;
  readonly apply?: boolean;
  readonly undo?: boolean;
  readonly yes?: boolean;
  /** Executes only the moves of these pods. @default all */
  readonly pods?: readonly string[];
}

export async function planCommand(
  namespace: string,
  options: PlanOptions,
  print: (text: string) => void,
): Promise<void> {
  const client = graphClientOf(options);
  const planning = await planningOf(options);
  const text = (shown: readonly WorkflowPlanReport[]): string => plansText(namespace, shown);
  await show(
    async () => viewOf(await readPlans(client, namespace, options, planning), { text }),
    options,
    print,
  );
}

type Planning = Pick<WorkflowPlanInput, "spread" | "cost"> & { readonly rules?: ExclusionRules };

const PLANNER_VARIABLES = /^ISOCHRONE_(PLANNER|SCHEDULER|DESCHEDULER)_/;

/** Uses the running planner's settings: other limits yield other plans. Throws CommandError. */
export async function planningOf({
  settings,
  objective,
}: Pick<PlanOptions, "objective" | "settings">): Promise<Planning> {
  const isSet =
    settings !== undefined ||
    objective !== undefined ||
    Object.keys(process.env).some((name) => PLANNER_VARIABLES.test(name));
  return isSet
    ? (await import("../planner-settings.ts")).plannerPlanning(settings, process.env, objective)
    : {};
}

export async function readPlans(
  client: GraphClient,
  namespace: string,
  options: PlanOptions,
  { rules, ...planning }: Planning,
): Promise<WorkflowPlanReport[]> {
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
    readCluster(options, MOVED_BY),
    proposedMoves(namespace, options),
  ]);
  const { pods } = objects;
  // Loads the service's rules only when needed.
  const { obstaclesOf } = await import("../moves/obstacles.ts");
  const obstacleOf = await obstaclesOf(objects, rules ?? proposed.rules);
  const model = SchedulingModel.of(objects);
  const graph = new ClusterGraph(cluster);
  const prices = await pricesOf(client, cluster);
  const reports: WorkflowPlanReport[] = [];
  for (const name of names) {
    const { value } = await client.workflow(namespace, name);
    const previous = proposed.steps.get(`${namespace}/${name}`);
    const report = workflowPlan({
      ...(previous === undefined ? {} : { previous }),
      model,
      pods,
      cluster: graph,
      workflow: new WorkflowGraph(value),
      prices,
      seed: options.seed,
      budgetMs: options.time,
      ...planning,
      obstacleOf,
      now: () => performance.now(),
    });
    if (report !== null) reports.push(report);
  }
  return reports;
}

export function plansText(namespace: string, reports: readonly WorkflowPlanReport[]): string {
  return reports.length === 0
    ? `no pod of namespace ${namespace} runs`
    : reports.map(reportText).join("\n\n");
}

/** Undefined for an aggregator of an earlier release. */
async function pricesOf(
  client: GraphClient,
  { nodes }: ClusterGraphSnapshot,
): Promise<PairPrices | undefined> {
  try {
    return pairPrices(nodes, listedPrices((await client.prices()).value));
  } catch (error) {
    if (error instanceof GraphClientError && error.status === 404) return undefined;
    throw error;
  }
}

export function reportText(report: WorkflowPlanReport): string {
  const { workflow, today, best, currency, moves, kept, notes } = report;
  const kilo = (cost: number): number => cost / 1_000;
  const costsOf = ({ latency, perMonth }: WorkflowPlanReport["today"]): [number, number | null] => [
    kilo(latency),
    perMonth,
  ];
  const rows = [
    ["today", kilo(today.network), kilo(today.pressure), kilo(today.total), ...costsOf(today)],
    ["best plan", kilo(best.network), kilo(best.pressure), kilo(best.total), ...costsOf(best)],
  ] as const;
  return [
    `workflow ${workflow}: cost in kB/s x ms`,
    table(["", "network", "load of nodes", "total", "latency", `${currency ?? "money"}/month`], rows),
    "",
    planVerdict(report),
    ...(moves.length === 0
      ? []
      : [
          table(
            ["step", "pod", "workload", "from", "to", "step saves", "+-", ""],
            moves.map(({ step, pod, workload, from, to, gain, gainError, obstacle }) => [
              step,
              pod,
              workload,
              from,
              to,
              kilo(gain),
              kilo(gainError),
              obstacle,
            ]),
          ),
        ]),
    ...kept.map(({ pod, reason }) => `${pod} stays: ${reason}`),
    ...notes,
  ].join("\n");
}
