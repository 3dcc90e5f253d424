import { record, type ApiObject } from "../feasibility/objects/json.ts";

export function waitingAgain(pod: ApiObject): ApiObject {
  const { nodeName: _, ...spec } = record(pod.spec);
  return { ...pod, spec, status: { phase: "Pending" } };
}
