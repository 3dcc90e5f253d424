import { keyOf, podView, type InformerChange } from "@isochrone/kubernetes";
import type { ProbeAddress, ProbeAddresses } from "../ports/ports.ts";

export const PROBE_LABEL = "app.kubernetes.io/name";
export const PROBE_NAME = "isochrone-probe";

interface ProbePorts {
  readonly udpPort: number;
  readonly tcpPort: number;
  /** Null: probes accept no bursts. */
  readonly bandwidthPort: number | null;
}

interface ProbePod {
  readonly node: string;
  readonly address: string;
}

/** Addresses of the probe pods from their status. A pod's change costs O(1). */
export class PodProbeAddresses implements ProbeAddresses {
  readonly #ports: ProbePorts;
  readonly #namespace: string;
  readonly #pods = new Map<string, ProbePod>();
  /** Keys of each node's probe pods. A rollout may leave two; the newer one counts. */
  readonly #byNode = new Map<string, Set<string>>();

  /** @param namespace of the probes: others can set the label too, and would attract probes */
  constructor(ports: ProbePorts, namespace: string) {
    this.#ports = ports;
    this.#namespace = namespace;
  }

  /** Must receive every change of every pod in order. */
  take({ type, object }: InformerChange): void {
    const { namespace, labels } = object.metadata;
    if (namespace !== this.#namespace || labels?.[PROBE_LABEL] !== PROBE_NAME) return;
    const key = keyOf(object);
    const { node, ip, finished, terminating } = podView(object);
    const isLive = type !== "deleted" && !finished && !terminating;
    const after = isLive && node !== null && ip !== null ? { node, address: ip } : null;
    const before = this.#pods.get(key);
    if (before !== undefined && (before.node !== after?.node || before.address !== after.address))
      this.#remove(key, before);
    if (after !== null) this.#add(key, after);
  }

  peer(_source: string, target: string): ProbeAddress | null {
    const address = this.self(target);
    return address === null ? null : { address, identity: address, ...this.#ports };
  }

  self(node: string): string | null {
    const newest = [...(this.#byNode.get(node) ?? [])].at(-1);
    return newest === undefined ? null : this.#pods.get(newest)!.address;
  }

  #add(key: string, pod: ProbePod): void {
    this.#pods.set(key, pod);
    const keys = this.#byNode.get(pod.node) ?? new Set();
    this.#byNode.set(pod.node, keys.add(key));
  }

  #remove(key: string, { node }: ProbePod): void {
    this.#pods.delete(key);
    const keys = this.#byNode.get(node)!;
    keys.delete(key);
    if (keys.size === 0) this.#byNode.delete(node);
  }
}
