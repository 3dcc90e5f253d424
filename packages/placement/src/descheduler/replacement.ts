import { fieldsOf } from "./cluster-object.ts";
import type { ApiObject } from "../feasibility/objects/json.ts";

/**
 * The running pod as its controller will make it anew: without a node, and without what became of it. It
 * keeps its name, by which models know it.
 */
export function replacementOf<T extends ApiObject>(pod: T): T {
  const { nodeName: _node, schedulingGates: _gates, ...spec } = fieldsOf(pod.spec);
  return { ...pod, spec, status: {} };
}
