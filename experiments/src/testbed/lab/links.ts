import { EmulatedNetwork, IDEAL_LINK } from "@isochrone/lab";
import type { LinkMatrix, PodNetwork } from "@isochrone/lab";
import { NamespaceLab, namespaceLabSupport } from "@isochrone/lab/namespaces";
import type { Logger } from "@isochrone/runtime";
import type { PointCluster } from "../../scenario/model.ts";

export const LINK_KINDS = ["namespaces", "relay"] as const;
export type LinkKind = (typeof LINK_KINDS)[number];

export interface Links {
  readonly network: PodNetwork;
  /** Location of users beside the entry; absent: the node's own address. */
  readonly usersPlace?: string;
  set(rttMs: readonly (readonly number[])[]): Promise<void>;
  close(): Promise<void>;
}

interface LinksOptions {
  readonly kind: LinkKind;
  readonly cluster: PointCluster;
  readonly logger: Logger;
  readonly seed: number;
}

export async function bestLinks(): Promise<LinkKind> {
  return (await namespaceLabSupport()).supported ? "namespaces" : "relay";
}

export function createLinks(options: LinksOptions): Promise<Links> {
  return options.kind === "namespaces" ? namespaceLinks(options) : relayLinks(options);
}

async function relayLinks({ cluster, logger, seed }: LinksOptions): Promise<Links> {
  const nodes = cluster.nodes.map(({ name }) => name);
  const links: LinkMatrix = cluster.rttMs.map((row) => row.map((rttMs) => ({ ...IDEAL_LINK, rttMs })));
  const network = await EmulatedNetwork.start({ nodes, links, logger, seed });
  return {
    network,
    set: (matrix) =>
      eachPair(nodes, matrix, (a, b, rttMs) => network.setLink(a, b, { rttMs }, { oneWay: true })),
    close: () => network.stop(),
  };
}

/** Puts each node, and users beside the entry, into a network namespace. */
async function namespaceLinks({ cluster, seed }: LinksOptions): Promise<Links> {
  const nodes = cluster.nodes.map(({ name }) => name);
  let usersPlace = "users";
  while (nodes.includes(usersPlace)) usersPlace += "-0";
  // TCP doesn't know about the slow motion. Its minimum timeout stays, so connections count as idle between
  // requests. BBR, the default of some machines, sees a round trip of seconds with one request as a link of a
  // few kB/s and paces answers accordingly.
  const tcp = { slowStartAfterIdle: false, congestionControl: "reno" };
  const lab = await NamespaceLab.create({ nodes: [...nodes, usersPlace], seed, ...tcp });
  const set: Links["set"] = (matrix) =>
    eachPair(nodes, matrix, (a, b, rttMs) => lab.setPath(a, b, { delayMs: rttMs / 2 }));
  const links: Links = {
    usersPlace,
    network: {
      nodeAddress: (node) => lab.address(node),
      expose: () => {},
      unexpose: () => {},
      resolve: (_source, target, { port }) => ({ host: lab.address(target), port }),
      commandOn: (node) => ["ip", "netns", "exec", lab.namespace(node)],
      kubeletAddress: () => "127.0.0.1",
    },
    set,
    close: () => lab.close(),
  };
  try {
    await set(cluster.rttMs);
  } catch (error) {
    await lab.close();
    throw error;
  }
  return links;
}

async function eachPair(
  nodes: readonly string[],
  matrix: readonly (readonly number[])[],
  act: (a: string, b: string, rttMs: number) => Promise<void>,
): Promise<void> {
  for (const [i, row] of matrix.entries())
    for (const [j, rttMs] of row.entries()) if (i !== j) await act(nodes[i]!, nodes[j]!, rttMs);
}
