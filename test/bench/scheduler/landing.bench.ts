// Landing rate and planning cost on a real kube-scheduler with KWOK nodes. Alternates with ungated pods and
// with gates opened without planning (the floor). `--quick`: 100 nodes only; `--nodes=N`: this size only;
// `--pods=N`, `--rounds=N`; `--grow`: growing workflows only.
import { median } from "@isochrone/primitives";
import { loadavg } from "node:os";
import { nodeNameOf, startControlPlane } from "../../harness/control-plane/index.ts";
import type { ControlPlane } from "../../harness/control-plane/index.ts";
import { BASE_CONFIG, sumOf } from "../../harness/extender.ts";
import { PLACEMENT_GATE, startPlanner } from "../../harness/planner.ts";
import type { RunningPlanner } from "../../harness/planner.ts";
import type { BenchResult } from "../types.ts";
import {
  BenchGraphs,
  createWorkflows,
  NAMESPACE,
  PODS_PER_WORKFLOW,
  regionOf,
  zoneOf,
} from "./landing/testbed.ts";
import { grownAtAdmission, grownByFixedAnswers, grownPlainly } from "./landing/admission.ts";
import type { Admitted, Grown } from "./landing/admission.ts";
import { clear, measured, until } from "./landing/run.ts";
import type { Run, Spender } from "./landing/run.ts";
import { landAtOnce } from "./landing/trivial-planner.ts";

const LANDED_SHARE = 0.995;
/** Minimum share of plain pods' rate by number of nodes, or of the whole floor's. */
const OF_PLAIN: ReadonlyMap<number, number> = new Map([
  [1_000, 0.6],
  [5_000, 0.8],
]);
const SIZES = [100, 1_000, 5_000];
const ROUNDS = numberOf("--rounds") ?? 3;
/** Pods bound before the measurement, because planner and kube-scheduler are long-running. */
const WARM_UP = 5;

/** Minimum share of plain pods' rate for pods created with their nodes. */
const OF_PLAIN_GROWTH = 0.95;
const MAX_ANSWER_MS = 50;
/**
 * `planned` uses required affinity, `nominated` nominations; `admitted` pods extend running workflows,
 * `grown` without the webhook, `answered` with one that knows nothing.
 */
const WAYS = ["plain", "trivial", "planned", "nominated", "grown", "answered", "admitted"] as const;
const GROWING: readonly string[] = ["grown", "answered", "admitted"];

interface Planned extends Run {
  /** Share of the pods with a planned node. */
  readonly share: number;
  readonly searchMs: number;
}

interface Runs {
  readonly plain: readonly Run[];
  readonly trivial: readonly Run[];
  readonly planned: readonly Planned[];
  readonly nominated: readonly Planned[];
  readonly grown: readonly Grown[];
  readonly answered: readonly Grown[];
  readonly admitted: readonly Admitted[];
}

interface Testbed {
  readonly cluster: ControlPlane;
  readonly nodes: readonly string[];
  /** The first {@link WARM_UP} workflows are warm-up. */
  readonly workflows: number;
}

export async function run(): Promise<BenchResult[]> {
  const only = numberOf("--nodes");
  const sizes = only !== null ? [only] : process.argv.includes("--quick") ? SIZES.slice(0, 1) : SIZES;
  const results: BenchResult[] = [];
  for (const size of sizes) results.push(...(await measure(size, numberOf("--pods") ?? 1_000)));
  return results;
}

async function measure(size: number, pods: number): Promise<BenchResult[]> {
  const workflows = WARM_UP + Math.ceil(pods / PODS_PER_WORKFLOW);
  const cluster = await startControlPlane({
    components: ["scheduler", "kwok"],
    schedulerConfig: BASE_CONFIG,
  });
  try {
    const nodes = Array.from({ length: size }, (_, index) => `node-${index}`);
    await cluster.addNodes(size, (index) => ({
      name: nodes[index]!,
      region: regionOf(index),
      zone: zoneOf(index),
    }));
    await cluster.createNamespace(NAMESPACE);
    const testbed = { cluster, nodes, workflows };
    const runs = {
      plain: [] as Run[],
      trivial: [] as Run[],
      planned: [] as Planned[],
      nominated: [] as Planned[],
      grown: [] as Grown[],
      answered: [] as Grown[],
      admitted: [] as Admitted[],
    };
    const ways = WAYS.filter((way) => GROWING.includes(way) || !process.argv.includes("--grow"));
    // Alternates, because the machine's load varies.
    for (let round = 0; round < ROUNDS; round++) {
      for (const way of round % 2 === 0 ? ways : ways.toReversed()) {
        if (way === "grown" || way === "answered" || way === "admitted") {
          if (way === "grown") runs.grown.push(await grownPlainly(cluster, workflows));
          else if (way === "answered")
            runs.answered.push(await grownByFixedAnswers(cluster, nodes, workflows));
          else runs.admitted.push(await grownAtAdmission(cluster, nodes, workflows));
          console.error(`${size} nodes, ${way}: ${JSON.stringify(runs[way].at(-1))}; ${loadText()}`);
          continue;
        }
        if (way === "planned") runs.planned.push(await byPlan(testbed, "required-affinity"));
        else if (way === "nominated") runs.nominated.push(await byPlan(testbed, "nomination"));
        else runs[way].push(await (way === "plain" ? plain(testbed) : trivially(testbed)));
        const { rate, cpuMs } = runs[way].at(-1)!;
        console.error(`${size} nodes, ${way}: ${rate.toFixed(1)} pods/s; ${cpuText(cpuMs)}; ${loadText()}`);
      }
    }
    const growth = reportGrowth(size, runs);
    return runs.plain.length === 0 ? growth : [...report(size, runs), ...growth];
  } finally {
    await cluster.close();
  }
}

