// Random clusters: plans see all pods that stay, and none that is about to go.
import { KINDS } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { channel, workload } from "@isochrone/placement/testing";
import { seededRandom } from "@isochrone/runtime";
import { WorkflowGraph } from "@isochrone/topology";
import { expect, test } from "vitest";
import { nodeObject, NAMES } from "../testing/promise-rig.ts";
import { workflowSnapshot } from "../testing/graphs.ts";
import { ClusterModel } from "./cluster-model.ts";
import { MOVING_ANNOTATION } from "@isochrone/kubernetes";
import { assumedToBe, pressureShareOf, withoutGoing } from "./workflow-to-be.ts";

const WORKLOADS = ["p", "q", "r"];
const FATES = ["stays", "deleting", "deleted", "moving", "old", "drained", "evicted", "daemon"] as const;
type Fate = (typeof FATES)[number];
const DRAINED = "n5";
const EVICTING = "n6";
const STAYING: readonly Fate[] = ["stays", "daemon"];

function podOf(name: string, fate: Fate, node: string): KubernetesObject {
  const kind = fate === "daemon" ? "DaemonSet" : "ReplicaSet";
  return {
    ...KINDS.pod,
    metadata: {
      namespace: "shop",
      name,
      uid: name,
      ...(fate === "deleting" ? { deletionTimestamp: "2026-01-01T00:00:30Z" } : {}),
      ...(fate === "moving" ? { annotations: { [MOVING_ANNOTATION]: "n1" } } : {}),
      ownerReferences: [
        { apiVersion: "apps/v1", kind, name: "set", uid: fate === "old" ? "old" : "new", controller: true },
      ],
    },
    spec: { nodeName: node, containers: [] },
  };
}

test("no plan has a neighbour that is about to go, and none loses one that stays", () => {
  const random = seededRandom(1);
  const draw = <T>(items: readonly T[]): T => items[Math.floor(random.next() * items.length)]!;
  for (let round = 0; round < 200; round++) {
    const nodes = NAMES.map((name, index) => {
      const node = nodeObject(name, index);
      if (name === DRAINED) return { ...node, spec: { unschedulable: true } };
      return name === EVICTING ? { ...node, spec: { taints: [{ key: "gone", effect: "NoExecute" }] } } : node;
    });
    const none = { persistentVolumes: [], persistentVolumeClaims: [], csiNodes: [], volumeAttachments: [] };
    const model = new ClusterModel(
      { isSynced: true, lists: () => ({ nodes, namespaces: [], ...none }) },
      { isReplaced: (pod) => pod.metadata.ownerReferences?.[0]?.uid === "old" },
    );
    const take = (type: "added" | "deleted", object: KubernetesObject): void =>
      model.takePod({ type, object }, false);
    take("added", podOf("first", "deleting", DRAINED));
    const pods = Array.from({ length: 12 }, (_, index) => {
      const fate = draw(FATES);
      const others = NAMES.filter((name) => name !== DRAINED && name !== EVICTING);
      const at = { drained: DRAINED, evicted: EVICTING, daemon: draw([DRAINED, EVICTING]) } as const;
      return { name: `pod-${index}`, of: draw(WORKLOADS), fate, node: at[fate as "daemon"] ?? draw(others) };
    });
    for (const { name, fate, node } of pods) {
      take("added", podOf(name, fate, node));
      if (fate === "deleted") take("deleted", podOf(name, fate, node));
    }
    const graph = new WorkflowGraph({
      ...workflowSnapshot(),
      workloads: WORKLOADS.map((of) => {
        const own = pods.filter((pod) => pod.of === of).map(({ name, node }) => [name, node]);
        return workload(of, { cpu: 1, memory: 1 }, { ...Object.fromEntries(own), [`unseen-${of}`]: "n1" });
      }),
      channels: [channel("p", "q", 1_000), channel("r", "p", 500)],
    });
    const { workflow } = withoutGoing({ workflow: graph } as Parameters<typeof withoutGoing>[0], model);
    const shown = workflow.workloads.flatMap((each) => each.pods.map(({ name }) => name));
    const staying = pods.filter(({ fate }) => STAYING.includes(fate)).map(({ name }) => name);
    expect(shown.toSorted()).toEqual([...staying, ...WORKLOADS.map((of) => `unseen-${of}`)].toSorted());
    const assumed = pods.map(({ name, of, node }) => ({ name, workload: of, node }));
    const left = assumedToBe(assumed, graph, model).map(({ name }) => name);
    expect(left.toSorted()).toEqual(staying.toSorted());
  }
});

test("one pod after the other pays for load in all what they pay in a plan for all", () => {
  const names = WORKLOADS.flatMap((of) => [1, 2, 3].map((index): [string, string] => [`${of}-${index}`, of]));
  const channels = [channel("p", "q", 1_000), channel("r", "p", 500)];
  const rateOf = (of: string): number =>
    channels.reduce(
      (sum, each) => sum + (each.source === of || each.target === of ? each.bytesPerSecond! : 0),
      0,
    );
  const workflow = new WorkflowGraph({
    ...workflowSnapshot(),
    workloads: WORKLOADS.map((of) =>
      workload(
        of,
        { cpu: 1, memory: 1 },
        Object.fromEntries(names.filter((pod) => pod[1] === of).map(([name]) => [name, "n1"])),
      ),
    ),
    channels,
  });
  const planned = (pods: readonly [string, string][]): number =>
    pressureShareOf({ pods: pods.map(([name, of]) => ({ name, workload: of })) as never, workflow }, 1_000);
  expect(planned(names)).toBeCloseTo(0.1);
  // Weighted by the traffic that each plan shares among its pods.
  const alone = names.map((pod) => planned([pod]) * rateOf(pod[1]));
  expect(alone.reduce((sum, each) => sum + each, 0)).toBeCloseTo(0.1 * 1_500);
});
