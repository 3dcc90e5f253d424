// Placement cost (sum over channels of traffic x cost) without and with the extender, and the proven optimum.
// Twenty seeds; `--quick` takes five.
import { median } from "@isochrone/primitives";
import { writeFileSync } from "node:fs";
import { nodeNameOf, startControlPlane } from "../../harness/control-plane/index.ts";
import type { ControlPlane } from "../../harness/control-plane/index.ts";
import {
  BASE_CONFIG,
  Certificates,
  clusterGraph,
  NAMESPACE,
  schedulerConfig,
  startGraphApi,
} from "../../harness/extender.ts";
import { startReplica, workflowGraph, WORKFLOW } from "../../harness/extender.ts";
import type { GraphApi, Replica } from "../../harness/extender.ts";
import type { BenchResult } from "../types.ts";
import { optimum } from "./placement/optimum.ts";
import {
  NODE_CPU_MILLICORES,
  placementCost,
  placementExperiment,
  POD_CPU_MILLICORES,
} from "./placement/problem.ts";
import type { PlacementExperiment } from "./placement/problem.ts";

const SEEDS = process.argv.includes("--quick") ? 5 : 20;
const MAX_OF_PLAIN = 0.6;
const MAX_OF_OPTIMUM = 1.2;
const SETTLE_MS = 400;

const VARIANTS = ["plain", "with the extender", "with the extender, network only"] as const;
type Variant = (typeof VARIANTS)[number];
type Costs = Record<Variant | "optimum", number>;

interface Testbed {
  readonly cluster: ControlPlane;
  readonly certificates: Certificates;
  readonly graphs: GraphApi;
}

/** ISOCHRONE_BENCH_TABLE names a file for the tables, by seed. */
export async function run(): Promise<BenchResult[]> {
  const [certificates, graphs] = [await Certificates.create(), await startGraphApi()];
  const cluster = await startControlPlane({ components: ["scheduler"] });
  try {
    const testbed = { cluster, certificates, graphs };
    const pinned = await experimentsOf(true);
    const { nodes } = pinned[0]!;
    const cpu = `${NODE_CPU_MILLICORES}m`;
    await cluster.addNodes(nodes.map(({ name, region, zone }) => ({ name, region, zone, cpu })));
    const pinnedCosts = await measure(testbed, pinned);
    // Placed one by one, the first pod has no neighbour yet. Joint planning avoids this.
    const free = await experimentsOf(false);
    const freeCosts = await measure(testbed, free);
    const file = process.env["ISOCHRONE_BENCH_TABLE"];
    if (file !== undefined)
      writeFileSync(
        file,
        `Data pinned:\n\n${tableOf(pinned, pinnedCosts)}\nNothing pinned:\n\n${tableOf(free, freeCosts)}`,
      );
    return VARIANTS.slice(1).flatMap((variant) => [
      ...judged(variant, pinnedCosts, variant === "with the extender"),
      ...judged(variant, freeCosts, false).map((row) => ({ ...row, name: `nothing pinned: ${row.name}` })),
    ]);
  } finally {
    await cluster.close();
    await graphs.close();
    await certificates.remove();
  }
}

function experimentsOf(dataIsPinned: boolean): Promise<PlacementExperiment[]> {
  return Promise.all(
    Array.from({ length: SEEDS }, (_, index) => placementExperiment(index + 1, dataIsPinned)),
  );
}

async function measure(testbed: Testbed, experiments: readonly PlacementExperiment[]): Promise<Costs[]> {
  const { cluster, certificates, graphs } = testbed;
  const costs = experiments.map((experiment) => ({ optimum: optimum(experiment).cost }) as Costs);
  for (const variant of VARIANTS) {
    const settings = settingsOf(variant);
    const replica =
      variant === "plain"
        ? null
        : await startReplica({ cluster, certificates, graphUrl: graphs.url, settings });
    try {
      const config = replica === null ? BASE_CONFIG : await schedulerConfig(replica.url, certificates);
      await cluster.restartScheduler(config);
      for (const [index, experiment] of experiments.entries())
        costs[index]![variant] = await place(experiment, cluster, graphs, replica);
    } finally {
      await replica?.stop();
    }
  }
  return costs;
}

