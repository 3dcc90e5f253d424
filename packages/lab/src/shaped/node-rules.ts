// A node's packet handling in kernel terms (queue classes, marks, rules, routes), held by the emulator of the
// node's kernel.

export interface QueueClass {
  readonly minor: number;
  readonly parent: number | null;
  readonly rateBitsPerSecond: number;
  readonly ceilBitsPerSecond: number;
  /** Lower values borrow first. */
  readonly priority: number;
}

type ByKey<T> = ReadonlyMap<string, T>;

export interface NodeRules {
  /** Classes by device and minor number; an absent device has one queue. */
  readonly devices: ByKey<ReadonlyMap<number, QueueClass>>;
  /** Class of a flow's packets, by match key (see `matchKeys`). */
  readonly marks: ByKey<{ readonly minor: number }>;
  readonly hops: ByKey<{ readonly minor: number }>;
  readonly rules: ByKey<{ readonly match: PacketMatch; readonly table: number }>;
  readonly routes: ByKey<{ readonly table: number; readonly gateway: string }>;
}

/** Packet selector; a null port matches any. */
interface PacketMatch {
  readonly protocol: string;
  readonly source: string;
  readonly sourcePort: number | null;
  readonly target: string;
  readonly targetPort: number | null;
}

/** Addresses and ports of a TCP connection's packets. */
export interface PacketEnds {
  readonly source: string;
  readonly sourcePort: number;
  readonly target: string;
  readonly targetPort: number;
}

/** Possible match keys of the packets, most specific first. */
export function matchKeys({ source, sourcePort, target, targetPort }: PacketEnds): readonly string[] {
  const key = (from: number | string, to: number | string): string =>
    ["tcp", source, from, target, to].join(" ");
  return [key(sourcePort, targetPort), key("-", targetPort), key(sourcePort, "-"), key("-", "-")];
}

export function matchKey({ protocol, source, sourcePort, target, targetPort }: PacketMatch): string {
  return [protocol, source, sourcePort ?? "-", target, targetPort ?? "-"].join(" ");
}

export const NO_RULES: NodeRules = {
  devices: new Map(),
  marks: new Map(),
  hops: new Map(),
  rules: new Map(),
  routes: new Map(),
};
