import type { PacketFilter, PacketList, WireRecord } from "../record.ts";
import type { PathCounts, WireCounts } from "./counters.ts";
import type { PacketRingMemory } from "./packet-ring.ts";
import type { PathMatrix, PathSettings } from "./settings.ts";

export interface WirePlan {
  readonly hubPath: string;
  /** Number of nodes; the hub's device of node i is `portName(i)`. */
  readonly nodes: number;
  readonly paths: PathMatrix;
  readonly seed: number;
  readonly mtu: number;
  readonly queueFrames: number;
  readonly recordPackets: number;
}

export interface IndexFilter extends Omit<PacketFilter, "source" | "target"> {
  readonly source?: number | undefined;
  readonly target?: number | undefined;
}

export interface WireCalls {
  start: { readonly arguments: WirePlan; readonly result: null };
  setPath: {
    readonly arguments: { readonly source: number; readonly target: number; readonly path: PathSettings };
    readonly result: null;
  };
  mark: { readonly arguments: null; readonly result: number };
  record: { readonly arguments: IndexFilter; readonly result: WireRecord };
  totals: {
    readonly arguments: null;
    readonly result: { readonly paths: readonly (readonly PathCounts[])[]; readonly wire: WireCounts };
  };
  packets: { readonly arguments: IndexFilter; readonly result: PacketList<number> };
}

type WireCall = keyof WireCalls;

export interface WireRequest<C extends WireCall = WireCall> {
  readonly id: number;
  readonly call: C;
  readonly arguments: WireCalls[C]["arguments"];
}

export interface ThreadPlan {
  readonly plan: WirePlan;
  readonly ring: PacketRingMemory;
  readonly counters: SharedArrayBuffer;
  /** Number of orders sent; the thread polls it between packets. */
  readonly orders: SharedArrayBuffer;
}

export interface PathOrder {
  readonly id: number;
  readonly source: number;
  readonly target: number;
  readonly path: PathSettings;
}

export type ThreadMessage =
  | { readonly kind: "running"; readonly kernelTimeBase: number }
  | { readonly kind: "done"; readonly id: number };
