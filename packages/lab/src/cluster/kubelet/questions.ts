import type { ChildProcess } from "node:child_process";
import { pause } from "@isochrone/runtime";
import type { Clock } from "@isochrone/runtime";
import { hasEnded } from "./child.ts";

/** Questions to a child process, which it answers by their numbers. */
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

  /** Has `send` put the question; null when the process has ended or doesn't answer in time. */
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

  /** To be called with what the process answers; an answer that comes too late is nobody's. */
  settle(id: number, answer: Answer): void {
    this.#open.get(id)?.(answer);
  }
}
