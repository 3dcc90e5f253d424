import { spreadOverPanes, type Increment } from "@isochrone/telemetry";
import type { CounterTarget, LevelTarget, MemoryOwner, UsageCounter, UsageTarget } from "../sink-tables.ts";
import type { WindowShape } from "../window-shape.ts";
import { CoverageDelta, type CoveredTime } from "./coverage-delta.ts";
import type { UsageState } from "../usage.ts";
import { PANE_ATTRIBUTES } from "./names.ts";
import { PaneParts, type PanePart } from "./pane-parts.ts";
import type { Touched } from "./touched.ts";
import { WireAttributes } from "./wire-attributes.ts";

/** What usage is of. */
export type UsageScope = "pod" | "node";

/** What was added to one of the counters of a pod or node. */
export interface CounterContribution {
  readonly counter: UsageCounter;
  readonly cover: readonly CoveredTime[];
  readonly parts: readonly PanePart[];
}

/** Samples of a level in one pane. */
export interface LevelPart {
  readonly paneStartMs: number;
  /** Of the last sample; within the pane. */
  newestMs: number;
  sum: number;
  count: number;
}

/** The last of some samples of a level. */
export interface LastSample {
  readonly owner: MemoryOwner;
  /** Of its point, all of them. */
  readonly wire: WireAttributes;
  readonly timeMs: number;
  readonly value: number;
}

/** What was added to a pod or node. */
export interface UsageContribution {
  readonly usage: UsageDelta;
  readonly counters: readonly CounterContribution[];
  readonly cpuLevels: readonly LevelPart[];
  readonly memory: readonly LastSample[];
}

const NO_COUNTERS: CounterContribution[] = [];
const NO_LEVELS: LevelPart[] = [];
const NO_SAMPLES: LastSample[] = [];

class CounterDelta implements CounterTarget {
  readonly #shape: WindowShape;
  readonly #onFirst: () => void;
  #cover: CoverageDelta | null = null;
  #parts = new PaneParts();
  readonly #add: (paneStartMs: number, part: number) => void;

  constructor(shape: WindowShape, onFirst: () => void) {
    this.#shape = shape;
    this.#onFirst = onFirst;
    this.#add = (paneStartMs, part) => this.#parts.add(paneStartMs, part);
  }

  get isEmpty(): boolean {
    return this.#cover === null;
  }

  take(increment: Increment): void {
    if (this.#cover === null) {
      this.#onFirst();
      this.#cover = new CoverageDelta(this.#shape.windowMs);
    }
    this.#cover.extend(increment.fromMs, increment.toMs);
    spreadOverPanes(increment, this.#shape.paneMs, this.#add);
  }

  drain(counter: UsageCounter): CounterContribution {
    const contribution = { counter, cover: this.#cover?.times() ?? [], parts: this.#parts.parts };
    this.#cover = null;
    this.#parts = new PaneParts();
    return contribution;
  }
}

class LevelDelta implements LevelTarget {
  readonly #paneMs: number;
  readonly #onFirst: () => void;
  #parts: LevelPart[] = NO_LEVELS;

  constructor(paneMs: number, onFirst: () => void) {
    this.#paneMs = paneMs;
    this.#onFirst = onFirst;
  }

  take(eventMs: number, value: number): void {
    if (this.#parts.length === 0) this.#onFirst();
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

  drain(): readonly LevelPart[] {
    const parts = this.#parts;
    this.#parts = NO_LEVELS;
    return parts;
  }
}

class LastDelta implements LevelTarget {
  readonly owner: MemoryOwner;
  readonly #wire: WireAttributes;
  readonly #onFirst: () => void;
  #timeMs = Number.NEGATIVE_INFINITY;
  #value = 0;
  isEmpty = true;

  constructor(owner: MemoryOwner, wire: WireAttributes, onFirst: () => void) {
    this.owner = owner;
    this.#wire = wire;
    this.#onFirst = onFirst;
  }

  take(eventMs: number, value: number): void {
    if (this.isEmpty) {
      this.#onFirst();
      this.isEmpty = false;
    } else if (eventMs < this.#timeMs) return;
    this.#timeMs = eventMs;
    this.#value = value;
  }

  drain(): LastSample {
    this.isEmpty = true;
    return { owner: this.owner, wire: this.#wire, timeMs: this.#timeMs, value: this.#value };
  }
}

/** Collects what is added to one pod or node. */
export class UsageDelta implements UsageTarget {
  readonly scope: UsageScope;
  readonly name: string;
  readonly #shape: WindowShape;
  readonly #touched: Touched<UsageDelta>;
  readonly #onFirst = (): void => this.#touch();
  readonly #counters = new Map<UsageCounter, CounterDelta>();
  #cpuLevel: LevelDelta | null = null;
  readonly #memory = new Map<string, LastDelta>();
  #isTouched = false;
  #wire: WireAttributes | null = null;
  /** What this replica's own deltas are applied to, once it was looked up. */
  applied: UsageState | null = null;
  live = true;
  idleSinceMs = Number.NEGATIVE_INFINITY;

  constructor(scope: UsageScope, name: string, shape: WindowShape, touched: Touched<UsageDelta>) {
    this.scope = scope;
    this.name = name;
    this.#shape = shape;
    this.#touched = touched;
  }

  /** Of its points, beside whose they are. */
  get wire(): WireAttributes {
    return (this.#wire ??= new WireAttributes(this.#attributes()));
  }

  counter(counter: UsageCounter): CounterTarget {
    let delta = this.#counters.get(counter);
    if (delta === undefined)
      this.#counters.set(counter, (delta = new CounterDelta(this.#shape, this.#onFirst)));
    return delta;
  }

  cpuLevel(): LevelTarget {
    return (this.#cpuLevel ??= new LevelDelta(this.#shape.paneMs, this.#onFirst));
  }

  memoryLevel(owner: MemoryOwner): LevelTarget {
    const id = owner.container === null ? owner.source : `${owner.source} ${owner.container}`;
    let last = this.#memory.get(id);
    if (last === undefined) {
      const wire = new WireAttributes({ ...this.#attributes(), ...ownerAttributes(owner) });
      this.#memory.set(id, (last = new LastDelta(owner, wire, this.#onFirst)));
    }
    return last;
  }

  /** What was added since the last time. */
  drain(): UsageContribution {
    this.#isTouched = false;
    let counters: CounterContribution[] = NO_COUNTERS;
    for (const [name, delta] of this.#counters) {
      if (delta.isEmpty) continue;
      if (counters.length === 0) counters = [delta.drain(name)];
      else counters.push(delta.drain(name));
    }
    let memory: LastSample[] = NO_SAMPLES;
    for (const last of this.#memory.values()) {
      if (last.isEmpty) continue;
      if (memory.length === 0) memory = [last.drain()];
      else memory.push(last.drain());
    }
    return { usage: this, counters, cpuLevels: this.#cpuLevel?.drain() ?? NO_LEVELS, memory };
  }

  #attributes(): Record<string, string> {
    return { [PANE_ATTRIBUTES.scope]: this.scope, [PANE_ATTRIBUTES.name]: this.name };
  }

  #touch(): void {
    if (this.#isTouched) return;
    this.#isTouched = true;
    this.#touched.add(this);
  }
}

function ownerAttributes({ source, container }: MemoryOwner): Record<string, string> {
  const attributes = { [PANE_ATTRIBUTES.usageSource]: source };
  return container === null ? attributes : { ...attributes, [PANE_ATTRIBUTES.container]: container };
}
