import {
  AGENT_FAMILIES,
  endLabels,
  type ByteFamily,
  type ByteReporter,
  type Series,
} from "@isochrone/telemetry";
import type { PointTime } from "../point-time.ts";
import type { IngestCounts } from "./ingest-counts.ts";
import type { Sink } from "./sink.ts";

const MAX_FACTORS = 100_000;

const WHOLE = (): number => 1;

export class ByteMemory {
  readonly #ends: () => IngestCounts["connectionBytes"];
  readonly #factors = new Map<string, number>();

  /** @param ends totals of bytes that both ends' nodes should count equally */
  constructor(ends: () => IngestCounts["connectionBytes"]) {
    this.#ends = ends;
  }

  compare(reporter: ByteReporter, bytes: number): void {
    this.#ends()[reporter === "conntrack_client" ? "client" : "server"] += bytes;
  }

  /** Stores the sampling factor for other series with the same ends. */
  samplingSink(series: Series): Sink {
    const rule = AGENT_FAMILIES.find(({ sampling }) => sampling?.family === series.name);
    const key = rule === undefined ? series.name : keyOf(rule, series);
    return {
      live: true,
      unused: null,
      number: (_point: PointTime, value: number) => {
        const factor = factorFrom(value);
        if (factor === null) return;
        this.#factors.delete(key);
        this.#factors.set(key, factor);
        if (this.#factors.size > MAX_FACTORS) this.#factors.delete(this.#factors.keys().next().value!);
      },
    };
  }

  /** Bytes per counted byte, from the row or from a series with the same ends; null: unknown. */
  factorOf(rule: ByteFamily, series: Series): () => number | null {
    const { sampling } = rule;
    if (sampling === undefined) return WHOLE;
    const own = factorFrom(Number(series.attributes[sampling.label] ?? NaN));
    if (own !== null) return () => own;
    const key = keyOf(rule, series);
    return () => this.#factors.get(key) ?? null;
  }
}

/** 0 and 1 both mean every packet (`sampling` of NetObserv's FlowCollector). */
function factorFrom(value: number): number | null {
  return value >= 0 && value < Infinity ? Math.max(1, value) : null;
}

function keyOf({ sampling, source, target }: ByteFamily, { attributes }: Series): string {
  const labels = [...endLabels(source), ...endLabels(target)];
  return [sampling?.family, ...labels.map((label) => String(attributes[label] ?? ""))].join("\n");
}
