// Why a pod can't go to a node: the filters of kube-scheduler that a dump can answer for, and our own.
import type { ClusterGraph, ClusterNode } from "@isochrone/topology";
import { isLive, nodeOf, requestsOf } from "./dump-pods.ts";
import { listOf, recordOf } from "./read-objects.ts";
import type { DumpObject, Json } from "./read-objects.ts";

interface Amounts {
  cpuMillicores: number;
  memoryBytes: number;
}

/** The first reason for each node that has one. */
export function infeasibleNodes(
  objects: readonly DumpObject[],
  pod: DumpObject,
  cluster: ClusterGraph,
): Map<string, string> {
  const reasons = new Map<string, string>();
  const taken = requestedByNode(objects, pod);
  for (const object of objects) {
    const node = object.kind === "Node" ? cluster.node(object.name) : undefined;
    if (node === undefined) continue;
    const reason =
      stateReason(node) ??
      selectorReason(object, pod) ??
      taintReason(object, pod) ??
      fitReason(node, pod, taken);
    if (reason !== null) reasons.set(node.name, reason);
  }
  return reasons;
}

function stateReason(node: ClusterNode): string | null {
  if (!node.ready) return "the node is not ready";
  return node.cordoned ? "the node is cordoned" : null;
}

function selectorReason(node: DumpObject, pod: DumpObject): string | null {
  const labels = recordOf(recordOf(node.json["metadata"])["labels"]);
  for (const [key, value] of Object.entries(recordOf(recordOf(pod.json["spec"])["nodeSelector"]))) {
    if (labels[key] !== value) return `the pod's nodeSelector asks for ${key}=${String(value)}`;
  }
  return null;
}

function taintReason(node: DumpObject, pod: DumpObject): string | null {
  const tolerations = listOf(recordOf(pod.json["spec"])["tolerations"]).map(recordOf);
  for (const taint of listOf(recordOf(node.json["spec"])["taints"]).map(recordOf)) {
    if (taint["effect"] !== "NoSchedule" && taint["effect"] !== "NoExecute") continue;
    if (!tolerations.some((toleration) => tolerates(toleration, taint))) {
      return `the pod doesn't tolerate the taint ${String(taint["key"])}:${taint["effect"]}`;
    }
  }
  return null;
}

/** An absent key with operator Exists tolerates everything; an absent effect tolerates every effect. */
function tolerates(toleration: Json, taint: Json): boolean {
  const exists = toleration["operator"] === "Exists";
  const key = toleration["key"] ?? "";
  if (
    toleration["effect"] !== undefined &&
    toleration["effect"] !== "" &&
    toleration["effect"] !== taint["effect"]
  )
    return false;
  if (key === "") return exists;
  return key === taint["key"] && (exists || (toleration["value"] ?? "") === (taint["value"] ?? ""));
}

function fitReason(node: ClusterNode, pod: DumpObject, taken: ReadonlyMap<string, Amounts>): string | null {
  const wants = requestsOf(pod);
  const used = taken.get(node.name) ?? { cpuMillicores: 0, memoryBytes: 0 };
  if (exceeds(wants.cpuMillicores, used.cpuMillicores, node.allocatableCpuMillicores))
    return "its CPU request doesn't fit";
  if (exceeds(wants.memoryBytes, used.memoryBytes, node.allocatableMemoryBytes))
    return "its memory request doesn't fit";
  return null;
}

function exceeds(wanted: number | null, used: number, allocatable: number | null): boolean {
  return wanted !== null && wanted > 0 && allocatable !== null && used + wanted > allocatable;
}

function requestedByNode(objects: readonly DumpObject[], pod: DumpObject): Map<string, Amounts> {
  const taken = new Map<string, Amounts>();
  for (const other of objects) {
    const itself = other.name === pod.name && other.namespace === pod.namespace;
    const node = other.kind === "Pod" && !itself && isLive(other) ? nodeOf(other) : null;
    if (node === null) continue;
    const sum = taken.get(node) ?? { cpuMillicores: 0, memoryBytes: 0 };
    const { cpuMillicores, memoryBytes } = requestsOf(other);
    sum.cpuMillicores += cpuMillicores ?? 0;
    sum.memoryBytes += memoryBytes ?? 0;
    taken.set(node, sum);
  }
  return taken;
}
