import type { EmbeddedSystem } from "../harness/embedded.ts";

const POLL_MS = 100;
const EVENT_CLIENTS = 8;

/** Readers of the graph API: pollers whose latency shows event loop delays, and event stream clients. */
export class GraphLoad {
  readonly #system: EmbeddedSystem;
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>[] = [];
  #latenciesMs: number[] = [];
  events = 0;
  failures = 0;

  constructor(system: EmbeddedSystem) {
    this.#system = system;
  }

  start(): void {
    this.#running.push(this.#poll());
    for (let client = 0; client < EVENT_CLIENTS; client++) this.#running.push(this.#follow());
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.allSettled(this.#running);
  }

  takeLatencies(): readonly number[] {
    const taken = this.#latenciesMs;
    this.#latenciesMs = [];
    return taken;
  }

  async #poll(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const began = performance.now();
      try {
        await this.#system.cluster();
        this.#latenciesMs.push(performance.now() - began);
      } catch {
        this.#fail();
      }
      const restMs = POLL_MS - (performance.now() - began);
      if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
    }
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        const response = await fetch(`${this.#system.urls.page}/api/v1/events`, { signal });
        for await (const _ of response.body ?? []) this.events++;
      } catch {
        // Counted below: a stream must not end before the run.
      }
      this.#fail();
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  #fail(): void {
    if (!this.#stopped.signal.aborted) this.failures++;
  }
}
