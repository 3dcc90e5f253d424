// Who is believed, as an operator's settings name it: service accounts, DaemonSets, and namespaces that a
// waypoint stands before.
import type { ReadablePod } from "./pod.ts";

const NAME = "[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?";

/** namespace/service-account, either of them * for any. */
export const ACCOUNT: RegExp = new RegExp(`(?:${NAME}|\\*)/(?:${NAME}|\\*)`);
/** namespace/name. */
export const OBJECT: RegExp = new RegExp(`${NAME}/${NAME}`);
/** namespace=namespace that is served, * for all. */
export const SERVED: RegExp = new RegExp(`${NAME}=(?:${NAME}|\\*)`);

/** Whether the pod runs under one of the service accounts. */
export function hasAccount(
  { namespace, serviceAccount }: Pick<ReadablePod, "namespace" | "serviceAccount">,
  accounts: readonly string[],
): boolean {
  return accounts.some((entry) => {
    const [inNamespace, account] = entry.split("/");
    return matches(inNamespace, namespace) && matches(account, serviceAccount);
  });
}

/**
 * Whether a DaemonSet of the list controls the pod. A label can be anybody's; pods of a namespace are made by
 * who may do so there.
 */
export function isOfDaemonSet(
  { namespace, owner }: Pick<ReadablePod, "namespace" | "owner">,
  daemonSets: readonly string[],
): boolean {
  if (owner?.controller !== true || owner.kind !== "DaemonSet" || !owner.apiVersion.startsWith("apps/"))
    return false;
  return daemonSets.includes(`${namespace}/${owner.name}`);
}

/**
 * Namespaces whose workloads the waypoints of a namespace stand before: its own, and those that the entries
 * add.
 */
export function servedBy(namespace: string, entries: readonly string[]): readonly string[] {
  const added = entries
    .map((entry) => entry.split("="))
    .filter(([from]) => from === namespace)
    .map(([, served = ""]) => served);
  return [...new Set([namespace, ...added])];
}

function matches(pattern: string | undefined, name: string): boolean {
  return pattern === "*" || pattern === name;
}
