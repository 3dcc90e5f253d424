// What an embedded cluster stands on: an in-memory store with the built-in sites, or a real API server and
// its simulated nodes.
import type { ClusterStore } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import {
  defaultLinks,
  defaultSites,
  loadMatrix,
  matrixOfZones,
  type LinkMatrix,
  type NetworkSite,
} from "@isochrone/lab";
import { systemClock } from "@isochrone/runtime";
import { openStore } from "../kubernetes.ts";
import { fakeNodes, type FakeNode } from "./fake-nodes.ts";
import type { EmbeddedOptions } from "./options.ts";

export interface EmbeddedCluster {
  readonly store: ClusterStore;
  readonly sites: readonly FakeNode[];
  readonly links: LinkMatrix;
  /** Whether the store is an API server. */
  readonly isReal: boolean;
  close(): Promise<void>;
}

/**
 * Throws CommandError for a cluster that can't be used, NetworkError for a matrix that doesn't fit its nodes.
 */
export async function openEmbeddedCluster(options: EmbeddedOptions): Promise<EmbeddedCluster> {
  const { kubeconfig, matrix } = options;
  const times = matrix === undefined ? undefined : loadMatrix(matrix);
  if (kubeconfig === undefined) {
    const sites = defaultSites(options.nodes).map(sizedSite);
    const store = createMemoryStore({ clock: systemClock });
    return { store, sites, links: defaultLinks(sites, times), isReal: false, close: async () => undefined };
  }
  const opened = openStore(kubeconfig);
  try {
    const sites = await fakeNodes(opened.store);
    const links = defaultLinks(sites, times ?? matrixOfZones(sites));
    return { store: opened.store, sites, links, isReal: true, close: () => opened.close() };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** Four cores and 8 GiB, the usual size of a small cloud machine. */
function sizedSite(site: NetworkSite): FakeNode {
  return { ...site, cpuMillicores: 4_000, memoryBytes: 8 * 2 ** 30 };
}
