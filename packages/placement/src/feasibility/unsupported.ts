import type { Toleration } from "./objects/fields.ts";
import { record, records, text, type ApiObject } from "./objects/json.ts";
import type { SchedulingPod } from "./objects/scheduling-pod.ts";
import type { Storage } from "./filters/volumes.ts";

/** Fields of a pod's spec that bring a plugin of their own, and what they are. */
const OTHER_PLUGINS: Readonly<Record<string, string>> = {
  resourceClaims: "it has resourceClaims (dynamic resource allocation)",
  workloadRef: "it belongs to a Workload (gang scheduling)",
  schedulingGroup: "it belongs to a scheduling group (gang scheduling)",
};

/** What the pod uses that the model doesn't have, in words that follow "not planned: ". */
export function unsupportedUses(pod: ApiObject, read: SchedulingPod, storage: Storage): string[] {
  const spec = record(pod.spec);
  const uses = Object.entries(OTHER_PLUGINS)
    .filter(([field]) => isUsed(spec[field]))
    .map(([, reason]) => reason);
  return [
    ...uses,
    ...comparingTolerations(records(read.spec.tolerations)),
    ...read.faults,
    ...storage.unsupported(read),
  ];
}

function isUsed(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null;
}

/** Alpha in 1.35: whether they match depends on a feature gate of the cluster. */
function comparingTolerations(tolerations: readonly Toleration[]): string[] {
  const compares = tolerations.some(({ operator }) => ["Lt", "Gt"].includes(text(operator)));
  return compares ? ["its tolerations compare numbers (operators Lt and Gt)"] : [];
}
