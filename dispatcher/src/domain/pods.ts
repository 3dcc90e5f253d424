// Decides which endpoints of a slice belong to the Service. A tenant may write any field of a slice,
// including labels; only kubelets write pod status.
import type { SliceEndpoint } from "../ports/ports.ts";

export interface PodView {
  readonly uid: string;
  readonly node: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly addresses: readonly string[];
  /** Succeeded or failed. The status keeps the address, which another pod may have by now. */
  readonly isEnded: boolean;
}

/**
 * Why an endpoint gets no requests. `no_selector`: the Service selects no pods. `no_pod`: no such pod in its
 * namespace. `not_selected`: the selector doesn't match. `other_address`: the pod has another address.
 * `ended`: the pod has ended. `too_many`: beyond `MAX_ENDPOINTS`.
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

/** Bound per Service: slices may repeat pods, and each choice examines all endpoints. */
export const MAX_ENDPOINTS = 5_000;

export type Selector = Readonly<Record<string, string>>;

/**
 * Null if the endpoint is a pod of the Service.
 * @param selector null without one
 * @param pod named by the endpoint, in the Service's namespace; null if it doesn't exist
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
