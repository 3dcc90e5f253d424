import { InterfaceChoice, spreadOverPanes, type Increment } from "@isochrone/telemetry";
import {
  CPU_COUNTERS,
  type CounterTarget,
  type LevelTarget,
  type MemoryOwner,
  type UsageCounter,
  type UsageTarget,
} from "../ingest/sink-tables.ts";
import type { WindowShape } from "../windows/window-shape.ts";
import { CoverageDelta, type CoveredTime } from "./coverage-delta.ts";
import type { UsageState } from "../usage/usage.ts";
import { PANE_ATTRIBUTES } from "./names.ts";
import { PaneParts, type PanePart } from "./pane-parts.ts";
import type { Touched } from "./touched.ts";
import { OnWire } from "./wire-attributes.ts";

/** What usage is of. */
type UsageScope = "pod" | "node";

/** What was added to one of the counters of a pod or node. */
interface CounterContribution {
  readonly counter: UsageCounter;
  readonly cover: readonly CoveredTime[];
  readonly parts: readonly PanePart[];
}

/** Samples of a level in one pane. */
interface LevelPart {
  readonly paneStartMs: number;
  /** Of the last sample; within the pane. */
  newestMs: number;
  sum: number;
  count: number;
}

/** Samples of a level of CPU. */
interface LevelContribution {
  /** Null: of the whole pod or node. */
  readonly container: string | null;
  /** All attributes of its points. */
  readonly wire: OnWire;
  readonly parts: readonly LevelPart[];
}

/** The last of some samples of a level. */
interface LastSample {
  readonly owner: MemoryOwner;
  /** All attributes of its point. */
  readonly wire: OnWire;
  readonly timeMs: number;
  readonly value: number;
}

/** What was added to a pod or node. */
export interface UsageContribution {
  readonly usage: UsageDelta;
  readonly counters: readonly CounterContribution[];
  readonly cpuLevels: readonly LevelContribution[];
  readonly memory: readonly LastSample[];
}

const OF_CPU: ReadonlySet<UsageCounter> = new Set(CPU_COUNTERS);
const NO_COUNTERS: CounterContribution[] = [];
const NO_LEVELS: LevelContribution[] = [];
const NO_PARTS: LevelPart[] = [];
const NO_SAMPLES: LastSample[] = [];

class CounterDelta implements CounterTarget {
  readonly counter: UsageCounter;
  readonly #shape: WindowShape;
  readonly #usage: UsageDelta;
  #cover: CoverageDelta | null = null;
  readonly #parts = new PaneParts();
  newestMs = Number.NEGATIVE_INFINITY;

  constructor(counter: UsageCounter, shape: WindowShape, usage: UsageDelta) {
    this.counter = counter;
    this.#shape = shape;
    this.#usage = usage;
  }

  get isEmpty(): boolean {
    return this.#cover === null;
  }