function report(size: number, { plain, trivial, planned, nominated }: Runs): BenchResult[] {
  const where = `${size} nodes`;
  const rate = (of: readonly Run[]): number => median(of.map((each) => each.rate))!;
  // Adjacent runs have the same machine load.
  const ratio = (of: readonly Run[], to: readonly Run[]): number =>
    median(of.map((each, round) => each.rate / to[round]!.rate))!;
  const share = Math.min(...planned.map((each) => each.share));
  const cpu = (of: readonly Run[], spender: Spender): number =>
    median(of.map(({ cpuMs }) => cpuMs[spender]))!;
  const ofPlain = ratio(planned, plain);
  const least = OF_PLAIN.get(size);
  return [
    {
      name: `${where}: pods bound to their planned nodes`,
      value: share,
      unit: "share",
      target: `>= ${LANDED_SHARE}`,
      met: share >= LANDED_SHARE,
    },
    {
      name: `${where}: pods planned and bound`,
      value: rate(planned),
      unit: "pods/s",
      ...(least === undefined
        ? {}
        : {
            target: `>= ${least} x plain, or the floor`,
            met: ofPlain >= Math.min(least, ratio(trivial, plain)),
          }),
      peer: "plain kube-scheduler",
      ratio: ofPlain,
    },
    {
      name: `${where}: pods planned and nominated`,
      value: rate(nominated),
      unit: "pods/s",
      peer: "plain kube-scheduler",
      ratio: ratio(nominated, plain),
    },
    {
      name: `${where}: nominated pods bound to their planned nodes`,
      value: Math.min(...nominated.map((each) => each.share)),
      unit: "share",
    },
    {
      name: `${where}: pods bound to nodes and released without planning`,
      value: rate(trivial),
      unit: "pods/s",
      peer: "plain kube-scheduler",
      ratio: ratio(trivial, plain),
    },
    {
      name: `${where}: pods planned and bound`,
      value: rate(planned),
      unit: "pods/s",
      peer: "the same without planning",
      ratio: ratio(planned, trivial),
    },
    { name: `${where}: plain kube-scheduler`, value: rate(plain), unit: "pods/s" },
    ...(["scheduler", "api-server"] as const).map((spender): BenchResult => ({
      name: `${where}: CPU of ${spender} per planned pod`,
      value: cpu(planned, spender),
      unit: "ms",
      peer: "plain kube-scheduler",
      ratio: cpu(planned, spender) / cpu(plain, spender),
    })),
    { name: `${where}: CPU of the planner's process per pod`, value: cpu(planned, "bench"), unit: "ms" },
    {
      name: `${where}: search of a plan of ${PODS_PER_WORKFLOW} pods, mean`,
      value: median(planned.map(({ searchMs }) => searchMs))!,
      unit: "ms",
    },
  ];
}

