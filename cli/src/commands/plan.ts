import { KINDS, withoutPlannedNodes } from "@isochrone/kubernetes/basics";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { LabClient, LabClientError, readControlToken } from "@isochrone/lab/client";
import { planVerdict, SchedulingModel, workflowPlan } from "@isochrone/placement";
import type { WorkflowPlanInput, WorkflowPlanReport } from "@isochrone/placement";
import { listedPrices, pairPrices, type PairPrices } from "@isochrone/prices";
import { ClusterGraph, WorkflowGraph, type ClusterGraphSnapshot } from "@isochrone/topology";
import { GraphClientError, type GraphClient } from "@isochrone/topology/client";
import { keysOf, recordOf } from "@isochrone/primitives";
import { CommandError } from "../errors.ts";
import { graphClientOf } from "../graph-client.ts";
import type { GraphServerOptions } from "../graph-client.ts";
import type { Format } from "../output/format.ts";
import { show, viewOf } from "../output/show.ts";
import type { View } from "../output/show.ts";
import { table } from "../output/table.ts";
import { proposedMoves } from "./proposed-moves.ts";

interface PlanOptions extends GraphServerOptions {
  readonly kubeconfig?: string;
  /** Of the kubeconfig. @default its current one */
  readonly context?: string;
  /** Where the controls of an embedded cluster are; used unless a cluster is named. */
  readonly lab: string;
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
  /** What plans save. @default that of the settings */
  readonly objective?: "latency" | "money" | "weighted";
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
  const planning = await planningOf(options);
  await show(() => readPlans(client, namespace, options, planning), options, print);
}

/** What is left out is the planner's default. */
type Planning = Pick<WorkflowPlanInput, "spread" | "cost">;

const PLANNER_VARIABLES = /^ISOCHRONE_(PLANNER|SCHEDULER)_/;

/** As the planner that runs is set: with other limits its plans would be others. Throws CommandError. */
async function planningOf({ settings, objective }: PlanOptions): Promise<Planning> {
  const isSet =
    settings !== undefined ||
    objective !== undefined ||
    Object.keys(process.env).some((name) => PLANNER_VARIABLES.test(name));
  return isSet
    ? (await import("../planner-settings.ts")).plannerPlanning(settings, process.env, objective)
    : {};
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
  const [{ model, pods }, proposed] = await Promise.all([
    readCluster(options),
    proposedMoves(namespace, options),
  ]);
  const graph = new ClusterGraph(cluster);
  const prices = await pricesOf(client, cluster);
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
      prices,
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

/** Undefined: an aggregator of before knows none. */
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

interface Objects {
  readonly model: SchedulingModel;
  readonly pods: KubernetesObject[];
}

/** Of the embedded cluster where no cluster is named and this user runs one, else of an API server. */
async function readCluster(options: PlanOptions): Promise<Objects> {
  const { kubeconfig, context, lab } = options;
  const isNamed = [kubeconfig, context, process.env["KUBECONFIG"] || undefined].some(
    (one) => one !== undefined,
  );
  const token = isNamed || !isEmbedded(options) ? null : await readControlToken(lab, process.env);
  const embedded = token === null ? null : await embeddedObjects(new LabClient(lab, { token }));
  if (embedded !== null) return embedded;
  const { openStore } = await import("../kubernetes.ts");
  const opened = openStore(kubeconfig, context);
  const { store } = opened;
  try {
    const kinds = keysOf(JUDGED_BY);
    const lists = await Promise.all(kinds.map(async (name) => (await store.list(JUDGED_BY[name])).items));
    return objectsOf(recordOf(kinds, (_, index) => lists[index]!));
  } finally {
    await opened.close();
  }
}

/** The page and the controls of an embedded cluster are on the same machine. */
function isEmbedded({ server, lab }: PlanOptions): boolean {
  return new URL(server).hostname === new URL(lab).hostname;
}

type Lists = Record<keyof typeof JUDGED_BY, KubernetesObject[]>;

function objectsOf(lists: Lists): Objects {
  const pods = lists.pods.map(withoutPlannedNodes);
  return { model: SchedulingModel.of({ ...lists, pods }), pods };
}

/** null where it doesn't answer any more, or has an API server of its own. */
async function embeddedObjects(lab: LabClient): Promise<Objects | null> {
  let items: readonly KubernetesObject[];
  try {
    ({ items } = await lab.objects());
  } catch (error) {
    if (error instanceof LabClientError && (error.status === null || error.status === 404)) return null;
    throw error;
  }
  return objectsOf(
    recordOf(keysOf(JUDGED_BY), (name) => {
      const { apiVersion, kind } = JUDGED_BY[name];
      return items.filter((object) => object.kind === kind && object.apiVersion === apiVersion);
    }),
  );
}

/** What kube-scheduler's filters look at. */
const JUDGED_BY = {
  nodes: KINDS.node,
  pods: KINDS.pod,
  namespaces: KINDS.namespace,
  persistentVolumes: KINDS.persistentVolume,
  persistentVolumeClaims: KINDS.persistentVolumeClaim,
  csiNodes: KINDS.csiNode,
  volumeAttachments: KINDS.volumeAttachment,
} as const;

/** Costs in kB/s x ms: bytes give numbers that nobody can read. */
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
