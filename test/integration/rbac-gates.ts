// Waiting pods and the chart's uninstallation, for the permission tests.
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { hasOurGate, KINDS, PLACEMENT_GATE, type ObjectRef } from "@isochrone/kubernetes";
import { MANIFEST_VALUES, type ComponentProcess } from "../harness/components/index.ts";
import { podObject, type ControlPlane } from "../harness/control-plane/index.ts";
import { COMMAND } from "../harness/extender.ts";
import { NODES, SHOP, type Testbed } from "./rbac-testbed.ts";

const WITHIN_MS = 60_000;
const OPENED_WITHIN_MS = 120_000;

export async function addGatedPod(
  cluster: ControlPlane,
  name: string,
  otherGates: readonly string[] = [],
): Promise<ObjectRef> {
  const namespace = "default";
  await cluster.create(podObject(name, { namespace, schedulingGates: [...otherGates, PLACEMENT_GATE] }));
  return { ...KINDS.pod, namespace, name };
}

/** Creates a pod restricted by plan to nodes that reject it. The test plays kube-scheduler. */
async function strandPod(cluster: ControlPlane, namespace: string, nodes: readonly string[]): Promise<void> {
  const name = "stranded";
  // A separate workflow would get an AppGroup that disappears with the pod.
  const pod = podObject(name, { namespace, labels: { app: "web", "isochrone.dev/workflow": "flow" } });
  const owner = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    name: "web-5d4f",
    uid: "gone",
    controller: true,
  };
  const annotations = {
    "isochrone.dev/planned-node": nodes[0]!,
    "isochrone.dev/planned-among": nodes.join(","),
  };
  await cluster.create({ ...pod, metadata: { ...pod.metadata, annotations, ownerReferences: [owner] } });
  const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "no node" };
  await cluster.patch({ ...KINDS.pod, namespace, name }, { status: { conditions: [condition] } }, "status");
}

export const SHORT_DEADLINE = { gates: { enabled: true, deadlineMs: 2000, checkIntervalMs: 500 } };

/** Whether a pod still waits after `opener` alone had time to open its gate. */
export async function isGatedPastDeadline(
  cluster: ControlPlane,
  opener: ComponentProcess,
  others: readonly ComponentProcess[],
): Promise<boolean> {
  await Promise.all(others.map((other) => other.stop()));
  await opener.start();
  const pod = await addGatedPod(cluster, "waits");
  const isGated = async (): Promise<boolean> => hasOurGate((await cluster.get(pod))!);
  for (const endMs = Date.now() + OPENED_WITHIN_MS; Date.now() < endMs && (await isGated());)
    await sleep(500);
  const isStillGated = await isGated();
  await opener.stop();
  await Promise.all(others.map((other) => other.start()));
  return isStillGated;
}

/** Runs `isochrone gates open --all --remove-webhook` under the uninstallation's account. */
export async function uninstall(cluster: ControlPlane): Promise<string> {
  const { NAMESPACE: namespace, NAME } = MANIFEST_VALUES;
  const kubeconfig = await cluster.kubeconfigOf({
    serviceAccount: { namespace, name: `${NAME}-uninstall` },
  });
  const command = ["gates", "open", "--all", "--remove-webhook", "--kubeconfig", kubeconfig];
  const { stdout } = await promisify(execFile)(process.execPath, [COMMAND, ...command], {
    timeout: WITHIN_MS,
  });
  return stdout;
}

const PLANNED_WITHIN_MS = 10_000;
const UNTIL_MS = 240_000;

/** Adds gated replicas until `isDone` or for four minutes. More pairs give a busy machine more chances. */
export async function replicasUntil(testbed: Testbed, isDone: () => Promise<boolean>): Promise<void> {
  const endMs = Date.now() + UNTIL_MS;
  await strandPod(testbed.cluster, SHOP, NODES);
  for (let nextMs = 0; Date.now() < endMs && !(await isDone()); await sleep(1000)) {
    if (Date.now() < nextMs) continue;
    await testbed.addGatedReplicas();
    nextMs = Date.now() + PLANNED_WITHIN_MS;
  }
}
