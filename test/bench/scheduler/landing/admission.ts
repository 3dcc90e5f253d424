// Workflows that run and grow: from the first create of an added pod to the last binding, with the webhook
// that gives pods their nodes, and without any.
import { setTimeout as sleep } from "node:timers/promises";
import { KINDS, PLACEMENT_LABEL, WEBHOOK_ANSWER, WEBHOOK_CONFIGURATION } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { freePort } from "../../../harness/common/free-port.ts";
import { nodeNameOf } from "../../../harness/control-plane/index.ts";
import type { ControlPlane } from "../../../harness/control-plane/index.ts";
import { sumOf } from "../../../harness/extender.ts";
import { startPlanner } from "../../../harness/planner.ts";
import type { RunningPlanner } from "../../../harness/planner.ts";
import { clear, until } from "./run.ts";
import { ADDED, BenchGraphs, createWorkflows, FIRST, FIRST_PER_WORKFLOW, NAMESPACE } from "./testbed.ts";

export interface Grown {
  /** Pods per second. */
  readonly rate: number;
}

export interface Admitted extends Grown {
  /** Of the pods that were added, those that were created with their nodes. */
  readonly share: number;
  /** Of those, the ones that are on the planned node. */
  readonly landed: number;
  /** The least bound of the histogram that 99 % of the answers are within; Infinity where none is. */
  readonly p99Ms: number;
}

/** By kube-scheduler alone. */
export async function grownPlainly(cluster: ControlPlane, workflows: number): Promise<Grown> {
  await cluster.restartScheduler();
  const rate = await grow(cluster, workflows);
  await clear(cluster);
  return { rate };
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
    const rate = await grow(cluster, workflows);
    const pods = await cluster.list("pods", { namespace: NAMESPACE });
    return { rate, ...(await judged(pods, workflows, running)) };
  } finally {
    await running.stop();
    await cluster.remove({ ...KINDS.mutatingWebhookConfiguration, name: WEBHOOK_CONFIGURATION });
    await cluster.patch({ ...KINDS.namespace, name: NAMESPACE }, label(null));
    await clear(cluster);
  }
}

/** Pods/s. */
async function grow(cluster: ControlPlane, workflows: number): Promise<number> {
  await createWorkflows(cluster, workflows, [], FIRST);
  const first = FIRST_PER_WORKFLOW * workflows;
  await until(cluster, first);
  // The last bindings reach whoever watches.
  await sleep(1_000);
  const beganMs = performance.now();
  const added = await createWorkflows(cluster, workflows, [], ADDED);
  const { atMs } = await until(cluster, first + added.length, () => undefined, 100);
  return (added.length * 1_000) / (atMs - beganMs);
}

async function untilAnswering(cluster: ControlPlane): Promise<void> {
  const pod = {
    ...KINDS.pod,
    metadata: { generateName: "trial-", namespace: NAMESPACE },
    spec: { containers: [{ name: "main", image: "none" }] },
  };
  const path = `/api/v1/namespaces/${NAMESPACE}/pods?dryRun=All`;
  for (let tries = 0; tries < 300; tries++) {
    const { metadata } = (await cluster.request("POST", path, pod)) as KubernetesObject;
    if (metadata.annotations?.[WEBHOOK_ANSWER] === "gated") return;
    await sleep(200);
  }
  throw new Error("the webhook doesn't answer");
}

async function judged(
  pods: readonly KubernetesObject[],
  workflows: number,
  running: RunningPlanner,
): Promise<Omit<Admitted, "rate">> {
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
