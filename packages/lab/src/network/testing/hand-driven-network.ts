import { onTestFinished } from "vitest";
import type { ExposedPort } from "../emulated-network.ts";
import { IDEAL_LINK, type LinkChange, type LinkSettings } from "../links.ts";
import { DelayQueue } from "../relay/delay-queue.ts";
import type { RelayPairRecord } from "../relay/messages.ts";
import { Relay } from "../relay/relay.ts";
import type { Reachable } from "./rig.ts";

const HOST = "127.0.0.1";
const NODES = ["a", "b"];
const RECORD_MS = 120_000;

/**
 * In-process relay of `a` and `b` on real sockets with a manual clock, so that tests see exact decisions
 * regardless of machine load.
 */
export class HandDrivenNetwork implements Reachable {
  readonly #relay: Relay;
  readonly #queue: DelayQueue;
  readonly #links: Record<"a" | "b", LinkSettings>;
  readonly #exposed: (ExposedPort & { readonly target: number; relayPort: number })[] = [];
  #nowMs = 0;
  #nextMs = Infinity;

  /** Ends with the test. @param links initiated by `a` and by `b` @default as those of `a` */
  constructor(a: LinkChange, b: LinkChange = a) {
    this.#links = { a: linkOf(a), b: linkOf(b) };
    this.#queue = new DelayQueue(() => this.#nowMs, { wakeAt: (timeMs) => (this.#nextMs = timeMs) });
    this.#relay = new Relay({
      monotonic: () => this.#nowMs,
      queue: this.#queue,
      fault: (event, message) => {
        throw new Error(`${event}: ${message}`);
      },
    });
    this.#relay.configure({
      links: [
        [IDEAL_LINK, this.#links.a],
        [this.#links.b, IDEAL_LINK],
      ],
      seed: 1,
    });
    onTestFinished(() => {
      for (const port of this.#exposed) this.#relay.unexpose(port);
    });
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  get held(): number {
    return this.#queue.size;
  }

  /** Advances to the next due item, runs it, and returns the time. */
  next(): number {
    if (this.#queue.size === 0) throw new Error(`nothing is under way at ${this.#nowMs} ms`);
    return this.#moveTo(this.#nextMs);
  }

  pass(ms: number): void {
    if (this.#nextMs <= this.#nowMs + ms) throw new Error(`something is due at ${this.#nextMs} ms`);
    this.#moveTo(this.#nowMs + ms);
  }

  change(change: LinkChange): void {
    this.#links.a = { ...this.#links.a, ...(change as object) };
    this.#relay.setLink({ source: 0, target: 1, link: this.#links.a });
  }

  record(): RelayPairRecord | undefined {
    return this.#relay.record({ lastMs: RECORD_MS })[0];
  }

  nodeAddress(): string {
    return HOST;
  }

  async expose(node: string, { protocol, port }: ExposedPort): Promise<void> {
    const target = NODES.indexOf(node);
    const listeners = [{ source: 1 - target, host: HOST, port: 0, egressHost: null }];
    const [relayPort] = await this.#relay.expose({ target, protocol, port, targetHost: HOST, listeners });
    this.#exposed.push({ target, protocol, port, relayPort: relayPort! });
  }

  resolve(
    _source: string,
    node: string,
    { protocol, port }: ExposedPort,
  ): { readonly host: string; readonly port: number } {
    const target = NODES.indexOf(node);
    const found = this.#exposed.find(
      (one) => one.target === target && one.protocol === protocol && one.port === port,
    );
    return { host: HOST, port: found!.relayPort };
  }

  #moveTo(timeMs: number): number {
    this.#nowMs = timeMs;
    this.#nextMs = Infinity;
    this.#queue.drain();
    return timeMs;
  }
}

function linkOf(change: LinkChange): LinkSettings {
  return { ...IDEAL_LINK, ...(change as object) };
}
