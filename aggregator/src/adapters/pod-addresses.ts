import type { KubernetesObject, PodSpec, PodStatus } from "@isochrone/kubernetes";
import { isList, looseFields } from "@isochrone/primitives";
import { isIP } from "node:net";
import type { PodState } from "../domain/cluster-state.ts";

/** Returns the pod's own addresses; none for a pod on its node's network. */
export function addressesOf(pod: KubernetesObject): Pick<PodState, "addresses"> {
  const { podIP, podIPs } = looseFields<PodStatus>(pod.status);
  if (looseFields<PodSpec>(pod.spec).hostNetwork === true) return {};
  const others = isList(podIPs) ? podIPs.map((entry) => looseFields<{ ip: string }>(entry).ip) : [];
  const addresses = [podIP, ...others].filter((ip): ip is string => typeof ip === "string" && isIP(ip) !== 0);
  return addresses.length === 0 ? {} : { addresses: [...new Set(addresses)] };
}
