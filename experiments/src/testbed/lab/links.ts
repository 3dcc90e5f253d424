import { EmulatedNetwork, IDEAL_LINK } from "@isochrone/lab";
import type { LinkMatrix, PodNetwork } from "@isochrone/lab";
import { NamespaceLab, namespaceLabSupport } from "@isochrone/lab/namespaces";
import type { Logger } from "@isochrone/runtime";
import type { PointCluster } from "../../scenario/model.ts";

export const LINK_KINDS = ["namespaces", "relay"] as const;
export type LinkKind = (typeof LINK_KINDS)[number];

/** Delayed links between the nodes of a lab. */
export interface Links {
  readonly network: PodNetwork;
  /** Where users are who are beside the entry, wherever that is; absent: at its node's address itself. */
  readonly usersPlace?: string;
  /** Sets the round trips of all pairs. */
  set(rttMs: readonly (readonly number[])[]): Promise<void>;
  close(): Promise<void>;
}

interface LinksOptions {
  readonly kind: LinkKind;
  readonly cluster: PointCluster;
  readonly logger: Logger;
  readonly seed: number;
}

/** Network namespaces where this machine allows them, else the relay. */
export async function bestLinks(): Promise<LinkKind> {
  return (await namespaceLabSupport()).supported ? "namespaces" : "relay";
}

export function createLinks(options: LinksOptions): Promise<Links> {
  return options.kind === "namespaces" ? namespaceLinks(options) : relayLinks(options);
}

/** Links through the relay on loopback addresses: no rights needed. */
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

/**
 * Each node in a network namespace of its own, packets of the kernel through the emulated wire. Users beside
 * the entry are in another.
 */
async function namespaceLinks({ cluster, seed }: LinksOptions): Promise<Links> {
  const nodes = cluster.nodes.map(({ name }) => name);
  let usersPlace = "users";
  while (nodes.includes(usersPlace)) usersPlace += "-0";
  // In slow motion ways are longer, and TCP doesn't know: its least timeout stays, so that connections count
  // as idle between two requests, and BBR, some machines' default, takes a round trip of seconds with a
  // request in it for a link of a few kB/s, and paces answers accordingly.
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
