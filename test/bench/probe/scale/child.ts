import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Answer, Call } from "./messages.ts";

/** Timeout of a child's response. Milliseconds. */
const ANSWER_MS = 120_000;
/** Timeout for a child to end by itself. Milliseconds. */
const END_MS = 5000;

/** Ends when its channel closes, even if the parent is killed. */
export class Child<C extends object> {
  readonly calls: C;
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #nextId = 1;

  constructor(file: string) {
    this.#process = fork(fileURLToPath(new URL(file, import.meta.url)), [], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#process.on("message", (message) => this.#settle(message as Answer));
    this.#process.on("exit", (code, signal) =>
      this.#failAll(new Error(`${file} ended with ${signal ?? `exit code ${code}`}`)),
    );
    this.#process.on("error", (error) => this.#failAll(error));
    this.calls = new Proxy({} as C, {
      get:
        (_, name) =>
        (...values: unknown[]) =>
          this.#call(String(name), values),
    });
  }

  /** Closes the channel and waits for the end; never rejects. */
  async end(): Promise<void> {
    const child = this.#process;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    const timer = setTimeout(() => child.kill("SIGKILL"), END_MS);
    if (child.connected) child.disconnect();
    await ended;
    clearTimeout(timer);
  }

  #call(name: string, values: readonly unknown[]): Promise<unknown> {
    const call: Call = { id: this.#nextId++, name, values };
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(call.id, answer);
    const timer = setTimeout(() => {
      this.#waiting.delete(call.id);
      answer.reject(new Error(`a child must answer ${name} within ${ANSWER_MS} ms, it did not`));
    }, ANSWER_MS);
    this.#process.send(call, (error) => {
      if (error !== null) answer.reject(error);
    });
    return answer.promise.finally(() => clearTimeout(timer));
  }

  #settle({ id, value, error }: Answer): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(value);
    else waiting?.reject(new Error(error));
  }

  #failAll(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
