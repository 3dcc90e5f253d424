import type { Carrier, CarrierEvents } from "./carrier.ts";

type OpenHost<To, From> = (
  post: (message: From) => void,
) => Promise<{ handle(message: To): void; close?(): void }>;

/** Runs a host in its owner's thread, without restarts. Messages wait until it is open. */
export class SameThread<To, From> implements Carrier<To> {
  readonly restarts = 0;
  readonly #events: CarrierEvents<From>;
  readonly #openHost: OpenHost<To, From>;
  readonly #waiting: To[] = [];
  #state: "stopped" | "running" | "closed" = "stopped";
  #host: Awaited<ReturnType<OpenHost<To, From>>> | null = null;

  constructor(events: CarrierEvents<From>, openHost: OpenHost<To, From>) {
    this.#events = events;
    this.#openHost = openHost;
  }

  get running(): boolean {
    return this.#state === "running";
  }

  start(): void {
    if (this.#state !== "stopped") return;
    this.#state = "running";
    void this.#open();
    this.#events.onStart();
  }

  post(message: To): boolean {
    if (this.#state !== "running") return false;
    if (this.#host === null) this.#waiting.push(message);
    else this.#host.handle(message);
    return true;
  }

  async close(): Promise<void> {
    this.#state = "closed";
    this.#host?.close?.();
    this.#host = null;
  }

  /** Never rejects: a host that cannot be opened reports it by a message. */
  async #open(): Promise<void> {
    const host = await this.#openHost((message) => {
      // Asynchronous, as messages from another thread would be.
      queueMicrotask(() => this.#state === "running" && this.#events.onMessage(message));
    });
    if (this.#state !== "running") {
      host.close?.();
      return;
    }
    this.#host = host;
    for (const message of this.#waiting.splice(0)) host.handle(message);
  }
}
