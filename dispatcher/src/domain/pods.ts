// Decides which endpoints of a slice belong to the Service. A tenant may write any field of a slice, its
// labels too. The status of a pod is written by its kubelet alone.
import type { SliceEndpoint } from "../ports/ports.ts";

/** The fields read of a pod. */
export interface PodView {
  readonly uid: string;
  /** Null: not bound yet. */
  readonly node: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly addresses: readonly string[];
  /** Succeeded or failed. The status keeps the address, which another pod may have by now. */
  readonly isEnded: boolean;
}

/**
 * Why nothing is sent to an endpoint. `no_selector`: the Service selects no pods. `no_pod`: its namespace has
 * no such pod. `not_selected`: the selector doesn't match the pod. `other_address`: the pod has another
 * address. `ended`: the pod has ended. `too_many`: the Service has `MAX_ENDPOINTS` others.
 */
export const ENDPOINT_REFUSALS = [
  "no_selector",
  "no_pod",
  "not_selected",
  "other_address",
  "ended",
  "too_many",
] as const;
export type EndpointRefusal = (typeof ENDPOINT_REFUSALS)[number];

/** Endpoints of one Service: slices may name a pod any number of times, and each choice looks at all. */
export const MAX_ENDPOINTS = 5_000;

/** Labels that a Service selects. */
export type Selector = Readonly<Record<string, string>>;

/**
 * Returns null if the endpoint is a pod of the Service.
 *
 * @param selector null: the Service has none
 * @param pod the pod of the Service's namespace that the endpoint names; null: there is none
 */
export function endpointRefusal(
  endpoint: Pick<SliceEndpoint, "address" | "uid">,
  selector: Selector | null,
  pod: PodView | null,
): EndpointRefusal | null {
  if (selector === null) return "no_selector";
  if (pod === null || (endpoint.uid !== null && endpoint.uid !== pod.uid)) return "no_pod";
  if (!selects(selector, pod)) return "not_selected";
  if (pod.isEnded) return "ended";
  return pod.addresses.includes(endpoint.address) ? null : "other_address";
}

export function selects(selector: Selector, { labels }: PodView): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}