function reportGrowth(size: number, { grown, answered, admitted }: Runs): BenchResult[] {
  const where = `${size} nodes`;
  const ratio = (to: readonly Grown[], of: readonly Grown[], rate: "createdRate" | "boundRate"): number =>
    median(of.map((each, round) => each[rate] / to[round]![rate]))!;
  const least = (part: "share" | "landed"): number => Math.min(...admitted.map((each) => each[part]));
  const p99Ms = Math.max(...admitted.map((each) => each.p99Ms));
  const rates = (["boundRate", "createdRate"] as const).flatMap((rate): BenchResult[] => {
    const name = `${where}: pods created with their nodes, ${rate === "boundRate" ? "bound" : "created and bound"}`;
    const value = median(admitted.map((each) => each[rate]))!;
    const ofPlain = ratio(grown, admitted, rate);
    const floor = ratio(grown, answered, rate);
    return [
      {
        name,
        value,
        unit: "pods/s",
        target: `>= ${OF_PLAIN_GROWTH} x plain, or the floor`,
        met: ofPlain >= Math.min(OF_PLAIN_GROWTH, floor),
        peer: "plain kube-scheduler",
        ratio: ofPlain,
      },
      {
        name,
        value,
        unit: "pods/s",
        peer: "a webhook that answers without planning",
        ratio: ratio(answered, admitted, rate),
      },
    ];
  });
  const cpu = (of: readonly Grown[]): number =>
    median(of.map(({ createdCpuMs }) => Object.values(createdCpuMs).reduce((sum, each) => sum + each, 0)))!;
  const spent = [
    { what: "created with their nodes", of: admitted },
    { what: "created with nodes by a webhook without planning", of: answered },
    { what: "created plainly", of: grown },
  ].map(({ what, of }): BenchResult => ({
    name: `${where}: CPU of all processes per pod ${what}`,
    value: cpu(of),
    unit: "ms",
    peer: "plain kube-scheduler",
    ratio: cpu(of) / cpu(grown),
  }));
  return [
    ...rates,
    ...spent,
    { name: `${where}: added pods that were created with their nodes`, value: least("share"), unit: "share" },
    {
      name: `${where}: of these bound to their planned nodes`,
      value: least("landed"),
      unit: "share",
      target: `>= ${LANDED_SHARE}`,
      met: least("landed") >= LANDED_SHARE,
    },
    {
      name: `${where}: the webhook's answers, p99, at most`,
      value: p99Ms,
      unit: "ms",
      target: `<= ${MAX_ANSWER_MS}`,
      met: p99Ms <= MAX_ANSWER_MS,
    },
  ];
}

async function plain({ cluster, workflows }: Testbed): Promise<Run> {
  await cluster.stop("scheduler");
  await createWorkflows(cluster, workflows, []);
  await cluster.restartScheduler();
  const run = await measured(cluster, WARM_UP * PODS_PER_WORKFLOW, workflows * PODS_PER_WORKFLOW);
  await clear(cluster);
  return run;
}

async function trivially({ cluster, nodes, workflows }: Testbed): Promise<Run> {
  await cluster.restartScheduler();
  const names = await createWorkflows(cluster, workflows, [PLACEMENT_GATE]);
  const landing = landAtOnce(cluster, names, (index) => nodes[index % nodes.length]!);
  const run = await measured(cluster, WARM_UP * PODS_PER_WORKFLOW, names.length);
  await landing;
  await clear(cluster);
  return run;
}

async function byPlan({ cluster, nodes, workflows }: Testbed, landing: string): Promise<Planned> {
  await cluster.restartScheduler();
  await createWorkflows(cluster, workflows, [PLACEMENT_GATE]);
  const graphs = new BenchGraphs(nodes, workflows);
  graphs.show(WARM_UP);
  const running = await startPlanner({
    kubeconfig: cluster.kubeconfig,
    graphs,
    scheduler: { keptDecisions: 100_000, podEvents: false },
    // Pods that the graphs don't show yet wait for them.
    planner: { deadlineMs: 600_000, graphWaitMs: 60_000, landing },
  });
  try {
    const warmUp = WARM_UP * PODS_PER_WORKFLOW;
    await until(cluster, warmUp);
    graphs.show(workflows);
    const run = await measured(cluster, warmUp, workflows * PODS_PER_WORKFLOW);
    const share = await landedShare(cluster, running);
    const metrics = await running.metrics();
    const seconds = sumOf(metrics, "isochrone_planner_plan_seconds_sum");
    const searchMs = (seconds * 1_000) / sumOf(metrics, "isochrone_planner_plan_seconds_count");
    return { ...run, share, searchMs };
  } finally {
    await running.stop();
    await clear(cluster);
  }
}

/** Judged by the pods themselves, not by the planner. */
async function landedShare(cluster: ControlPlane, running: RunningPlanner): Promise<number> {
  const plans = (await running.plans(NAMESPACE)).flatMap((plan) => plan.pods);
  const planned = new Map(plans.flatMap(({ name, node }) => (node === null ? [] : [[name, node] as const])));
  const pods = await cluster.list("pods", { namespace: NAMESPACE });
  const landed = pods.filter((pod) => planned.get(pod.metadata.name) === nodeNameOf(pod)).length;
  return planned.size === 0 ? 0 : landed / planned.size;
}

function cpuText(cpuMs: Run["cpuMs"]): string {
  const parts = Object.entries(cpuMs).map(([name, ms]) => `${name} ${ms.toFixed(2)}`);
  return `CPU ms/pod: ${parts.join(", ")}`;
}

function loadText(): string {
  return `load ${loadavg()[0]!.toFixed(1)}`;
}

function numberOf(flag: string): number | null {
  const text = process.argv.find((argument) => argument.startsWith(`${flag}=`));
  return text === undefined ? null : Number(text.slice(flag.length + 1));
}
