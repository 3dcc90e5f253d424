// The one sentence that all programs use for a node that is down.
import type { ClusterNode } from "../schema.ts";

export type NodeDown = NonNullable<ClusterNode["down"]>;

/**
 * `a is not ready since 14:12:37; its pods started elsewhere`.
 * @param timeText how to show an RFC 3339 time; as it is by default
 */
export function downText(
  node: string,
  { cause, since, pods, podsNotRunning }: Omit<NodeDown, "text">,
  timeText: (at: string) => string = (at) => at,
): string {
  const when = since === null ? "" : ` since ${timeText(since)}`;
  if (cause === "silent") return `${node} is silent${when}: none of its peers gets an answer`;
  return `${node} is not ready${when}${podsText(pods, podsNotRunning)}`;
}

function podsText(pods: number | null, podsNotRunning: number | null): string {
  if (pods === null || podsNotRunning === null) return "";
  if (pods === 0) return "; it had no pods to start elsewhere";
  if (podsNotRunning === 0) return `; its ${pods === 1 ? "pod" : "pods"} started elsewhere`;
  return pods === 1
    ? "; its pod is not running yet"
    : `; ${podsNotRunning} of its ${pods} pods are not running yet`;
}