  take(increment: Increment): void {
    if (this.#cover === null) {
      this.#usage.touch();
      this.#cover = new CoverageDelta(this.#shape.windowMs);
    }
    this.#cover.extend(increment.fromMs, increment.toMs);
    if (increment.toMs > this.newestMs) this.newestMs = increment.toMs;
    spreadOverPanes(increment, this.#shape.paneMs, this.#parts);
  }

  drain(): CounterContribution {
    const cover = this.#cover?.times() ?? [];
    this.#cover = null;
    return { counter: this.counter, cover, parts: this.#parts.drain() };
  }
}

class LevelDelta extends OnWire implements LevelTarget {
  readonly container: string | null;
  readonly #paneMs: number;
  readonly #usage: UsageDelta;
  #parts: LevelPart[] = NO_PARTS;
  newestMs = Number.NEGATIVE_INFINITY;

  constructor(container: string | null, paneMs: number, usage: UsageDelta) {
    super();
    this.container = container;
    this.#paneMs = paneMs;
    this.#usage = usage;
  }

  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }

  take(eventMs: number, value: number): void {
    if (this.#parts.length === 0) this.#usage.touch();
    if (eventMs > this.newestMs) this.newestMs = eventMs;
    const paneStartMs = Math.floor(eventMs / this.#paneMs) * this.#paneMs;
    const known = this.#parts.findLast((part) => part.paneStartMs === paneStartMs);
    if (known === undefined) {
      const part = { paneStartMs, newestMs: eventMs, sum: value, count: 1 };
      if (this.#parts.length === 0) this.#parts = [part];
      else this.#parts.push(part);
      return;
    }
    known.sum += value;
    known.count += 1;
    if (eventMs > known.newestMs) known.newestMs = eventMs;
  }

  drain(): LevelContribution {
    const parts = this.#parts;
    this.#parts = NO_PARTS;
    return { container: this.container, wire: this, parts };
  }

  protected override wireAttributes(): Record<string, string> {
    const { container } = this;
    const attributes = this.#usage.wireAttributes();
    return container === null ? attributes : { ...attributes, [PANE_ATTRIBUTES.container]: container };
  }
}

class LastDelta extends OnWire implements LevelTarget {
  readonly owner: MemoryOwner;
  readonly #usage: UsageDelta;
  #timeMs = Number.NEGATIVE_INFINITY;
  #value = 0;
  isEmpty = true;

  constructor(owner: MemoryOwner, usage: UsageDelta) {
    super();
    this.owner = owner;
    this.#usage = usage;
  }

  take(eventMs: number, value: number): void {
    if (this.isEmpty) {
      this.#usage.touch();
      this.isEmpty = false;
    } else if (eventMs < this.#timeMs) return;
    this.#timeMs = eventMs;
    this.#value = value;
  }

  drain(): LastSample {
    this.isEmpty = true;
    return { owner: this.owner, wire: this, timeMs: this.#timeMs, value: this.#value };
  }

  protected override wireAttributes(): Record<string, string> {
    return { ...this.#usage.wireAttributes(), ...ownerAttributes(this.owner) };
  }
}

/** Up to so many are looked for one by one. */
const FEW_OWNERS = 8;
const NO_COUNTERS_YET: CounterDelta[] = [];
const NO_MEMORY_YET: LastDelta[] = [];
const NO_LEVELS_YET: LevelDelta[] = [];

/** Collects what is added to one pod or node. */
export class UsageDelta extends OnWire implements UsageTarget {
  readonly scope: UsageScope;
  readonly name: string;
  readonly #shape: WindowShape;
  readonly #touched: Touched<UsageDelta>;
  /** Of these and those there are one or two, mostly: a map would cost each pod 200 bytes. */
  #counters: CounterDelta[] = NO_COUNTERS_YET;
  #memory: LastDelta[] = NO_MEMORY_YET;
  /** By source and container; null while there are few. */
  #memoryByOwner: Map<string, LastDelta> | null = null;
  #cpuLevels: LevelDelta[] = NO_LEVELS_YET;
  #interfaces: InterfaceChoice | null = null;
  #isTouched = false;
  /** What this replica's own deltas are applied to, once it was looked up. */
  applied: UsageState | null = null;
  live = true;
  idleSinceMs = Number.NEGATIVE_INFINITY;

  constructor(scope: UsageScope, name: string, shape: WindowShape, touched: Touched<UsageDelta>) {
    super();
    this.scope = scope;
    this.name = name;
    this.#shape = shape;
    this.#touched = touched;
  }

  counter(counter: UsageCounter): CounterTarget {
    for (const known of this.#counters) if (known.counter === counter) return known;
    const delta = new CounterDelta(counter, this.#shape, this);
    if (this.#counters.length === 0) this.#counters = [delta];
    else this.#counters.push(delta);
    return delta;
  }

  interfaces(): InterfaceChoice {
    return (this.#interfaces ??= new InterfaceChoice());
  }

  tellsCpu(eventMs: number): boolean {
    const sinceMs = eventMs - this.#shape.windowMs;
    for (const { container, newestMs } of this.#cpuLevels)
      if (container === null && newestMs >= sinceMs) return true;
    for (const { counter, newestMs } of this.#counters)
      if (OF_CPU.has(counter) && !(newestMs < sinceMs && newestMs > Number.NEGATIVE_INFINITY)) return true;
    return false;
  }

  cpuLevel(container: string | null): LevelTarget {
    const known = this.#cpuLevels.find((level) => level.container === container);
    if (known !== undefined) return known;
    const level = new LevelDelta(container, this.#shape.paneMs, this);
    this.#cpuLevels = [...this.#cpuLevels, level];
    return level;
  }

  memoryLevel(owner: MemoryOwner): LevelTarget {
    const byOwner = this.#memoryByOwner;
    const known =
      byOwner === null
        ? this.#memory.find((last) => isSameOwner(last.owner, owner))
        : byOwner.get(ownerId(owner));
    return known ?? this.#openMemory(owner);
  }

  #openMemory(owner: MemoryOwner): LastDelta {
    const last = new LastDelta(owner, this);
    if (this.#memory.length === 0) this.#memory = [last];
    else this.#memory.push(last);
    if (this.#memoryByOwner !== null) this.#memoryByOwner.set(ownerId(owner), last);
    else if (this.#memory.length > FEW_OWNERS)
      this.#memoryByOwner = new Map(this.#memory.map((each) => [ownerId(each.owner), each]));
    return last;
  }

  /** What was added since the last time. */
  drain(): UsageContribution {
    this.#isTouched = false;
    let counters: CounterContribution[] = NO_COUNTERS;
    for (const delta of this.#counters) {
      if (delta.isEmpty) continue;
      if (counters.length === 0) counters = [delta.drain()];
      else counters.push(delta.drain());
    }
    let memory: LastSample[] = NO_SAMPLES;
    for (const last of this.#memory) {
      if (last.isEmpty) continue;
      if (memory.length === 0) memory = [last.drain()];
      else memory.push(last.drain());
    }
    let cpuLevels = NO_LEVELS;
    for (const level of this.#cpuLevels) {
      if (level.isEmpty) continue;
      if (cpuLevels.length === 0) cpuLevels = [level.drain()];
      else cpuLevels.push(level.drain());
    }
    return { usage: this, counters, cpuLevels, memory };
  }

  /** Of all its points. */
  override wireAttributes(): Record<string, string> {
    return { [PANE_ATTRIBUTES.scope]: this.scope, [PANE_ATTRIBUTES.name]: this.name };
  }

  /** Something is added to it, the first thing since the last drain perhaps. */
  touch(): void {
    if (this.#isTouched) return;
    this.#isTouched = true;
    this.#touched.add(this);
  }
}

function isSameOwner(a: MemoryOwner, b: MemoryOwner): boolean {
  return a.source === b.source && a.container === b.container;
}

function ownerId({ source, container }: MemoryOwner): string {
  return container === null ? source : `${source} ${container}`;
}

function ownerAttributes({ source, container }: MemoryOwner): Record<string, string> {
  const attributes = { [PANE_ATTRIBUTES.usageSource]: source };
  return container === null ? attributes : { ...attributes, [PANE_ATTRIBUTES.container]: container };
}
