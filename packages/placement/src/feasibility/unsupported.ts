import { gangOf } from "./gangs.ts";
import type { Toleration } from "./objects/fields.ts";
import { record, records, text, type ApiObject } from "./objects/json.ts";
import type { SchedulingPod } from "./objects/scheduling-pod.ts";
import type { Storage } from "./filters/volumes.ts";

/** Features that the pod uses and the model lacks, worded to follow "not planned: ". */
export function unsupportedUses(pod: ApiObject, read: SchedulingPod, storage: Storage): string[] {
  const { resourceClaims } = record<{ readonly resourceClaims: unknown }>(pod.spec);
  const gang = gangOf(pod);
  return [
    ...(records(resourceClaims).length > 0 ? ["it has resourceClaims (dynamic resource allocation)"] : []),
    ...(gang === null ? [] : [gang]),
    ...comparingTolerations(records(read.spec.tolerations)),
    ...read.faults,
    ...storage.unsupported(read),
  ];
}

/** Alpha in 1.35: matching depends on a feature gate of the cluster. */
function comparingTolerations(tolerations: readonly Toleration[]): string[] {
  const compares = tolerations.some(({ operator }) => ["Lt", "Gt"].includes(text(operator)));
  return compares ? ["its tolerations compare numbers (operators Lt and Gt)"] : [];
}
