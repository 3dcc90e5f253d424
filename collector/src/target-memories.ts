import { TargetMemory } from "./domain/target-memory.ts";
import type { Target } from "./ports/ports.ts";

interface TargetMemoriesOptions {
  /** Of pages that belong to namespaces, all together. */
  readonly maxBytes: number;
  readonly reduce: boolean;
  /** 32 random bits. */
  readonly seed: () => number;
}

interface Entry {
  readonly memory: TargetMemory;
  /** Undefined: the operator's own, which are not bounded together. */
  readonly namespace: string | undefined;
  /** Whose rows the memory holds: a pod of the same name may be another workload's. */
  readonly scope: string;
}

/**
 * What is remembered of all targets. Beyond the bound the namespaces give way that hold more than an equal
 * share of it.
 */
export class TargetMemories {
  readonly #options: TargetMemoriesOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: TargetMemoriesOptions) {
    this.#options = options;
  }

  of(target: Target): TargetMemory {
    const { instance, namespace } = target;
    const scope = JSON.stringify(target.scope ?? null);
    const known = this.#entries.get(instance);
    if (known?.scope === scope) return known.memory;
    const memory = new TargetMemory(
      { kind: target.kind, reduce: this.#options.reduce },
      this.#options.seed(),
    );
    this.#entries.set(instance, { memory, namespace, scope });
    return memory;
  }

  /** False when the page's namespace holds more than its share, and all together more than there is. */
  hasRoom({ namespace }: Target): boolean {
    if (namespace === undefined) return true;
    let total = 0;
    let own = 0;
    const namespaces = new Set<string>();
    for (const entry of this.#entries.values()) {
      if (entry.namespace === undefined) continue;
      const { memoryBytes } = entry.memory;
      total += memoryBytes;
      if (entry.namespace === namespace) own += memoryBytes;
      namespaces.add(entry.namespace);
    }
    const { maxBytes } = this.#options;
    return total <= maxBytes || own <= maxBytes / namespaces.size;
  }

  forget({ instance }: Target): void {
    this.#entries.delete(instance);
  }

  /** Forgets all but these. */
  retain(targets: readonly Target[]): void {
    const known = new Set(targets.map(({ instance }) => instance));
    for (const instance of this.#entries.keys()) if (!known.has(instance)) this.#entries.delete(instance);
  }
}
