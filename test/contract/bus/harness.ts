import type { Bus, BusRecord, OutgoingRecord, Subscription } from "@isochrone/bus";
import type { SubscribeOptions } from "@isochrone/bus/testing";
import { afterEach, beforeEach, vi } from "vitest";

/** What an adapter promises beyond the port, or can't be asked to show. */
export interface BusCapabilities {
  /** Partitions of every topic of the bus under test. */
  readonly partitions: number;
  /** Whether offsets ascend without gaps. */
  readonly denseOffsets: boolean;
  /** Whether publishers wait, and are refused in the end, while the slowest subscriber lags. */
  readonly backPressure: boolean;
  /** How long a redelivery may take. */
  readonly patienceMs: number;
}

interface BusUnderTest {
  readonly bus: Bus;
  /** Makes a topic ready, where that has to be done first. */
  createTopic?(topic: string): Promise<void>;
  /** Lets pauses (before a redelivery, say) pass: advances a manual clock; only waits where time is real. */
  pass(ms: number): Promise<void>;
  dispose(): Promise<void>;
}

export interface BusContract {
  readonly capabilities: BusCapabilities;
  /** A fresh bus; where it has bounds, 100 records or 4 MiB of backlog per partition and 2 s of waiting. */
  readonly create: () => Promise<BusUnderTest>;
}

/** What a subscriber has received so far. */
interface Collected {
  readonly records: BusRecord[];
  /** How many records it had when it was told that it had caught up. */
  readonly caughtUpAt: readonly number[];
  readonly subscription: Subscription;
  texts(): string[];
}

/** The bus of the test that runs, made anew for each, and what the tests of the contract share. */
export class BusHarness {
  readonly capabilities: BusCapabilities;
  readonly #name: string;
  #under: BusUnderTest | null = null;
  #serial = 0;

  constructor(name: string, { capabilities, create }: BusContract) {
    this.#name = name;
    this.capabilities = capabilities;
    beforeEach(async () => {
      this.#under = await create();
      this.#serial += 1;
      await this.#under.createTopic?.(this.topic);
    });
    afterEach(() => this.#under?.dispose());
  }

  get bus(): Bus {
    return this.#under!.bus;
  }

  /** Another one in every test. */
  get topic(): string {
    return `contract.${this.#name}.${process.pid}.${this.#serial}`;
  }

  pass(ms: number): Promise<void> {
    return this.#under!.pass(ms);
  }

  /** Subscribes and collects. */
  async collect(options: Partial<SubscribeOptions> = {}): Promise<Collected> {
    const records: BusRecord[] = [];
    const caughtUpAt: number[] = [];
    const subscription = await this.bus.subscribe({
      topics: [this.topic],
      from: "earliest",
      async onBatch(batch) {
        records.push(...batch.records);
      },
      onCaughtUp: () => caughtUpAt.push(records.length),
      ...options,
    });
    return { records, caughtUpAt, subscription, texts: () => records.map(textOf) };
  }

  waitFor(check: () => void): Promise<void> {
    return vi.waitFor(check, { timeout: this.capabilities.patienceMs, interval: 5 });
  }
}

export function record(key: string, text: string): OutgoingRecord {
  return { key, value: encode(text), headers: {} };
}

/** Records over many keys, so that every partition gets some. */
export function spread(count: number): OutgoingRecord[] {
  return numbered(count).map((text) => record(`node-${Number(text) % 40}`, text));
}

export function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, i) => String(i));
}

export function encode(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "utf8"));
}

function decode(value: Uint8Array): string {
  return Buffer.from(value).toString("utf8");
}

export function textOf({ value }: BusRecord): string {
  return decode(value);
}