function settingsOf(variant: Variant): Record<string, unknown> {
  return variant === "with the extender, network only" ? { gamma: 0, delta: 1 } : {};
}

/** Places pods one at a time, dependencies first. Returns the cost of the placement. */
async function place(
  experiment: PlacementExperiment,
  cluster: ControlPlane,
  graphs: GraphApi,
  replica: Replica | null,
): Promise<number> {
  const { workloads, channels, nodes, costMs, pinned, seed } = experiment;
  const indexOf = (name: string): number => nodes.findIndex((node) => node.name === name);
  graphs.say({
    cluster: clusterGraph(nodes, (a, b) => costMs[indexOf(a)]![indexOf(b)]!),
    workflow: workflowGraph(
      Object.fromEntries(workloads.map((name) => [name, []])),
      channels.map(({ source, target, bytesPerSecond }) => [
        workloads[source]!,
        workloads[target]!,
        bytesPerSecond,
      ]),
    ),
  });
  if (replica !== null) await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const order = workloads.toReversed();
  const podOf = (workload: string): string => `${workload}-${seed}`;
  for (const workload of order) {
    const pin = pinned[workloads.indexOf(workload)]!;
    await cluster.createPods([podOf(workload)], {
      labels: { app: workload, "isochrone.dev/workflow": WORKFLOW },
      requests: { cpu: `${POD_CPU_MILLICORES}m`, memory: "64Mi" },
      ...(pin === null ? {} : { spec: { nodeSelector: { "kubernetes.io/hostname": nodes[pin]!.name } } }),
    });
  }
  const nodeOf = await cluster.waitFor(
    "pods",
    (pods) => {
      const found = workloads.map((workload) => {
        const pod = pods.find(({ metadata }) => metadata.name === podOf(workload));
        return pod === undefined ? null : nodeNameOf(pod);
      });
      return found.includes(null) ? null : (found as string[]);
    },
    { namespace: NAMESPACE },
  );
  for (const workload of workloads)
    await cluster.remove({ apiVersion: "v1", kind: "Pod", namespace: NAMESPACE, name: podOf(workload) });
  return placementCost(experiment, nodeOf.map(indexOf));
}

function judged(variant: Variant, costs: readonly Costs[], isRule: boolean): BenchResult[] {
  const toPlain = median(costs.map((each) => each[variant] / each.plain))!;
  const toOptimum = median(costs.map((each) => each[variant] / each.optimum))!;
  const rule = (target: number, value: number) =>
    isRule ? { target: `<= ${target}`, met: value <= target } : {};
  return [
    {
      name: `placement cost ${variant} / plain, median`,
      value: toPlain,
      unit: "",
      ...rule(MAX_OF_PLAIN, toPlain),
    },
    {
      name: `placement cost ${variant} / optimum, median`,
      value: toOptimum,
      unit: "",
      ...rule(MAX_OF_OPTIMUM, toOptimum),
    },
  ];
}

/** Markdown table with costs in MB/s x ms. */
function tableOf(experiments: readonly PlacementExperiment[], costs: readonly Costs[]): string {
  const million = (cost: number): string => (cost / 1e6).toFixed(2);
  const rows = experiments.map(({ seed }, index) => {
    const { plain, optimum: best, ...others } = costs[index]!;
    const ours = VARIANTS.slice(1).map((variant) => {
      const cost = others[variant as keyof typeof others];
      return `${million(cost)} | ${(cost / plain).toFixed(2)} | ${(cost / best).toFixed(2)}`;
    });
    return `| ${seed} | ${million(best)} | ${million(plain)} | ${ours.join(" | ")} |`;
  });
  return [
    "| seed | optimum | plain | with the extender | / plain | / optimum | network only | / plain | / optimum |",
    "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ...rows,
    "",
  ].join("\n");
}
