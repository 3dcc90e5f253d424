// What a node of a shaped network does with packets, in the terms of a kernel: queues by class, marks, rules
// and routes. Whoever emulates the node's kernel keeps it.

/** A class below the root queue of a device. */
export interface QueueClass {
  readonly minor: number;
  /** Null: the root itself. */
  readonly parent: number | null;
  readonly rateBitsPerSecond: number;
  readonly ceilBitsPerSecond: number;
  /** Lower ones borrow first. */
  readonly priority: number;
}

type ByKey<T> = ReadonlyMap<string, T>;

export interface NodeRules {
  /** Classes by device and minor number; a device that isn't there has one queue for all. */
  readonly devices: ByKey<ReadonlyMap<number, QueueClass>>;
  /** Class of a flow's packets, by what they must carry, see `matchKeys`. */
  readonly marks: ByKey<{ readonly minor: number }>;
  /** Class of what else goes to a neighbour, by its address. */
  readonly hops: ByKey<{ readonly minor: number }>;
  /** Routing table of a flow's packets. */
  readonly rules: ByKey<{ readonly match: PacketMatch; readonly table: number }>;
  /** Each the default route of its table. */
  readonly routes: ByKey<{ readonly table: number; readonly gateway: string }>;
}

/** Which packets; a null port is any. */
interface PacketMatch {
  readonly protocol: string;
  readonly source: string;
  readonly sourcePort: number | null;
  readonly target: string;
  readonly targetPort: number | null;
}

/** The ends of a TCP connection as its packets carry them. */
export interface PacketEnds {
  readonly source: string;
  readonly sourcePort: number;
  readonly target: string;
  readonly targetPort: number;
}

/** What rules may ask of the packets, those that say most first. */
export function matchKeys({ source, sourcePort, target, targetPort }: PacketEnds): readonly string[] {
  const key = (from: number | string, to: number | string): string =>
    ["tcp", source, from, target, to].join(" ");
  return [key(sourcePort, targetPort), key("-", targetPort), key(sourcePort, "-"), key("-", "-")];
}

export function matchKey({ protocol, source, sourcePort, target, targetPort }: PacketMatch): string {
  return [protocol, source, sourcePort ?? "-", target, targetPort ?? "-"].join(" ");
}

/** Nothing but one queue for each device. */
export const NO_RULES: NodeRules = {
  devices: new Map(),
  marks: new Map(),
  hops: new Map(),
  rules: new Map(),
  routes: new Map(),
};
