import type { ReadablePod } from "./pod.ts";

const NAME = "[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?";

/** namespace/service-account, each may be *. */
export const ACCOUNT: RegExp = new RegExp(`(?:${NAME}|\\*)/(?:${NAME}|\\*)`);
export const OBJECT: RegExp = new RegExp(`${NAME}/${NAME}`);
/** namespace=served namespace, * for all. */
export const SERVED: RegExp = new RegExp(`${NAME}=(?:${NAME}|\\*)`);

export function hasAccount(
  { namespace, serviceAccount }: Pick<ReadablePod, "namespace" | "serviceAccount">,
  accounts: readonly string[],
): boolean {
  return accounts.some((entry) => {
    const [inNamespace, account] = entry.split("/");
    return matches(inNamespace, namespace) && matches(account, serviceAccount);
  });
}

/** True if a listed DaemonSet controls the pod. Only its namespace's authors can forge this. */
export function isOfDaemonSet(
  { namespace, owner }: Pick<ReadablePod, "namespace" | "owner">,
  daemonSets: readonly string[],
): boolean {
  if (owner?.controller !== true || owner.kind !== "DaemonSet" || !owner.apiVersion.startsWith("apps/"))
    return false;
  return daemonSets.includes(`${namespace}/${owner.name}`);
}

/** A waypoint serves its own namespace and those of the entries. */
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
