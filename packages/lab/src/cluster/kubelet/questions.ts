import type { ChildProcess } from "node:child_process";
import { pause } from "@isochrone/runtime";
import type { Clock } from "@isochrone/runtime";
import { hasEnded } from "./child.ts";

/** Matches a child process's answers to questions by id. */
export class Questions<Answer> {
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #open = new Map<number, (answer: Answer | null) => void>();
  #lastId = 0;

  constructor(child: ChildProcess, clock: Clock, timeoutMs: number) {
    this.#child = child;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    child.once("exit", () => {
      for (const settle of this.#open.values()) settle(null);
    });
  }

  /** Returns null if the process has ended or doesn't answer in time. */
  async ask(send: (id: number) => void): Promise<Answer | null> {
    if (hasEnded(this.#child)) return null;
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<Answer | null>();
    this.#open.set(id, resolve);
    send(id);
    const answered = new AbortController();
    const late = pause(this.#clock, this.#timeoutMs, answered.signal).then(() => null);
    const answer = await Promise.race([promise, late]);
    answered.abort();
    this.#open.delete(id);
    return answer;
  }

  settle(id: number, answer: Answer): void {
    this.#open.get(id)?.(answer);
  }
}
