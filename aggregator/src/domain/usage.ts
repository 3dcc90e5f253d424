import { spreadOverPanes, type Increment } from "@isochrone/telemetry";
import { Coverage } from "./coverage.ts";
import { SumPanes } from "./sum-panes.ts";
import { panesOf, windowStartMs, type WindowName, type WindowShape } from "./window-shape.ts";

/** Core-seconds that one or more counters of one thing counted. */
export class CpuCounter {
  readonly #shape: WindowShape;
  readonly #sums: SumPanes;
  readonly coverage = new Coverage();
  readonly #add: (paneStartMs: number, part: number) => void;

  constructor(shape: WindowShape) {
    this.#shape = shape;
    this.#sums = new SumPanes(shape);
    this.#add = (paneStartMs, part) => this.#sums.add(paneStartMs, part);
  }

  take(increment: Increment): void {
    this.coverage.extend(increment.fromMs, increment.toMs, this.#shape.windowMs);
    spreadOverPanes(increment, this.#shape.paneMs, this.#add);
  }

  /** Cores; null without a covered moment in the window. */
  rate(nowMs: number, window: WindowName): number | null {
    const panes = panesOf(this.#shape, window);
    const seconds = this.coverage.seconds(this.#shape, nowMs, panes);
    return seconds > 0 ? this.#sums.total(nowMs, panes) / seconds : null;
  }
}

/** Mean over the window of samples that are levels, not counts. */
export class LevelMean {
  readonly #shape: WindowShape;
  readonly #sums: SumPanes;
  readonly #counts: SumPanes;
  newestMs = Number.NEGATIVE_INFINITY;

  constructor(shape: WindowShape) {
    this.#shape = shape;
    this.#sums = new SumPanes(shape);
    this.#counts = new SumPanes(shape);
  }

  take(eventMs: number, value: number): void {
    const paneStartMs = Math.floor(eventMs / this.#shape.paneMs) * this.#shape.paneMs;
    this.#sums.add(paneStartMs, value);
    this.#counts.add(paneStartMs, 1);
    if (eventMs > this.newestMs) this.newestMs = eventMs;
  }

  mean(nowMs: number, window: WindowName): number | null {
    const panes = panesOf(this.#shape, window);
    const count = this.#counts.total(nowMs, panes);
    return count > 0 ? this.#sums.total(nowMs, panes) / count : null;
  }
}

/** The last value of a gauge. */
export class LastLevel {
  #value = 0;
  newestMs = Number.NEGATIVE_INFINITY;

  take(eventMs: number, value: number): void {
    if (eventMs < this.newestMs) return;
    this.#value = value;
    this.newestMs = eventMs;
  }

  /** Null when it isn't of this window. */
  since(startMs: number): number | null {
    return this.newestMs >= startMs ? this.#value : null;
  }
}

/** What one pod or node uses, as told by the counters of its containers, by its own cgroup, or by ready-made figures. */
export class UsageState {
  readonly #shape: WindowShape;
  live = true;
  containersCpu: CpuCounter | null = null;
  cgroupCpu: CpuCounter | null = null;
  levelCpu: LevelMean | null = null;
  /** By container name: a restarted container follows its predecessor, they don't add up. */
  readonly containersMemory = new Map<string, LastLevel>();
  cgroupMemory: LastLevel | null = null;
  levelMemory: LastLevel | null = null;

  constructor(shape: WindowShape) {
    this.#shape = shape;
  }

  /** Cores. */
  cpu(nowMs: number, window: WindowName): number | null {
    return (
      this.containersCpu?.rate(nowMs, window) ??
      this.cgroupCpu?.rate(nowMs, window) ??
      this.levelCpu?.mean(nowMs, window) ??
      null
    );
  }

  /** Working set, bytes. */
  memory(nowMs: number, window: WindowName): number | null {
    const startMs = windowStartMs(this.#shape, nowMs, panesOf(this.#shape, window));
    let sum: number | null = null;
    for (const level of this.containersMemory.values()) {
      const bytes = level.since(startMs);
      if (bytes !== null) sum = (sum ?? 0) + bytes;
    }
    return sum ?? this.cgroupMemory?.since(startMs) ?? this.levelMemory?.since(startMs) ?? null;
  }

  /** Time of the newest sample of any kind, or -Infinity. */
  get newestMs(): number {
    let newestMs = Math.max(
      this.containersCpu?.coverage.newestMs ?? Number.NEGATIVE_INFINITY,
      this.cgroupCpu?.coverage.newestMs ?? Number.NEGATIVE_INFINITY,
      this.levelCpu?.newestMs ?? Number.NEGATIVE_INFINITY,
      this.cgroupMemory?.newestMs ?? Number.NEGATIVE_INFINITY,
      this.levelMemory?.newestMs ?? Number.NEGATIVE_INFINITY,
    );
    for (const level of this.containersMemory.values()) newestMs = Math.max(newestMs, level.newestMs);
    return newestMs;
  }
}

/** Usage by pod (namespace/name) or by node. */
export class UsageTable {
  readonly #shape: WindowShape;
  readonly #maxEntries: number;
  readonly #entries = new Map<string, UsageState>();

  constructor(shape: WindowShape, maxEntries: number) {
    this.#shape = shape;
    this.#maxEntries = maxEntries;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(name: string): UsageState | undefined {
    return this.#entries.get(name);
  }

  /** Null when there are too many. */
  open(name: string): UsageState | null {
    const known = this.#entries.get(name);
    if (known !== undefined) return known;
    if (this.#entries.size >= this.#maxEntries) return null;
    const usage = new UsageState(this.#shape);
    this.#entries.set(name, usage);
    return usage;
  }

  /** Forgets what a whole window said nothing of; new ones get the time to speak. */
  expire(nowMs: number): void {
    const startMs = windowStartMs(this.#shape, nowMs);
    for (const [name, usage] of this.#entries) {
      if (usage.newestMs >= startMs || usage.newestMs === Number.NEGATIVE_INFINITY) continue;
      usage.live = false;
      this.#entries.delete(name);
    }
  }
}
