// Set-up of ENTS' evaluation (section VI, Table I): random networks of mean degree 3 with edge devices and
// virtual machines.
import type { Draw } from "@isochrone/primitives";
import { FlowNetwork, type Duplex, type FlowLink } from "../flow-network.ts";
import type { NodeResources } from "../stream-system.ts";

/** A kind of node: speed of one task under its request relative to a Raspberry Pi, and resources. */
interface NodeKind {
  readonly speed: number;
  readonly memoryBytes: number;
  readonly cpuMillicores: number;
}

const GIB = 2 ** 30;
const KINDS = {
  pi: { speed: 1, memoryBytes: GIB, cpuMillicores: 1_000 },
  nano: { speed: 2, memoryBytes: 4 * GIB, cpuMillicores: 6_000 },
  nx: { speed: 4, memoryBytes: 8 * GIB, cpuMillicores: 6_000 },
  vm: { speed: 6, memoryBytes: 6 * GIB, cpuMillicores: 6_000 },
} satisfies Record<string, NodeKind>;
const DEVICES: readonly NodeKind[] = [
  KINDS.pi,
  KINDS.pi,
  KINDS.pi,
  KINDS.pi,
  KINDS.nano,
  KINDS.nano,
  KINDS.nx,
  KINDS.nx,
];

interface RandomNetworkOptions {
  readonly nodes: number;
  readonly bitsPerSecond: number;
  /** Variance of capacities relative to the squared mean. @default 0.3 */
  readonly variance?: number;
  readonly degree?: number;
  /** @default "half", as the paper's undirected graph */
  readonly duplex?: Duplex;
  readonly draw: Draw;
}

export interface RandomNetwork {
  readonly network: FlowNetwork;
  readonly total: NodeResources;
  /** Speeds by node index. */
  readonly speeds: readonly number[];
}

const LEAST_CAPACITY = 0.1;

export function randomNetwork(options: RandomNetworkOptions): RandomNetwork {
  const { nodes: count, draw } = options;
  const kinds = Array.from({ length: count }, (_, at) => DEVICES[at] ?? KINDS.vm);
  const names = kinds.map((_, at) => `edge-${at}`);
  return {
    network: new FlowNetwork(names, randomLinks(names, options)),
    total: {
      memoryBytes: Float64Array.from(kinds, ({ memoryBytes }) => memoryBytes),
      cpuMillicores: Float64Array.from(kinds, ({ cpuMillicores }) => cpuMillicores),
    },
    speeds: kinds.map(({ speed }) => speed),
  };

  function randomLinks(all: readonly string[], { degree = 3 }: RandomNetworkOptions): FlowLink[] {
    const order = shuffled([...all.keys()], draw);
    const links = new Map<string, FlowLink>();
    const add = (a: number, b: number): void => {
      const key = `${Math.min(a, b)} ${Math.max(a, b)}`;
      if (a !== b && !links.has(key)) links.set(key, randomLink(all[a]!, all[b]!, options));
    };
    for (let at = 1; at < count; at++) add(order[at]!, order[Math.floor(draw() * at)]!);
    const wanted = Math.min(Math.round((count * degree) / 2), (count * (count - 1)) / 2);
    while (links.size < wanted) add(Math.floor(draw() * count), Math.floor(draw() * count));
    return [...links.values()];
  }
}

function randomLink(source: string, target: string, options: RandomNetworkOptions): FlowLink {
  const { bitsPerSecond, variance = 0.3, duplex = "half", draw } = options;
  const factor = Math.max(LEAST_CAPACITY, 1 + Math.sqrt(variance) * normal(draw));
  return { source, target, capacityBitsPerSecond: bitsPerSecond * factor, duplex };
}

/** Standard normal (Box 1958). */
function normal(draw: Draw): number {
  return Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
}

function shuffled(items: number[], draw: Draw): number[] {
  for (let last = items.length - 1; last > 0; last--) {
    const other = Math.floor(draw() * (last + 1));
    [items[last], items[other]] = [items[other]!, items[last]!];
  }
  return items;
}
