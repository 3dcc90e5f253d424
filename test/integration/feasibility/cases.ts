import type { KubernetesObject } from "@isochrone/kubernetes";
import { askedPod, generatePod } from "./pods.ts";
import { CSI_DRIVER } from "./shared.ts";
import { object, Some, type Json, type Labels } from "./words.ts";

export const PROBE_LABEL = "isochrone.dev/asked";

export interface GeneratedCluster {
  readonly nodes: readonly KubernetesObject[];
  readonly csiNodes: readonly KubernetesObject[];
  readonly placed: readonly PlacedPod[];
  readonly nominated: readonly { readonly pod: KubernetesObject; readonly node: string }[];
  readonly asked: readonly KubernetesObject[];
}

interface PlacedPod {
  readonly pod: KubernetesObject;
  /** Status to patch after creation. Null: unchanged. */
  readonly status: Json | null;
  readonly terminating: boolean;
}

/** @param name prefix of all object names */
export function generateCluster(seed: number, name: string, asked: number): GeneratedCluster {
  const some = new Some(seed);
  const nodes = Array.from({ length: some.between(5, 9) }, (_, index) =>
    node(some, `${name}-n${index}`, index),
  );
  const names = nodes.map(({ metadata }) => metadata.name);
  const placed = Array.from({ length: some.between(8, 22) }, (_, index): PlacedPod => {
    const pod = generatePod(some, `${name}-p${index}`, 0.15);
    const spec: Json = { ...pod.spec, nodeName: some.of(names) };
    delete spec["nodeSelector"];
    const finishes = some.chance(0.1);
    // kube-scheduler frees a port when one of two pods with it ends. Two scheduled pods never share a port.
    if (finishes) spec["containers"] = (spec["containers"] as Json[]).map((one) => ({ ...one, ports: [] }));
    if (finishes) delete spec["initContainers"];
    const status = some.chance(0.25) ? resizedStatus(some) : null;
    return {
      pod: { ...pod, spec },
      status: finishes ? { phase: some.of(["Succeeded", "Failed"]) } : status,
      terminating: some.chance(0.1),
    };
  });
  const nominated = Array.from({ length: some.between(0, 6) }, (_, index) => {
    const pod = generatePod(some, `${name}-w${index}`, 0.2);
    const spec = { ...pod.spec, schedulingGates: [{ name: "isochrone.dev/held" }] };
    return { pod: { ...pod, spec }, node: some.of(names) };
  });
  const csiNodes = names.filter(() => some.chance(0.8)).map((node) => csiNode(some, node));
  return {
    nodes,
    csiNodes,
    placed,
    nominated,
    asked: Array.from({ length: asked }, (_, index) => {
      const pod = askedPod(some, `${name}-q${index}`, index, names);
      return {
        ...pod,
        metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, [PROBE_LABEL]: name } },
      };
    }),
  };
}

function node(some: Some, name: string, index: number): KubernetesObject {
  const labels: Labels = {
    "kubernetes.io/hostname": name,
    slot: `s${index}`,
    disk: some.of(["ssd", "hdd"]),
    cores: some.of(["4", "8", "16", "many"]),
  };
  if (some.chance(0.88)) labels["topology.kubernetes.io/zone"] = `z${index % 3}`;
  if (some.chance(0.8)) labels["rack"] = `r${some.between(0, 3)}`;
  const taints: Json[] = [];
  if (some.chance(0.2)) taints.push({ key: "dedicated", value: some.of(["a", "b"]), effect: "NoSchedule" });
  if (some.chance(0.1)) taints.push({ key: "maintenance", effect: "NoExecute" });
  if (some.chance(0.15)) taints.push({ key: "slow", effect: "PreferNoSchedule" });
  const allocatable: Labels = {
    cpu: some.of(["1500m", "3.5", "4", "8", "16"]),
    memory: some.of(["2G", "4Gi", "8000Mi", "32Gi"]),
    "ephemeral-storage": some.of(["2Gi", "10Gi", "20G"]),
    pods: String(some.between(3, 14)),
  };
  if (some.chance(0.5)) allocatable["example.com/gpu"] = String(some.between(1, 3));
  if (some.chance(0.4)) allocatable["hugepages-2Mi"] = some.of(["64Mi", "128Mi"]);
  return {
    ...object("v1", "Node", { name, labels }),
    spec: { taints, ...(some.chance(0.1) ? { unschedulable: true } : {}) },
    status: { allocatable, capacity: allocatable, conditions: [{ type: "Ready", status: "True" }] },
  };
}

function csiNode(some: Some, name: string): KubernetesObject {
  const driver = { name: CSI_DRIVER, nodeID: name, allocatable: { count: some.between(1, 2) } };
  return { ...object("storage.k8s.io/v1", "CSINode", { name }), spec: { drivers: [driver] } };
}

/** Status as a kubelet writes it during an in-place resize of a container. */
function resizedStatus(some: Some): Json {
  const requests = { cpu: some.of(["50m", "1"]), memory: some.of(["8Mi", "900Mi"]) };
  return {
    containerStatuses: [
      {
        name: "c0",
        image: "none",
        imageID: "none",
        ready: true,
        restartCount: 0,
        allocatedResources: { cpu: "200m" },
        resources: { requests },
      },
    ],
    ...(some.chance(0.5)
      ? {
          conditions: [
            { type: "PodResizePending", status: "True", reason: some.of(["Infeasible", "Deferred"]) },
          ],
        }
      : {}),
  };
}
