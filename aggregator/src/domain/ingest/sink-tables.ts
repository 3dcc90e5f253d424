import type { ExponentialHistogramData, Increment, InterfaceChoice } from "@isochrone/telemetry";
import type { Transport } from "../bandwidth/bandwidth.ts";
import type { ChannelKey, Flow, Reporter } from "../channel-key.ts";
import type { PacketCount } from "../links/link-counts.ts";
import type { LinkKey } from "../links/links.ts";
import type { PointTime } from "../point-time.ts";
import type { Room } from "../speakers/permit.ts";
import type { WindowShape } from "../windows/window-shape.ts";

// What ingest needs of the tables that it fills. `live` is false once an entity was dropped for being silent:
// open it anew.

export interface LinkTarget {
  readonly live: boolean;
  /** False for numbers that contradict each other: nothing was taken. */
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
 * Who tells what pods and nodes use, best first: cAdvisor's page, kubelet's own `/metrics/resource`, the
 * kubeletstats receiver. They read the same cgroups: of each quantity of a pod or node one of them is used,
 * and never two added up.
 */
export const USAGE_SOURCES = ["cadvisor", "resource", "kubelet"] as const;
export type UsageSource = (typeof USAGE_SOURCES)[number];

/**
 * Counters of CPU time of one pod or node, best first. The sum of a source's containers is better than its
 * figure of the whole pod or node, and a total is better than the sum of single cores.
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

/** Counters of one pod or node, each a sum over all series that feed it. */
export const USAGE_COUNTERS = [
  ...CPU_COUNTERS,
  "cardReceive",
  "cardTransmit",
  "cgroupReceive",
  "cgroupTransmit",
  "kubeletReceive",
  "kubeletTransmit",
  // Time that a node's CPUs were idle, by node_exporter: what is available, and not what is used.
  "nodeExporterIdleCpu",
] as const;
export type UsageCounter = (typeof USAGE_COUNTERS)[number];

/** Who tells of memory. node_exporter tells what a node has available, the others what is used. */
export const MEMORY_SOURCES = [...USAGE_SOURCES, "nodeExporter"] as const;
export type MemorySource = (typeof MEMORY_SOURCES)[number];

/** Whose memory a level is, and who says so. */
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
  /**
   * True if a counter, or a level of the whole pod, told its CPU in the window before `eventMs`, or has just
   * begun to. Levels of its containers aren't needed then.
   */
  tellsCpu(eventMs: number): boolean;
  /** @param container null: the whole pod or node */
  cpuLevel(container: string | null): LevelTarget;
  memoryLevel(owner: MemoryOwner): LevelTarget;
  interfaces(): InterfaceChoice;
}

/** Each `open` gives null when there are too many, and takes of the room when it makes something new. */
export interface SinkTables {
  readonly shape: WindowShape;
  readonly links: { open(key: LinkKey, room?: Room): LinkTarget | null };
  readonly bandwidth: {
    open(source: string, target: string, room?: Room): PairTarget | null;
    /** False, and counted, for a rate that no burst can have had. */
    accepts(bitsPerSecond: number): boolean;
  };
  readonly channels: { open(key: ChannelKey, room?: Room): ChannelTarget | null };
  /** What a zone asks of a Service: the zone stands for the source, the Service for the target. */
  readonly demand: { open(key: ChannelKey, room?: Room): ChannelTarget | null };
  /** By namespace/name, or namespace/name@node where a node's own speaker tells. */
  readonly pods: { open(name: string, room?: Room): UsageTarget | null };
  /** By node name. */
  readonly nodes: { open(name: string, room?: Room): UsageTarget | null };
}
