import { InterfaceChoice, spreadOverPanes, type Increment } from "@isochrone/telemetry";
import { Coverage } from "../windows/coverage.ts";
import {
  CPU_COUNTERS,
  USAGE_COUNTERS,
  MEMORY_SOURCES,
  USAGE_SOURCES,
  type MemoryOwner,
  type MemorySource,
  type UsageCounter,
} from "../ingest/sink-tables.ts";
import { PaneRows } from "../windows/pane-rows.ts";
import { BOUNDLESS, type Room } from "../speakers/permit.ts";
import { SumPanes } from "../windows/sum-panes.ts";
import { panesOf, windowStartMs, type WindowName, type WindowShape } from "../windows/window-shape.ts";

/** Sum of the counters of one entity: core-seconds or bytes. */
class CounterRate {
  readonly #shape: WindowShape;
  readonly #sums: SumPanes;
  readonly coverage = new Coverage();

  constructor(shape: WindowShape, rows: PaneRows) {
    this.#shape = shape;
    this.#sums = new SumPanes(rows);
  }

  take(increment: Increment): void {
    this.coverage.extend(increment.fromMs, increment.toMs, this.#shape.windowMs);
    spreadOverPanes(increment, this.#shape.paneMs, this.#sums);
  }

  /** Rate per second (cores, bytes/s); null: the window has no coverage. */
  rate(nowMs: number, window: WindowName): number | null {
    const panes = panesOf(this.#shape, window);
    const seconds = this.coverage.seconds(this.#shape, nowMs, panes);
    return seconds > 0 ? this.#sums.total(nowMs, panes) / seconds : null;
  }

  release(): void {
    this.#sums.release();
  }
}

class LevelMean {
  readonly #shape: WindowShape;
  readonly #sums: SumPanes;
  readonly #counts: SumPanes;
  newestMs = Number.NEGATIVE_INFINITY;

  constructor(shape: WindowShape, rows: PaneRows) {
    this.#shape = shape;
    this.#sums = new SumPanes(rows);
    this.#counts = new SumPanes(rows);
  }

  take(eventMs: number, value: number): void {
    const paneStartMs = Math.floor(eventMs / this.#shape.paneMs) * this.#shape.paneMs;
    this.#sums.add(paneStartMs, value);
    this.#counts.add(paneStartMs, 1);
    if (eventMs > this.newestMs) this.newestMs = eventMs;
  }

  mean(nowMs: number, window: WindowName): number | null {
    const { sum, count } = this.totals(nowMs, window);
    return count > 0 ? sum / count : null;
  }

  totals(nowMs: number, window: WindowName): { readonly sum: number; readonly count: number } {
    const panes = panesOf(this.#shape, window);
    return { sum: this.#sums.total(nowMs, panes), count: this.#counts.total(nowMs, panes) };
  }

  release(): void {
    this.#sums.release();
    this.#counts.release();
  }
}

class LastLevel {
  #value = 0;
  newestMs = Number.NEGATIVE_INFINITY;

  take(eventMs: number, value: number): void {
    if (eventMs < this.newestMs) return;
    this.#value = value;
    this.newestMs = eventMs;
  }

  since(startMs: number): number | null {
    return this.newestMs >= startMs ? this.#value : null;
  }
}

/** From the node's view. */
export type Direction = "receive" | "transmit";

const NETWORK_COUNTERS: Readonly<Record<Direction, readonly UsageCounter[]>> = {
  receive: ["cardReceive", "cgroupReceive", "kubeletReceive"],
  transmit: ["cardTransmit", "cgroupTransmit", "kubeletTransmit"],
};

const IDLE_COUNTERS: readonly UsageCounter[] = ["nodeExporterIdleCpu"];

/** Level of one container. A restarted container replaces its predecessor. */
class ContainerLevel extends LastLevel {
  readonly container: string;

  constructor(container: string) {
    super();
    this.container = container;
  }
}

/** Up to this number containers are searched linearly. Pods have few, and a map takes 200 bytes each. */
const FEW_CONTAINERS = 8;
const NO_CONTAINERS: ContainerLevel[] = [];

class MemoryLevels {
  #containers: ContainerLevel[] = NO_CONTAINERS;
  #byName: Map<string, ContainerLevel> | null = null;
  #whole: LastLevel | null = null;

  level(container: string | null): LastLevel {
    if (container === null) return (this.#whole ??= new LastLevel());
    const known =
      this.#byName === null
        ? this.#containers.find((level) => level.container === container)
        : this.#byName.get(container);
    return known ?? this.#open(container);
  }

  #open(container: string): ContainerLevel {
    const level = new ContainerLevel(container);
    // An array literal of one element; `push` would reserve room for 17.
    if (this.#containers.length === 0) this.#containers = [level];
    else this.#containers.push(level);
    if (this.#byName !== null) this.#byName.set(container, level);
    else if (this.#containers.length > FEW_CONTAINERS)
      this.#byName = new Map(this.#containers.map((each) => [each.container, each]));
    return level;
  }

  /** Bytes; the containers' sum takes precedence over the total. */
  since(startMs: number): number | null {
    let sum: number | null = null;
    for (const level of this.#containers) {
      const bytes = level.since(startMs);
      if (bytes !== null) sum = (sum ?? 0) + bytes;
    }
    return sum ?? this.#whole?.since(startMs) ?? null;
  }

  get newestMs(): number {
    let newestMs = this.#whole?.newestMs ?? Number.NEGATIVE_INFINITY;
    for (const level of this.#containers) newestMs = Math.max(newestMs, level.newestMs);
    return newestMs;
  }
}

/** CPU gauges of a pod's containers, sampled together. A container with half of the samples counts half. */
class ContainerCpuLevels {
  readonly #byName = new Map<string, LevelMean>();

  level(container: string, create: () => LevelMean): LevelMean {
    let level = this.#byName.get(container);
    if (level === undefined) this.#byName.set(container, (level = create()));
    return level;
  }

  /** Sum over containers in cores; null: no samples. */
  sum(nowMs: number, window: WindowName): number | null {
    let total = 0;
    let samples = 0;
    for (const level of this.#byName.values()) {
      const { sum, count } = level.totals(nowMs, window);
      total += sum;
      samples = Math.max(samples, count);
    }
    return samples > 0 ? total / samples : null;
  }

  get newestMs(): number {
    let newestMs = Number.NEGATIVE_INFINITY;
    for (const level of this.#byName.values()) newestMs = Math.max(newestMs, level.newestMs);
    return newestMs;
  }

  release(): void {
    for (const level of this.#byName.values()) level.release();
  }
}

/**
 * Usage of one pod or node. Each quantity comes from the best source with data in the window, in the order of
 * CPU_COUNTERS and USAGE_SOURCES. A silent source is replaced after a window. CPU gauges are last: the total,
 * then containers.
 */
export class UsageState {
  readonly #shape: WindowShape;
  readonly #rows: PaneRows;
  readonly #counters: Partial<Record<UsageCounter, CounterRate>> = {};
  readonly #memory: Partial<Record<MemorySource, MemoryLevels>> = {};
  #cpuLevel: LevelMean | null = null;
  #interfaces: InterfaceChoice | null = null;
  #containerCpu: ContainerCpuLevels | null = null;
  live = true;

  constructor(shape: WindowShape, rows: PaneRows = new PaneRows(shape)) {
    this.#shape = shape;
    this.#rows = rows;
  }

  counter(counter: UsageCounter): CounterRate {
    return (this.#counters[counter] ??= new CounterRate(this.#shape, this.#rows));
  }

  counterIfFed(counter: UsageCounter): CounterRate | null {
    return this.#counters[counter] ?? null;
  }

  tellsCpu(eventMs: number): boolean {
    const sinceMs = eventMs - this.#shape.windowMs;
    if (this.#cpuLevel !== null && this.#cpuLevel.newestMs >= sinceMs) return true;
    for (const name of CPU_COUNTERS) {
      const newestMs = this.#counters[name]?.coverage.newestMs;
      if (newestMs !== undefined && !(newestMs < sinceMs && newestMs > Number.NEGATIVE_INFINITY)) return true;
    }
    return false;
  }

  /** @param container null: the whole pod or node */
  cpuLevel(container: string | null): LevelMean {
    const create = (): LevelMean => new LevelMean(this.#shape, this.#rows);
    if (container === null) return (this.#cpuLevel ??= create());
    return (this.#containerCpu ??= new ContainerCpuLevels()).level(container, create);
  }

  interfaces(): InterfaceChoice {
    return (this.#interfaces ??= new InterfaceChoice());
  }

  memoryLevel({ source, container }: MemoryOwner): LastLevel {
    return (this.#memory[source] ??= new MemoryLevels()).level(container);
  }

  /** Cores. */
  cpu(nowMs: number, window: WindowName): number | null {
    return (
      this.#rate(CPU_COUNTERS, nowMs, window) ??
      this.#cpuLevel?.mean(nowMs, window) ??
      this.#containerCpu?.sum(nowMs, window) ??
      null
    );
  }

  /** Working set, bytes. */
  memory(nowMs: number, window: WindowName): number | null {
    const startMs = windowStartMs(this.#shape, nowMs, panesOf(this.#shape, window));
    for (const source of USAGE_SOURCES) {
      const bytes = this.#memory[source]?.since(startMs) ?? null;
      if (bytes !== null) return bytes;
    }
    return null;
  }

  /** Idle cores of a node by node_exporter. */
  idleCpu(nowMs: number, window: WindowName): number | null {
    return this.#rate(IDLE_COUNTERS, nowMs, window);
  }

  /** Available memory by node_exporter, bytes: what the kernel can provide without swapping. */
  availableMemory(nowMs: number, window: WindowName): number | null {
    const startMs = windowStartMs(this.#shape, nowMs, panesOf(this.#shape, window));
    return this.#memory.nodeExporter?.since(startMs) ?? null;
  }

  /** Physical interfaces, bit/s: by the kernel, else the root cgroup, else kubelet. */
  network(direction: Direction, nowMs: number, window: WindowName): number | null {
    const bytesPerSecond = this.#rate(NETWORK_COUNTERS[direction], nowMs, window);
    return bytesPerSecond === null ? null : bytesPerSecond * 8;
  }

  /** Time of the newest sample of any kind; -Infinity: none. */
  get newestMs(): number {
    let newestMs = Math.max(
      this.#cpuLevel?.newestMs ?? Number.NEGATIVE_INFINITY,
      this.#containerCpu?.newestMs ?? Number.NEGATIVE_INFINITY,
    );
    for (const counter of USAGE_COUNTERS)
      newestMs = Math.max(newestMs, this.#counters[counter]?.coverage.newestMs ?? Number.NEGATIVE_INFINITY);
    for (const source of MEMORY_SOURCES)
      newestMs = Math.max(newestMs, this.#memory[source]?.newestMs ?? Number.NEGATIVE_INFINITY);
    return newestMs;
  }

  release(): void {
    this.live = false;
    for (const counter of USAGE_COUNTERS) this.#counters[counter]?.release();
    this.#cpuLevel?.release();
    this.#containerCpu?.release();
  }

  #rate(counters: readonly UsageCounter[], nowMs: number, window: WindowName): number | null {
    for (const counter of counters) {
      const rate = this.#counters[counter]?.rate(nowMs, window) ?? null;
      if (rate !== null) return rate;
    }
    return null;
  }
}

export class UsageTable {
  readonly #shape: WindowShape;
  readonly #rows: PaneRows;
  readonly #maxEntries: number;
  readonly #entries = new Map<string, UsageState>();

  constructor(shape: WindowShape, maxEntries: number, rows: PaneRows = new PaneRows(shape)) {
    this.#shape = shape;
    this.#rows = rows;
    this.#maxEntries = maxEntries;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(name: string): UsageState | undefined {
    return this.#entries.get(name);
  }

  /** Returns null if the total limit or the sender's room is exhausted. */
  open(name: string, room: Room = BOUNDLESS): UsageState | null {
    const known = this.#entries.get(name);
    if (known !== undefined) return known;
    if (this.#entries.size >= this.#maxEntries || room.left <= 0) return null;
    room.left--;
    const usage = new UsageState(this.#shape, this.#rows);
    this.#entries.set(name, usage);
    return usage;
  }

  /** Forgets entities without data for a whole window; new entities get that long as well. */
  expire(nowMs: number): void {
    const startMs = windowStartMs(this.#shape, nowMs);
    for (const [name, usage] of this.#entries) {
      if (usage.newestMs >= startMs || usage.newestMs === Number.NEGATIVE_INFINITY) continue;
      usage.release();
      this.#entries.delete(name);
    }
  }
}
