import type { KindRef } from "../../store/port.ts";

/** Kinds with a status subresource. Of custom resources, only Isochrone's: upstream's CRDs declare none. */
const WITH_STATUS: ReadonlySet<string> = new Set([
  "v1/Namespace",
  "v1/Node",
  "v1/Pod",
  "v1/Service",
  "apps/v1/DaemonSet",
  "apps/v1/Deployment",
  "apps/v1/ReplicaSet",
  "apps/v1/StatefulSet",
  "batch/v1/CronJob",
  "batch/v1/Job",
  "policy/v1/PodDisruptionBudget",
  "apiextensions.k8s.io/v1/CustomResourceDefinition",
  "isochrone.dev/v1alpha1/FlowNetwork",
  "isochrone.dev/v1alpha1/StreamJob",
]);
const REVIEW_GROUPS: ReadonlySet<string> = new Set(["authentication.k8s.io", "authorization.k8s.io"]);

export function hasStatusSubresource({ apiVersion, kind }: KindRef): boolean {
  return WITH_STATUS.has(`${apiVersion}/${kind}`);
}

export function isBuiltIn(kind: KindRef): boolean {
  const group = groupOf(kind);
  return !group.includes(".") || (group.endsWith(".k8s.io") && !group.endsWith(".x-k8s.io"));
}

export function isReview(kind: KindRef): boolean {
  return REVIEW_GROUPS.has(groupOf(kind)) && kind.kind.endsWith("Review");
}

function groupOf({ apiVersion }: KindRef): string {
  return apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
}
