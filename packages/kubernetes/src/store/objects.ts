import type { KubernetesObject } from "./port.ts";

/** Key of an object: `namespace/name`; the namespace is "" for cluster-scoped objects. */
export function keyOf({ metadata }: KubernetesObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

/** RFC 3339 in whole seconds, as Kubernetes writes times. */
export function timestamp(timeMs: number): string {
  return `${new Date(Math.floor(timeMs / 1000) * 1000).toISOString().slice(0, 19)}Z`;
}
