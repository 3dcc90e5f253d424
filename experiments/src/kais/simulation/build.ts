import { seeded } from "@isochrone/primitives";
import type { ServiceProfile } from "@isochrone/dispatch";
import type { SystemSettings } from "../requests/settings.ts";
import { SimNode } from "./sim-node.ts";

const HARDWARE_SEED = 4242;
const RESERVED_GB = 0.5;
const FILL = 0.6;
const MISSES_PER_SERVICE = 40;
const MOST_MISSES = 400;

/** 1 or 2 cores, 2 or 4 GB minus the system's memory. */
export function buildNodes(
  { sites, nodesPerSite }: SystemSettings,
  services: readonly ServiceProfile[],
): SimNode[] {
  const draw = seeded(HARDWARE_SEED);
  const nodes: SimNode[] = [];
  for (let site = 0; site < sites; site++)
    for (let at = 0; at < nodesPerSite[site % nodesPerSite.length]!; at++) {
      const cores = 1 + Math.floor(draw() * 2);
      const memoryGb = (draw() < 0.5 ? 2 : 4) - RESERVED_GB;
      nodes.push(new SimNode(nodes.length, site, cores, memoryGb, services.length));
    }
  fill(nodes, services);
  return nodes;
}

function fill(nodes: readonly SimNode[], services: readonly ServiceProfile[]): void {
  let service = 0;
  let misses = 0;
  for (let round = 0; misses < MOST_MISSES; round++) {
    const node = nodes[round % nodes.length]!;
    const at = service % services.length;
    const { memoryGb } = services[at]!;
    if (node.memoryGb - node.freeMemoryGb + memoryGb > FILL * node.memoryGb + 1e-9) {
      if (++misses % MISSES_PER_SERVICE === 0) service++;
      continue;
    }
    node.ready[at]!++;
    node.freeMemoryGb -= memoryGb;
    node.cached[at] = 1;
    misses = 0;
    service++;
  }
}
