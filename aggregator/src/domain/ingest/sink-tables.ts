import type { ExponentialHistogramData, Increment, InterfaceChoice } from "@isochrone/telemetry";
import type { Transport } from "../bandwidth/bandwidth.ts";
import type { ChannelKey, Flow, Reporter } from "../channel-key.ts";
import type { PacketCount } from "../links/link-counts.ts";
import type { LinkKey } from "../links/links.ts";
import type { PointTime } from "../point-time.ts";
import type { Room } from "../speakers/permit.ts";
import type { WindowShape } from "../windows/window-shape.ts";

// Tables as ingest uses them. `live` is false once an entity expired: open it again.

export interface LinkTarget {
  readonly live: boolean;
  /** Returns false for inconsistent data, and takes none of it. */
  addRtt(point: PointTime, data: ExponentialHistogramData): boolean;
  addPackets(point: PointTime, count: PacketCount, packets: number): void;
  addVariation(point: PointTime, field: "variationSeconds" | "variationCount", value: number): void;
}

export interface PairTarget {
  readonly live: boolean;
  take(transport: Transport, point: PointTime, bitsPerSecond: number): void;
}

export interface ChannelSideTarget {
  take(flow: Flow, increment: Increment): void;
}

export interface ChannelTarget {
  readonly live: boolean;
  side(reporter: Reporter): ChannelSideTarget;
}

/**
 * Sources of pod and node usage in order of precedence: cAdvisor's page, kubelet's `/metrics/resource`, the
 * kubeletstats receiver. They read the same cgroups, so only one is used per quantity.
 */
export const USAGE_SOURCES = ["cadvisor", "resource", "kubelet"] as const;
export type UsageSource = (typeof USAGE_SOURCES)[number];

/**
 * CPU time counters of a pod or node in order of precedence. The sum of containers precedes the figure of the
 * whole pod or node; a total precedes the sum of cores.
 */
export const CPU_COUNTERS = [
  "cadvisorContainersCpu",
  "cadvisorContainersCoresCpu",
  "cadvisorCpu",
  "cadvisorCoresCpu",
  "resourceContainersCpu",
  "resourceCpu",
  "kubeletContainersCpu",
  "kubeletCpu",
] as const;

export const USAGE_COUNTERS = [
  ...CPU_COUNTERS,
  "cardReceive",
  "cardTransmit",
  "cgroupReceive",
  "cgroupTransmit",
  "kubeletReceive",
  "kubeletTransmit",
  // Idle CPU time by node_exporter; gives what is available, not what is used.
  "nodeExporterIdleCpu",
] as const;
export type UsageCounter = (typeof USAGE_COUNTERS)[number];

/** Sources of memory. node_exporter reports available memory, others used memory. */
export const MEMORY_SOURCES = [...USAGE_SOURCES, "nodeExporter"] as const;
export type MemorySource = (typeof MEMORY_SOURCES)[number];

export interface MemoryOwner {
  readonly source: MemorySource;
  /** Null: the whole pod or node. */
  readonly container: string | null;
}

export interface CounterTarget {
  take(increment: Increment): void;
}

export interface LevelTarget {
  take(eventMs: number, value: number): void;
}

export interface UsageTarget {
  readonly live: boolean;
  counter(counter: UsageCounter): CounterTarget;
  /** True if better figures cover its CPU before `eventMs`; container levels are then unused. */
  tellsCpu(eventMs: number): boolean;
  cpuLevel(container: string | null): LevelTarget;
  memoryLevel(owner: MemoryOwner): LevelTarget;
  interfaces(): InterfaceChoice;
}

/** Each `open` returns null if there is no room, and uses room for a new entity. */
export interface SinkTables {
  readonly shape: WindowShape;
  readonly links: { open(key: LinkKey, room?: Room): LinkTarget | null };
  readonly bandwidth: {
    open(source: string, target: string, room?: Room): PairTarget | null;
    /** Returns false and counts the refusal for an implausible rate. */
    accepts(bitsPerSecond: number): boolean;
  };
  readonly channels: { open(key: ChannelKey, room?: Room): ChannelTarget | null };
  /** Demand of a zone (as source) for a Service (as target). */
  readonly demand: { open(key: ChannelKey, room?: Room): ChannelTarget | null };
  /** Keys: `namespace/name`, or `namespace/name@node` for reports of the node's own sender. */
  readonly pods: { open(name: string, room?: Room): UsageTarget | null };
  readonly nodes: { open(name: string, room?: Room): UsageTarget | null };
}
