import { podView, type KubernetesObject } from "@isochrone/kubernetes";
import type { ProbeAddress, ProbeAddresses } from "../ports.ts";

/** The label that the chart puts on probe pods. */
const PROBE_LABEL = "app.kubernetes.io/name";
const PROBE_NAME = "isochrone-probe";

/** Where the probes' responders listen in each pod. */
export interface ProbePorts {
  readonly udpPort: number;
  readonly tcpPort: number;
}

/** Addresses of the probe pods as their status has them. */
export class PodProbeAddresses implements ProbeAddresses {
  readonly #pods: () => readonly KubernetesObject[];
  readonly #ports: ProbePorts;
  #read: { readonly pods: readonly KubernetesObject[]; readonly byNode: ReadonlyMap<string, string> } | null =
    null;

  /** @param pods all pods; the same array while nothing changed */
  constructor(pods: () => readonly KubernetesObject[], ports: ProbePorts) {
    this.#pods = pods;
    this.#ports = ports;
  }

  peer(_source: string, target: string): ProbeAddress | null {
    const address = this.self(target);
    return address === null ? null : { address, identity: address, ...this.#ports };
  }

  self(node: string): string | null {
    const pods = this.#pods();
    if (this.#read?.pods !== pods) this.#read = { pods, byNode: addressesOf(pods) };
    return this.#read.byNode.get(node) ?? null;
  }
}

/** While a probe is replaced, its node has two pods: the one that lives counts. */
function addressesOf(pods: readonly KubernetesObject[]): Map<string, string> {
  const byNode = new Map<string, string>();
  for (const pod of pods) {
    if (pod.metadata.labels?.[PROBE_LABEL] !== PROBE_NAME) continue;
    const { node, ip, finished, terminating } = podView(pod);
    if (node !== null && ip !== null && !finished && !terminating) byNode.set(node, ip);
  }
  return byNode;
}
