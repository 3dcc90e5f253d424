// Metrics read at scrape, so that measured code only keeps plain numbers.
import { Counter, Gauge, type Registry } from "prom-client";

type Labelled<L extends string> = Iterable<readonly [labels: Readonly<Record<L, string>>, value: number]>;

/** Async for values that take long to compute. */
type Later<T> = T | Promise<T>;

export class ScrapedMetrics {
  readonly #registers: Registry[];

  constructor(registry: Registry) {
    this.#registers = [registry];
  }

  /** @param read null: unknown, shown as NaN */
  gauge(name: string, help: string, read: () => Later<number | null>): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: this.#registers,
      collect: async () => gauge.set((await read()) ?? Number.NaN),
    });
  }

  gauges<L extends string>(
    name: string,
    help: string,
    labelNames: L[],
    read: () => Later<Labelled<L>>,
  ): void {
    const gauge: Gauge<L> = new Gauge({
      name,
      help,
      labelNames,
      registers: this.#registers,
      async collect(): Promise<void> {
        const values = await read();
        gauge.reset();
        for (const [labels, value] of values) gauge.set(labels, value);
      },
    });
  }

  /** @param read a value that never decreases */
  counter(name: string, help: string, read: () => number): void {
    const counter: Counter = new Counter({
      name,
      help,
      registers: this.#registers,
      collect(): void {
        counter.reset();
        counter.inc(read());
      },
    });
  }

  counters<L extends string>(name: string, help: string, labelNames: L[], read: () => Labelled<L>): void {
    const counter: Counter<L> = new Counter({
      name,
      help,
      labelNames,
      registers: this.#registers,
      collect(): void {
        counter.reset();
        for (const [labels, value] of read()) counter.inc(labels, value);
      },
    });
  }
}
