import { FIRST_FLOW_CLASS, LAST_CLASS, matchKey, type KernelState, type Match } from "./kernel-state.ts";

/**
 * Assigns class numbers to flows. A flow keeps its number in the kernel, so that a restart changes nothing.
 * HTB cannot change a class's parent: a moved flow gets a new number, and its old class is removed once
 * unused.
 */
export class FlowClasses {
  readonly #kernel: KernelState;
  readonly #taken = new Set<number>();
  readonly #given = new Set<number>();
  #next = FIRST_FLOW_CLASS;

  constructor(kernel: KernelState) {
    this.#kernel = kernel;
    for (const { minor } of kernel.marks.values()) this.#taken.add(minor);
    for (const classes of kernel.devices.values()) for (const minor of classes.keys()) this.#taken.add(minor);
  }

  numberFor(match: Match, device: string, parent: number | null): number {
    const kept = this.#kernel.marks.get(matchKey(match))?.minor;
    if (kept !== undefined && this.#fits(kept, device, parent)) return this.#give(kept);
    while (this.#taken.has(this.#next) && this.#next < LAST_CLASS) this.#next++;
    return this.#give(this.#next);
  }

  #give(minor: number): number {
    this.#taken.add(minor);
    this.#given.add(minor);
    return minor;
  }

  #fits(minor: number, device: string, parent: number | null): boolean {
    if (minor < FIRST_FLOW_CLASS || minor > LAST_CLASS || this.#given.has(minor)) return false;
    for (const [name, classes] of this.#kernel.devices) {
      const found = classes.get(minor);
      if (found !== undefined && (name !== device || found.parent !== parent)) return false;
    }
    return true;
  }
}
