// Pods that must be scheduled as a group. We never hold, plan or move a single member.
import { record, text, type ApiObject } from "./objects/json.ts";
import type { Metadata } from "./objects/fields.ts";

const IN_SPEC: Readonly<Record<string, string>> = {
  workloadRef: "it belongs to a Workload (gang scheduling)",
  schedulingGroup: "it belongs to a scheduling group (gang scheduling)",
};
/** Labels or annotations of scheduler-plugins (0.24 and before), Volcano and Kueue. */
export const GANG_KEYS: readonly string[] = [
  "scheduling.x-k8s.io/pod-group",
  "pod-group.scheduling.sigs.k8s.io",
  "scheduling.k8s.io/group-name",
  "kueue.x-k8s.io/pod-group-name",
];

export function gangOf({ metadata, spec }: ApiObject): string | null {
  const fields = record(spec);
  for (const [field, reason] of Object.entries(IN_SPEC))
    if (fields[field] !== undefined && fields[field] !== null) return reason;
  const { labels, annotations } = record<Metadata>(metadata);
  for (const key of GANG_KEYS)
    if (text(record(labels)[key]) !== "" || text(record(annotations)[key]) !== "")
      return `it belongs to a group (gang scheduling, ${key})`;
  return null;
}
