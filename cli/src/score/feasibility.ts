// Explains why a pod cannot run on a node, by the model of kube-scheduler's filters. Names the pod's own rule
// if possible.
import { SchedulingModel, untoleratedTaint } from "@isochrone/placement";
import type { PodSpec } from "@isochrone/kubernetes";
import type { ApiObject, Rejection } from "@isochrone/placement";
import type { ClusterGraph } from "@isochrone/topology";
import { looseFields, looseList } from "@isochrone/primitives";
import { apiObject, completeObject, unplaced } from "./api-objects.ts";
import type { DumpObject } from "./read-objects.ts";
import { FILTERED_BY, objectsByKind } from "./scheduling-objects.ts";

const LACKING: Readonly<Record<string, string>> = {
  "Insufficient cpu": "its CPU request doesn't fit",
  "Insufficient memory": "its memory request doesn't fit",
  "Too many pods": "the node is full: it takes no more pods",
};

interface Feasibility {
  readonly infeasible: ReadonlyMap<string, string>;
  /** Rules of the pod that a dump cannot answer. Nodes may appear feasible although they are not. */
  readonly unjudged: readonly string[];
}

/** Judges every node by the objects of the dump, without the pod itself. */
export function judgeNodes(
  objects: readonly DumpObject[],
  pod: DumpObject,
  cluster: ClusterGraph,
): Feasibility {
  const nodes = objects.filter(({ kind, name }) => kind === "Node" && cluster.node(name) !== undefined);
  const beside = objects.filter((object) => !isSame(object, pod));
  const model = SchedulingModel.of(objectsByKind(beside.map(completeObject), FILTERED_BY));
  const whole: ApiObject = apiObject(unplaced(pod));
  const unjudged = model.unsupported(whole);
  const candidate = unjudged.length === 0 ? whole : withoutClaims(whole);
  const infeasible = new Map<string, string>();
  for (const node of nodes) {
    if (cluster.node(node.name)?.ready === false) infeasible.set(node.name, "the node is not ready");
    const rejection = infeasible.has(node.name) ? null : model.verdict(candidate, node.name);
    // A rule that the model doesn't support rejects no node, because a dump seldom has all objects.
    if (rejection !== null && rejection.plugin !== "Unsupported")
      infeasible.set(node.name, explained(rejection, model.node(node.name)!, pod));
  }
  return { infeasible, unjudged };
}

function isSame(a: DumpObject, b: DumpObject): boolean {
  return a.kind === b.kind && a.namespace === b.namespace && a.name === b.name;
}

/** Removes references to objects that dumps seldom contain, so that the other rules can be judged. */
function withoutClaims(pod: ApiObject): ApiObject {
  const { volumes: _volumes, resourceClaims: _claims, ...spec } = looseFields(pod.spec);
  return { ...pod, spec };
}

type JudgedNode = NonNullable<ReturnType<SchedulingModel["node"]>>;

function explained({ plugin, message }: Rejection, node: JudgedNode, pod: DumpObject): string {
  switch (plugin) {
    case "NodeUnschedulable":
      return "the node is cordoned";
    case "NodeAffinity":
      return unmetSelector(node, pod) ?? message;
    case "TaintToleration":
      return taintText(node, pod) ?? message;
    default:
      return LACKING[message.split(", ")[0]!] ?? message;
  }
}

function unmetSelector({ labels }: JudgedNode, pod: DumpObject): string | null {
  for (const [key, value] of Object.entries(looseFields(looseFields<PodSpec>(pod.json.spec).nodeSelector))) {
    if (labels[key] !== value) return `the pod's nodeSelector asks for ${key}=${String(value)}`;
  }
  return null;
}

function taintText({ taints }: JudgedNode, pod: DumpObject): string | null {
  const taint = untoleratedTaint(taints, looseList(looseFields<PodSpec>(pod.json.spec).tolerations));
  return taint === undefined ? null : `the pod doesn't tolerate the taint ${taint.key}:${taint.effect}`;
}
