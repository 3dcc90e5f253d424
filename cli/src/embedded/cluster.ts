// Base of an embedded cluster: an in-memory store with built-in sites, or a real API server with simulated
// nodes.
import type { ClusterStore } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import {
  defaultLinks,
  defaultSites,
  loadTable,
  matrixOfZones,
  rowsByName,
  tableSites,
  type LinkMatrix,
  type NetworkSite,
  type TableSites,
} from "@isochrone/lab";
import { systemClock } from "@isochrone/runtime";
import { openStore } from "../kubernetes.ts";
import { usageError } from "../errors.ts";
import { fakeNodes, MAX_NODES, MIN_NODES, type FakeNode } from "./fake-nodes.ts";
import type { EmbeddedOptions } from "./options.ts";

export interface EmbeddedCluster {
  readonly store: ClusterStore;
  readonly sites: readonly FakeNode[];
  readonly links: LinkMatrix;
  readonly isReal: boolean;
  readonly network: TableSites | null;
  close(): Promise<void>;
}

/** Throws CommandError for an unusable cluster, NetworkError for a matrix that does not fit its nodes. */
export async function openEmbeddedCluster(options: EmbeddedOptions): Promise<EmbeddedCluster> {
  const { kubeconfig, matrix } = options;
  const times = matrix === undefined ? undefined : loadTable(matrix);
  if (kubeconfig === undefined) {
    const network =
      times === undefined ? null : tableSites(times, countOf(options.nodes, times.rttMs.length));
    const sites = (network?.sites ?? defaultSites(options.nodes)).map(sizedSite);
    const store = createMemoryStore({ clock: systemClock });
    return {
      store,
      sites,
      links: defaultLinks(sites, times?.rttMs, times?.places),
      isReal: false,
      network,
      close: async () => undefined,
    };
  }
  const opened = openStore(kubeconfig);
  try {
    const nodes = await fakeNodes(opened.store);
    const sites = times?.names
      ? rowsByName(
          nodes,
          times.names.map((name) => name.split("/")[0]!),
        )
      : nodes;
    const links = defaultLinks(sites, times?.rttMs ?? matrixOfZones(sites), times?.places);
    return { store: opened.store, sites, links, isReal: true, network: null, close: () => opened.close() };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

function countOf(nodes: number | undefined, rows: number): number {
  if (rows < MIN_NODES) throw usageError(`--matrix must have at least ${MIN_NODES} nodes, got ${rows}`);
  if (nodes === undefined && rows > MAX_NODES)
    throw usageError(
      `--nodes must say how many of the matrix's names to use, at most ${MAX_NODES} of ${rows}`,
    );
  if (nodes !== undefined && nodes > rows)
    throw usageError(`--nodes must be at most the ${rows} rows of --matrix, got ${nodes}`);
  return nodes ?? rows;
}

/** Four cores and 8 GiB, a common small cloud machine. */
function sizedSite(site: NetworkSite): FakeNode {
  return { ...site, cpuMillicores: 4_000, memoryBytes: 8 * 2 ** 30 };
}
