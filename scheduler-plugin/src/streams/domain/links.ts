// Links for flows: declared ones, or without any the measured bandwidth of node pairs.
import {
  FieldError,
  FlowNetwork,
  PathTable,
  readFlowLink,
  StreamError,
  type FlowLink,
} from "@isochrone/streams";
import { looseFields } from "@isochrone/primitives";
import type { ClusterGraph } from "@isochrone/topology";

export interface ReadNetwork {
  readonly links: readonly FlowLink[];
  readonly refused: readonly string[];
}

/**
 * Drops an invalid link, so that a missing node only costs its own links.
 * @param taken pairs declared by other FlowNetworks; extended with this one's
 */
export function readNetwork(spec: unknown, nodes: ReadonlySet<string>, taken: Set<string>): ReadNetwork {
  const links: FlowLink[] = [];
  const refused: string[] = [];
  const { links: list } = looseFields<Record<"links", unknown>>(spec);
  const listed: readonly unknown[] = Array.isArray(list) ? list : [];
  for (const [at, json] of listed.entries())
    try {
      const link = readFlowLink(json, ["spec", "links", at]);
      links.push(checked(link, nodes, taken));
    } catch (error) {
      if (!(error instanceof FieldError || error instanceof StreamError)) throw error;
      refused.push(error.message);
    }
  return { links, refused };
}

function checked(link: FlowLink, nodes: ReadonlySet<string>, taken: Set<string>): FlowLink {
  const { source, target, duplex } = link;
  const ends = [...new Set([source, target])].filter((name) => nodes.has(name));
  void new FlowNetwork(ends, [link]);
  const pairs = [`${source} ${target}`, ...(duplex === "simplex" ? [] : [`${target} ${source}`])];
  if (pairs.some((pair) => taken.has(pair)))
    throw new StreamError(
      "invalid_network",
      "network",
      `link ${source} -> ${target} must be declared once`,
      "it twice",
    );
  for (const pair of pairs) taken.add(pair);
  return link;
}

/** Significant digits: measured capacities fluctuate. */
const DIGITS = 2;

/** Pairs of unknown bandwidth get no link. */
export function measuredLinks(graph: ClusterGraph | null, nodes: readonly string[]): FlowLink[] {
  if (graph === null) return [];
  const links: FlowLink[] = [];
  for (const source of nodes)
    for (const target of nodes) {
      if (source === target) continue;
      const [from, to] = [graph.idOf(source), graph.idOf(target)];
      const known = from < 0 || to < 0 ? null : graph.bandwidthById(from, to);
      const capacity = Number((known?.capacity ?? 0).toPrecision(DIGITS));
      if (capacity > 0) links.push({ source, target, capacityBitsPerSecond: capacity, duplex: "simplex" });
    }
  return links;
}

export class NetworkKeeper {
  #key = "";
  #network = new FlowNetwork([], []);
  #paths = new PathTable(this.#network);

  get network(): FlowNetwork {
    return this.#network;
  }

  get paths(): PathTable {
    return this.#paths;
  }

  update(nodes: readonly string[], links: readonly FlowLink[]): boolean {
    const key = JSON.stringify([nodes, links]);
    if (key === this.#key) return false;
    this.#network = new FlowNetwork(nodes, links);
    this.#paths = new PathTable(this.#network);
    this.#key = key;
    return true;
  }
}
