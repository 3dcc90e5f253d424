// What an embedded cluster stands on: an in-memory store with the built-in sites, or a real API server and
// its simulated nodes.
import type { ClusterStore } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import {
  defaultLinks,
  defaultSites,
  loadTable,
  matrixOfZones,
  namedSites,
  rowsByName,
  type LinkMatrix,
  type NetworkSite,
} from "@isochrone/lab";
import { systemClock } from "@isochrone/runtime";
import { openStore } from "../kubernetes.ts";
import { usageError } from "../errors.ts";
import { fakeNodes, MAX_NODES, type FakeNode } from "./fake-nodes.ts";
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
  const times = matrix === undefined ? undefined : loadTable(matrix);
  if (kubeconfig === undefined) {
    const sites = standInSites(options.nodes, times?.names ?? null).map(sizedSite);
    const store = createMemoryStore({ clock: systemClock });
    return {
      store,
      sites,
      links: defaultLinks(sites, times?.rttMs),
      isReal: false,
      close: async () => undefined,
    };
  }
  const opened = openStore(kubeconfig);
  try {
    const nodes = await fakeNodes(opened.store);
    const sites = times?.names ? rowsByName(nodes, times.names) : nodes;
    const links = defaultLinks(sites, times?.rttMs ?? matrixOfZones(sites));
    return { store: opened.store, sites, links, isReal: true, close: () => opened.close() };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** Throws CommandError. @param names of the matrix's rows; null: it has none */
function standInSites(nodes: number | undefined, names: readonly string[] | null): readonly NetworkSite[] {
  if (names === null) return defaultSites(nodes);
  if (nodes === undefined && names.length > MAX_NODES)
    throw usageError(
      `--nodes must say how many of the matrix's names to use, at most ${MAX_NODES} of ${names.length}`,
    );
  return namedSites(names.slice(0, nodes));
}

/** Four cores and 8 GiB, the usual size of a small cloud machine. */
function sizedSite(site: NetworkSite): FakeNode {
  return { ...site, cpuMillicores: 4_000, memoryBytes: 8 * 2 ** 30 };
}
