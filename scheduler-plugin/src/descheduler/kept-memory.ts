import type { Logger } from "@isochrone/runtime";
import type { MemoryKeeper } from "./memory-annotation.ts";
import { EMPTY_TERM_MEMORY, memoryText, readMemory } from "./term-memory.ts";
import type { TermMemory } from "./term-memory.ts";

export class KeptMemory {
  readonly #keeper: MemoryKeeper;
  readonly #rounds: number;
  readonly #logger: Logger;
  #written: string | null = null;
  #isRecalled = false;

  constructor(keeper: MemoryKeeper, rounds: number, logger: Logger) {
    this.#keeper = keeper;
    this.#rounds = rounds;
    this.#logger = logger;
  }

  /** The previous leader's memory once, then null. Rejects while unreadable: it may forbid moves. */
  async recall(): Promise<TermMemory | null> {
    if (this.#isRecalled) return null;
    const text = await this.#keeper.read();
    this.#isRecalled = true;
    const memory = text === null ? EMPTY_TERM_MEMORY : readMemory(text);
    if (memory === null)
      this.#logger.warn("the previous leader's memory can't be read; rounds and regret start again");
    else this.#written = text;
    return memory;
  }

  /** Never rejects: a failed write is repeated after the next run. */
  async keep(memory: TermMemory): Promise<void> {
    const text = memoryText(memory, this.#rounds);
    if (text === this.#written) return;
    try {
      await this.#keeper.write(text);
      this.#written = text;
    } catch (error) {
      this.#logger.warn("the descheduler's memory can't be written; the next leader may know too little", {
        error,
      });
    }
  }
}
