import { isPlainObject } from "./json.ts";
import { looseFields } from "@isochrone/primitives";

export const LABELS = {
  zone: "topology.kubernetes.io/zone",
  region: "topology.kubernetes.io/region",
  segment: "topology.kubernetes.io/segment",
  /** Label of a pod: the workflow that it belongs to. */
  workflow: "isochrone.dev/workflow",
  appGroup: "appgroup.diktyo.x-k8s.io",
  appGroupWorkload: "appgroup.diktyo.x-k8s.io.workload",
  partOf: "app.kubernetes.io/part-of",
} as const;

/** Matches labels by equality. An empty selector matches everything. */
export function matchesLabels(
  selector: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  return Object.entries(selector).every(([key, value]) => labels?.[key] === value);
}

/**
 * Matches a LabelSelector. An empty one matches everything; an invalid one, or an unknown operator, nothing.
 */
export function matchesSelector(
  selector: unknown,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  if (!isPlainObject(selector)) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  if (!isPlainObject(matchLabels) || !Array.isArray(matchExpressions)) return false;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels?.[key] === value) &&
    matchExpressions.every((expression: unknown) => matchesExpression(expression, labels ?? {}))
  );
}

function matchesExpression(expression: unknown, labels: Readonly<Record<string, string>>): boolean {
  const { key, operator, values: listed } = looseFields(expression);
  if (typeof key !== "string") return false;
  const values: unknown[] = Array.isArray(listed) ? listed : [];
  const label = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "In":
      return label !== undefined && values.includes(label);
    case "NotIn":
      return label === undefined || !values.includes(label);
    case "Exists":
      return label !== undefined;
    case "DoesNotExist":
      return label === undefined;
    default:
      return false;
  }
}

const WORKFLOW_LABELS = [LABELS.workflow, LABELS.appGroup, LABELS.partOf];

/** Workflow of a pod: by label, else its namespace. */
export function workflowOf(labels: Readonly<Record<string, string>>, namespace: string): string {
  const key = WORKFLOW_LABELS.find((label) => Object.hasOwn(labels, label) && labels[label] !== "");
  return (key && labels[key]) ?? namespace;
}
