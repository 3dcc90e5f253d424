import type { Bus, BusRecord, OutgoingRecord, Subscription } from "@isochrone/bus";
import type { SubscribeOptions } from "@isochrone/bus/testing";
import { afterEach, beforeEach, vi } from "vitest";

/** Guarantees of an adapter beyond the port, or its inherent limits. */
export interface BusCapabilities {
  readonly partitions: number;
  readonly denseOffsets: boolean;
  /** Whether publishers wait for the slowest subscriber and are finally rejected. */
  readonly backPressure: boolean;
  /** Maximum duration of a redelivery. */
  readonly patienceMs: number;
}

interface BusUnderTest {
  readonly bus: Bus;
  /** Creates a topic, if the adapter requires it. */
  createTopic?(topic: string): Promise<void>;
  /** Lets pauses (e.g. before a redelivery) elapse: advances a manual clock, or waits in real time. */
  pass(ms: number): Promise<void>;
  dispose(): Promise<void>;
}

export interface BusContract {
  readonly capabilities: BusCapabilities;
  /** Returns a new bus. If bounded: a backlog of 100 records or 4 MiB per partition, and 2 s of waiting. */
  readonly create: () => Promise<BusUnderTest>;
}

interface Collected {
  readonly records: BusRecord[];
  /** Number of records at each notification that it had caught up. */
  readonly caughtUpAt: readonly number[];
  readonly subscription: Subscription;
  texts(): string[];
}

/** The bus of the current test, created anew for each, and shared helpers. */
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

  get topic(): string {
    return `contract.${this.#name}.${process.pid}.${this.#serial}`;
  }

  pass(ms: number): Promise<void> {
    return this.#under!.pass(ms);
  }

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
