import type { KubernetesObject } from "@isochrone/kubernetes";
import { looseFields, looseList, looseText } from "@isochrone/primitives";
import { PodProcessError } from "../errors.ts";

export interface PodAddresses {
  host(): string | null;
  take(): string;
  give(address: string): void;
}

export function listeningAddresses(address: string): PodAddresses {
  return { host: () => address, take: () => address, give: () => undefined };
}

/** 198.18.0.0/15 is reserved for network tests (RFC 2544). */
const SECOND_OCTETS = [18, 19];
const LAST_HOST = 254;

/**
 * Addresses for a real API server, whose endpoint controllers refuse loopback. They aren't routed; LabCluster
 * tells where a pod's pages are served.
 */
export class TestRange implements PodAddresses {
  readonly #site: number;
  readonly #node: () => KubernetesObject | null;
  readonly #taken = new Set<string>();

  /** @param site at most 255: each has its own range */
  constructor(site: number, node: () => KubernetesObject | null) {
    this.#site = site;
    this.#node = node;
  }

  host(): string | null {
    const { addresses } = looseFields<Record<"addresses", unknown>>(this.#node()?.status);
    const internal = looseList<Record<"type" | "address", unknown>>(addresses).find(
      ({ type }) => type === "InternalIP",
    );
    return internal === undefined ? null : looseText(internal.address);
  }

  take(): string {
    for (const second of SECOND_OCTETS)
      for (let host = 1; host <= LAST_HOST; host++) {
        const address = `198.${second}.${this.#site}.${host}`;
        if (this.#taken.has(address)) continue;
        this.#taken.add(address);
        return address;
      }
    throw new PodProcessError(`a node can have ${SECOND_OCTETS.length * LAST_HOST} pods, all are there`);
  }

  give(address: string): void {
    this.#taken.delete(address);
  }
}
