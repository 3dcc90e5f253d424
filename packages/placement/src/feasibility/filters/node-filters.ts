// Filters that depend on the pod and the node only.
import type { PodSpec } from "../objects/fields.ts";
import { labelOf, records, text, textMembers } from "../objects/json.ts";
import type { NodeState } from "../objects/node-state.ts";
import { requiredAffinity, type SchedulingPod } from "../objects/scheduling-pod.ts";
import { nodeSelector, type NodeTest } from "../objects/selectors.ts";
import { tolerates, untoleratedTaint, UNSCHEDULABLE } from "../objects/taints.ts";
import type { Rejection } from "../objects/verdict.ts";

export function requiredNodes(spec: PodSpec): NodeTest {
  const wanted = Object.entries(textMembers(spec.nodeSelector));
  const required = requiredAffinity(spec, "nodeAffinity");
  const affinity = required === undefined || required === null ? null : nodeSelector(required);
  return (node) =>
    wanted.every(([key, value]) => labelOf(node.labels, key) === value) && (affinity?.(node) ?? true);
}

export function nodeFilter(pod: SchedulingPod): (node: NodeState) => Rejection | null {
  const tolerations = records(pod.spec.tolerations);
  const toleratesCordon = tolerates(tolerations, UNSCHEDULABLE);
  const nodeName = text(pod.spec.nodeName);
  const matches = requiredNodes(pod.spec);
  return (node) => {
    if (node.unschedulable && !toleratesCordon) return UNSCHEDULABLE_NODE;
    if (nodeName !== "" && nodeName !== node.name) return OTHER_NAME;
    if (untoleratedTaint(node.taints, tolerations) !== undefined) return TAINTED;
    return matches(node) ? null : NOT_SELECTED;
  };
}

const UNSCHEDULABLE_NODE: Rejection = { plugin: "NodeUnschedulable", message: "node(s) were unschedulable" };
const OTHER_NAME: Rejection = { plugin: "NodeName", message: "node(s) didn't match the requested node name" };
const TAINTED: Rejection = { plugin: "TaintToleration", message: "node(s) had untolerated taint(s)" };
const NOT_SELECTED: Rejection = {
  plugin: "NodeAffinity",
  message: "node(s) didn't match Pod's node affinity/selector",
};
