import { fieldsOf } from "./cluster-object.ts";
import type { ApiObject } from "../feasibility/objects/json.ts";

/**
 * The pod as its controller recreates it: without node and status. Keeps the name, which identifies it in
 * models.
 */
export function replacementOf<T extends ApiObject>(pod: T): T {
  const { nodeName: _node, schedulingGates: _gates, ...spec } = fieldsOf(pod.spec);
  return { ...pod, spec, status: {} };
}
