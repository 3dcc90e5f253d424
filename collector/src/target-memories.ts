import { TargetMemory } from "./domain/target-memory.ts";
import type { Target } from "./ports/ports.ts";

interface TargetMemoriesOptions {
  readonly maxBytes: number;
  readonly reduce: boolean;
  readonly seed: () => number;
}

interface Entry {
  readonly memory: TargetMemory;
  /** Undefined: the operator's, which aren't bounded together. */
  readonly namespace: string | undefined;
  /** Scope of the rows: a pod of the same name may belong to another workload. */
  readonly scope: string;
}

/** State of all targets. Beyond the bound, namespaces above an equal share lose theirs. */
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

  /** False if the namespace exceeds its share and the total exceeds the bound. */
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

  retain(targets: readonly Target[]): void {
    const known = new Set(targets.map(({ instance }) => instance));
    for (const instance of this.#entries.keys()) if (!known.has(instance)) this.#entries.delete(instance);
  }
}
