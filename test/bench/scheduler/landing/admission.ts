// Running workflows grow with the webhook, with one that knows nothing, and without any.
import { setTimeout as sleep } from "node:timers/promises";
import { KINDS, PLACEMENT_LABEL, WEBHOOK_ANSWER, WEBHOOK_CONFIGURATION } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { freePort } from "../../../harness/common/free-port.ts";
import { nodeNameOf } from "../../../harness/control-plane/index.ts";
import type { ControlPlane } from "../../../harness/control-plane/index.ts";
import { sumOf } from "../../../harness/extender.ts";
import { startPlanner } from "../../../harness/planner.ts";
import type { RunningPlanner } from "../../../harness/planner.ts";
import { answerFixedly } from "./fixed-answers.ts";
import { between, clear, lookAt, measured, until } from "./run.ts";
import type { Run } from "./run.ts";
import {
  BenchGraphs,
  createWorkflows,
  FIRST,
  FIRST_PER_WORKFLOW,
  NAMESPACE,
  OTHERS,
  podsOf,
  SECOND,
} from "./testbed.ts";

/** A poll costs kube-scheduler about 10 ms; these runs are short. */
const QUICK_POLL_MS = 100;
const TRIALS = 10;

export interface Grown {
  /** From the first create to the last binding. */
  readonly createdRate: number;
  /** Per pod, during creation and binding. */
  readonly createdCpuMs: Run["cpuMs"];
  /** For pods created while no scheduler ran. */
  readonly boundRate: number;
}

export interface Admitted extends Grown {
  /** Share of the added pods that were created with their nodes. */
  readonly share: number;
  /** Share of those that are on the planned node. */
  readonly landed: number;
  /** Smallest histogram limit that covers 99 % of the responses. Infinity if none does. */
  readonly p99Ms: number;
}

export async function grownPlainly(cluster: ControlPlane, workflows: number): Promise<Grown> {
  await cluster.restartScheduler();
  const grown = await grow(cluster, workflows);
  await clear(cluster);
  return grown;
}

/** Grows with a webhook that gives pods any nodes. */
export async function grownByFixedAnswers(
  cluster: ControlPlane,
  nodes: readonly string[],
  workflows: number,
): Promise<Grown> {
  await cluster.restartScheduler();
  const end = await answerFixedly(cluster, nodes);
  try {
    return await grow(cluster, workflows);
  } finally {
    await end();
    await clear(cluster);
  }
}

export async function grownAtAdmission(
  cluster: ControlPlane,
  nodes: readonly string[],
  workflows: number,
): Promise<Admitted> {
  await cluster.restartScheduler();
  const graphs = new BenchGraphs(nodes, workflows);
  graphs.show(workflows);
  const port = await freePort("127.0.0.1", new Set());
  const running = await startPlanner({
    kubeconfig: cluster.kubeconfig,
    graphs,
    // The graphs never show the pods.
    scheduler: { keptDecisions: 100_000, podEvents: false, ledgerMs: 3_600_000 },
    planner: { deadlineMs: 600_000, graphWaitMs: 60_000 },
    webhook: { host: "127.0.0.1", port, url: `https://127.0.0.1:${port}` },
  });
  try {
    await cluster.patch({ ...KINDS.namespace, name: NAMESPACE }, label("enabled"));
    await untilAnswering(cluster);
    const grown = await grow(cluster, workflows);
    const pods = await cluster.list("pods", { namespace: NAMESPACE });
    return { ...grown, ...(await judged(pods, workflows, running)) };
  } finally {
    await running.stop();
    await cluster.remove({ ...KINDS.mutatingWebhookConfiguration, name: WEBHOOK_CONFIGURATION });
    await cluster.patch({ ...KINDS.namespace, name: NAMESPACE }, label(null));
    await clear(cluster);
  }
}

async function grow(cluster: ControlPlane, workflows: number): Promise<Grown> {
  await createWorkflows(cluster, workflows, [], FIRST);
  const first = FIRST_PER_WORKFLOW * workflows;
  await until(cluster, first);
  // Wait until watchers have received the last bindings.
  await sleep(1_000);
  await warmUp(cluster);
  const from = await lookAt(cluster);
  const second = await createWorkflows(cluster, workflows, [], SECOND);
  const now = await until(cluster, first + second.length, () => undefined, QUICK_POLL_MS);
  const created = between(from, now);
  await cluster.stop("scheduler");
  const others = await createWorkflows(cluster, workflows, [], OTHERS);
  await cluster.restartScheduler();
  const { rate: boundRate } = await measured(cluster, 0, others.length, QUICK_POLL_MS);
  return { createdRate: created.rate, boundRate, createdCpuMs: created.cpuMs };
}

async function untilAnswering(cluster: ControlPlane): Promise<void> {
  const pod = {
    ...KINDS.pod,
    metadata: { generateName: "trial-", namespace: NAMESPACE },
    spec: { containers: [{ name: "main", image: "none" }] },
  };
  const path = `/api/v1/namespaces/${NAMESPACE}/pods?dryRun=All`;
  for (let tries = 0; tries < 300; tries++) {
    const { metadata } = await cluster.request("POST", path, pod);
    if (metadata.annotations?.[WEBHOOK_ANSWER] === "gated") return;
    await sleep(200);
  }
  throw new Error("the webhook doesn't answer");
}

/** Compiles the planner's code, because a planner is long-running. Keeps nothing of a trial. */
async function warmUp(cluster: ControlPlane): Promise<void> {
  const path = `/api/v1/namespaces/${NAMESPACE}/pods?dryRun=All`;
  for (let trial = 0; trial < TRIALS; trial++)
    for (const pod of podsOf("wf-0", [], 0)) await cluster.request("POST", path, pod);
}

async function judged(
  pods: readonly KubernetesObject[],
  workflows: number,
  running: RunningPlanner,
): Promise<Omit<Admitted, keyof Grown>> {
  const planned = pods.filter(({ metadata }) => metadata.annotations?.[WEBHOOK_ANSWER] === "planned");
  const landed = planned.filter(
    (pod) => nodeNameOf(pod) === pod.metadata.annotations?.["isochrone.dev/planned-node"],
  );
  const metrics = await running.metrics();
  const answers = sumOf(metrics, "isochrone_webhook_seconds_count");
  const bounds = [...metrics.matchAll(/^isochrone_webhook_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm)];
  const within = bounds.find(([, , count]) => Number(count) >= 0.99 * answers);
  return {
    share: planned.length / (pods.length - FIRST_PER_WORKFLOW * workflows),
    landed: planned.length === 0 ? 0 : landed.length / planned.length,
    p99Ms: 1_000 * Number(within?.[1] ?? Infinity),
  };
}

function label(value: string | null): object {
  return { metadata: { labels: { [PLACEMENT_LABEL]: value } } };
}
