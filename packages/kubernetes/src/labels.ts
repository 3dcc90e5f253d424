/** Label keys that Isochrone reads. */
export const LABELS = {
  zone: "topology.kubernetes.io/zone",
  region: "topology.kubernetes.io/region",
  segment: "topology.kubernetes.io/segment",
  workflow: "isochrone.dev/workflow",
  appGroup: "appgroup.diktyo.x-k8s.io",
  appGroupWorkload: "appgroup.diktyo.x-k8s.io.workload",
  partOf: "app.kubernetes.io/part-of",
} as const;

/** Whether the labels have every pair of the selector; an empty selector takes everything. */
export function matchesLabels(
  selector: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  return Object.entries(selector).every(([key, value]) => labels?.[key] === value);
}

/** By rank: the first label that is set names the workflow. */
const WORKFLOW_LABELS = [LABELS.workflow, LABELS.appGroup, LABELS.partOf];

/** The name of the workflow that a pod belongs to: by label, else its namespace is one workflow. */
export function workflowOf(labels: Readonly<Record<string, string>>, namespace: string): string {
  const key = WORKFLOW_LABELS.find((label) => Object.hasOwn(labels, label) && labels[label] !== "");
  return (key && labels[key]) ?? namespace;
}
