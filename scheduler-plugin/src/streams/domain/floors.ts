// What floors of other flows leave of the links.
import type { FlowLink, FlowNetwork, PathTable } from "@isochrone/streams";
import type { AddressedFlow } from "./flow-plans.ts";

/** What is left of a full link: no capacity is 0. Bits per second. */
const NEXT_TO_NOTHING = 1;

/** On the shortest path of the network; without any, from node to node. */
export function routed(
  floors: readonly Omit<AddressedFlow, "route">[],
  { network, paths }: { readonly network: FlowNetwork; readonly paths: PathTable },
): AddressedFlow[] {
  return floors.map((floor) => {
    const { source, target } = floor;
    const [from, to] = [network.indexOf(source.node), network.indexOf(target.node)];
    const [path] = from === null || to === null ? [] : paths.between(from, to);
    const route = path?.nodes.map((node) => network.nodes[node]!) ?? [source.node, target.node];
    // Nobody says that the kernel's path is this one: its relays forward as they would anyway.
    return { ...floor, route, isKernels: true };
  });
}

/** The links with the capacity that these flows leave. */
export function beside(links: readonly FlowLink[], flows: readonly AddressedFlow[]): readonly FlowLink[] {
  const used = new Map<string, number>();
  for (const { route, bitsPerSecond } of flows)
    for (const [at, node] of route.slice(0, -1).entries()) {
      const hop = `${node} ${route[at + 1]!}`;
      used.set(hop, (used.get(hop) ?? 0) + bitsPerSecond);
    }
  if (used.size === 0) return links;
  const on = (source: string, target: string): number => used.get(`${source} ${target}`) ?? 0;
  return links.flatMap((link): FlowLink[] => {
    const { source, target, capacityBitsPerSecond, duplex = "full" } = link;
    const left = (bitsPerSecond: number): number =>
      Math.max(NEXT_TO_NOTHING, capacityBitsPerSecond - bitsPerSecond);
    const [there, back] = [on(source, target), on(target, source)];
    if (there === 0 && back === 0) return [link];
    if (duplex !== "full")
      return [{ ...link, capacityBitsPerSecond: left(duplex === "half" ? there + back : there) }];
    return [
      { source, target, capacityBitsPerSecond: left(there), duplex: "simplex" },
      { source: target, target: source, capacityBitsPerSecond: left(back), duplex: "simplex" },
    ];
  });
}
