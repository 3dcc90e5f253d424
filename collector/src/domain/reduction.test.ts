import { CounterTracks, type Attributes, type Metric } from "@isochrone/telemetry";
import { reduceAttributes } from "@isochrone/telemetry/testing";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TargetMemory } from "./target-memory.ts";
import { SCRAPE_MS, takePage } from "./testing/take-page.ts";

const INTERVAL_MS = 10_000;

interface Row {
  readonly workload: string;
  readonly code: string;
  readonly flags: string;
  readonly value: number;
}

type Page = ReadonlyMap<string, Row>;

const CODES = ["200", "204", "503", "0"] as const;
const FLAGS = ["-", "UF", "UH"] as const;

const step = fc.record({
  workload: fc.constantFrom("a", "b"),
  code: fc.constantFrom(...CODES),
  flags: fc.constantFrom(...FLAGS),
  what: fc.oneof(
    { weight: 5, arbitrary: fc.record({ grow: fc.nat(1000) }) },
    { weight: 1, arbitrary: fc.record({ vanish: fc.constant(true) }) },
    { weight: 1, arbitrary: fc.record({ reset: fc.nat(50) }) },
    { weight: 1, arbitrary: fc.record({ restart: fc.nat(50) }) },
  ),
});

/** Pages whose rows grow, appear, vanish, restart singly, or all restart with the proxy. */
const pages = fc.array(fc.array(step, { maxLength: 6 }), { minLength: 2, maxLength: 15 }).map((rounds) => {
  const rows = new Map<string, Row>();
  return rounds.map((steps): Page => {
    for (const { workload, code, flags, what } of steps) {
      const key = `${workload} ${code} ${flags}`;
      const value = rows.get(key)?.value ?? 0;
      if ("grow" in what) rows.set(key, { workload, code, flags, value: value + what.grow });
      else if ("reset" in what) rows.set(key, { workload, code, flags, value: what.reset });
      else if ("vanish" in what) rows.delete(key);
      else
        for (const [other, row] of rows)
          rows.set(other, { ...row, value: Math.min(row.value, what.restart) });
    }
    return new Map(rows);
  });
});

function textOf(page: Page): string {
  const lines = [...page.values()].map(
    ({ workload, code, flags, value }) =>
      `istio_requests_total{reporter="source",source_workload="web",destination_workload="${workload}",response_code="${code}",response_flags="${flags}"} ${value}`,
  );
  return `# TYPE istio_requests_total counter\n${lines.join("\n")}\nistio_build 1\n`;
}

class Totals {
  readonly #tracks = new CounterTracks();
  readonly #trackOfSeries = new Map<string, number>();
  readonly totals = new Map<string, number>();

  take(metrics: readonly Metric[]): void {
    for (const metric of metrics)
      for (const point of metric.points) {
        const value = "value" in point ? point.value : NaN;
        const track = this.#trackOf(point.attributes);
        const increment = this.#tracks.observe(track, point.startMs ?? 0, point.timeMs, value);
        const key = JSON.stringify(reduceAttributes(metric.name, point.attributes));
        this.totals.set(key, (this.totals.get(key) ?? 0) + (increment?.delta ?? 0));
      }
  }

  #trackOf(attributes: Attributes): number {
    const key = JSON.stringify(attributes);
    let track = this.#trackOfSeries.get(key);
    if (track === undefined) this.#trackOfSeries.set(key, (track = this.#tracks.take()));
    return track;
  }
}

function totalsOf(sequence: readonly Page[], reduce: boolean): Record<string, number> {
  const memory = new TargetMemory({ kind: "istio", reduce });
  const totals = new Totals();
  for (const [round, page] of sequence.entries())
    totals.take(takePage(memory, textOf(page), { scrapeMs: SCRAPE_MS + round * INTERVAL_MS }).metrics);
  return Object.fromEntries(totals.totals);
}

describe("reduction at the source", () => {
  it("gives the same increments as the rows that it sums, whatever they do", () => {
    fc.assert(
      fc.property(pages, (sequence) => {
        expect(totalsOf(sequence, true)).toEqual(totalsOf(sequence, false));
      }),
      { numRuns: 500 },
    );
  });

  it("counts every request once: the sums of a counter that only grows and restarts are its requests", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(...CODES), fc.nat(1000), fc.boolean()), { minLength: 1 }),
        (rounds) => {
          const memory = new TargetMemory({ kind: "istio" });
          const totals = new Totals();
          let counts = new Map<string, number>();
          let requests = 0;
          const scrape = (round: number): void => {
            const rows = [...counts].map(
              ([code, value]) => [code, { workload: "a", code, flags: "-", value }] as const,
            );
            totals.take(
              takePage(memory, textOf(new Map(rows)), { scrapeMs: SCRAPE_MS + round * INTERVAL_MS }).metrics,
            );
          };
          scrape(0);
          for (const [round, [code, count, restart]] of rounds.entries()) {
            // Restart right after a scrape: no counts are lost between pages.
            if (restart) counts = new Map([[code, 0]]);
            counts.set(code, (counts.get(code) ?? 0) + count);
            // A counter that exceeds its old value hides its restart from every reader of the text format.
            requests += count;
            scrape(round + 1);
          }
          const sum = [...totals.totals.values()].reduce((total, value) => total + value, 0);
          const hidden = rounds.some(([, , restart]) => restart);
          expect(hidden ? sum <= requests : sum === requests).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("keeps what vanished rows had counted, so that the sum never falls while one of them goes on", () => {
    const memory = new TargetMemory({ kind: "istio" });
    const rows = (values: Readonly<Record<string, number>>): string =>
      Object.entries(values)
        .map(
          ([flags, value]) => `istio_requests_total{reporter="source",response_flags="${flags}"} ${value}\n`,
        )
        .join("");
    const take = (values: Readonly<Record<string, number>>, round: number): unknown =>
      takePage(memory, rows(values), { scrapeMs: SCRAPE_MS + round * INTERVAL_MS }).metrics[0]!.points.map(
        (point) => [point.startMs ?? 0, "value" in point && point.value],
      )[0];
    expect(take({ a: 5, b: 7 }, 0)).toEqual([0, 12]);
    expect(take({ a: 6 }, 1)).toEqual([0, 13]);
    expect(take({ a: 6, b: 2 }, 2)).toEqual([0, 15]);
    expect(take({ a: 1, b: 3 }, 3)).toEqual([0, 17]);
    expect(take({ a: 0, b: 1 }, 4)).toEqual([SCRAPE_MS + 3 * INTERVAL_MS, 1]);
    expect(take({ c: 4 }, 5)).toEqual([SCRAPE_MS + 4 * INTERVAL_MS, 4]);
  });

  it("believes a page that says when its process began, also when all counters have grown beyond", () => {
    const memory = new TargetMemory({ kind: "istio" });
    const page = (value: number, startedMs: number): string =>
      `istio_requests_total{reporter="source"} ${value}\nprocess_start_time_seconds ${startedMs / 1000}\n`;
    const first = SCRAPE_MS - 60_000;
    takePage(memory, page(5, first));
    const restartedMs = SCRAPE_MS + 4_000;
    const { metrics } = takePage(memory, page(9, restartedMs), { scrapeMs: SCRAPE_MS + INTERVAL_MS });
    expect(metrics[0]!.points).toMatchObject([{ startMs: restartedMs, value: 9 }]);
    // Only the older of two processes on one page counts; it is unchanged.
    const { metrics: merged } = takePage(
      memory,
      `${page(10, restartedMs)}process_start_time_seconds{app="x"} ${(SCRAPE_MS + 15_000) / 1000}\n`,
      { scrapeMs: SCRAPE_MS + 2 * INTERVAL_MS },
    );
    expect(merged[0]!.points).toMatchObject([{ startMs: restartedMs, value: 10 }]);
  });

  it("sums bytes of histograms by their sums and counts", () => {
    const memory = new TargetMemory({ kind: "istio" });
    const page = (factor: number): string =>
      ["a", "b"]
        .map(
          (flags, index) =>
            `istio_request_bytes_sum{reporter="source",response_flags="${flags}"} ${factor * 100 * (index + 1)}\nistio_request_bytes_count{reporter="source",response_flags="${flags}"} ${factor * (index + 1)}\n`,
        )
        .join("");
    takePage(memory, `# TYPE istio_request_bytes histogram\n${page(1)}`);
    const { metrics } = takePage(memory, `# TYPE istio_request_bytes histogram\n${page(2)}`, {
      scrapeMs: SCRAPE_MS + INTERVAL_MS,
    });
    expect(metrics).toMatchObject([
      { name: "istio_request_bytes", points: [{ attributes: { reporter: "source" }, count: 6, sum: 600 }] },
    ]);
  });

  it("never sums across pods: each target has a memory of its own", () => {
    const take = (value: number): unknown =>
      takePage(new TargetMemory({ kind: "istio" }), `istio_requests_total{reporter="source"} ${value}\n`)
        .metrics[0]!.points;
    expect([take(3), take(4)]).toMatchObject([[{ value: 3 }], [{ value: 4 }]]);
  });

  it("reads the buckets of latency as counters, one per bound that is kept, and of failures only all", () => {
    const name = "istio_request_duration_milliseconds";
    const lines = (labels: string, counts: Readonly<Record<string, number>>): string[] => [
      ...Object.entries(counts).map(([le, value]) => `${name}_bucket{${labels},le="${le}"} ${value}`),
      `${name}_sum{${labels}} 1234`,
      `${name}_count{${labels}} 9`,
    ];
    const labels = (code: string, more = ""): string =>
      `reporter="source",destination_workload="w${more}",destination_service_name="db",response_code="${code}"`;
    const counts = { "0.5": 1, "5": 2, "10.0": 4, "2.5e+03": 7, "30000": 8, "+Inf": 9 };
    const text = [
      `# TYPE ${name} histogram`,
      ...lines(labels("200"), counts),
      ...lines(labels("200", "2"), counts),
      ...lines(labels("503"), counts),
      ...lines(labels("200").replace("source", "destination"), counts),
    ].join("\n");
    const { metrics } = takePage(new TargetMemory({ kind: "istio" }), `${text}\n`);
    const base = { reporter: "source", destination_service_name: "db" };
    expect(metrics.map((metric) => [metric.name, metric.kind])).toEqual([[`${name}_bucket`, "sum"]]);
    expect(metrics[0]!.points.map((point) => [point.attributes, "value" in point && point.value])).toEqual([
      [{ ...base, le: "5" }, 4],
      [{ ...base, le: "10" }, 8],
      [{ ...base, le: "2500" }, 14],
      [{ ...base, le: "+Inf" }, 18],
      [{ ...base, response_code: "5xx", le: "+Inf" }, 9],
    ]);
  });

  it("leaves the buckets to the histogram where the whole histogram is asked for", () => {
    const name = "istio_request_duration_milliseconds";
    const text = `# TYPE ${name} histogram
${name}_bucket{reporter="source",le="5"} 2
${name}_bucket{reporter="source",le="+Inf"} 3
${name}_sum{reporter="source"} 20
${name}_count{reporter="source"} 3
`;
    const { metrics } = takePage(new TargetMemory({ kind: "istio", more: [name] }), text);
    expect(metrics).toMatchObject([{ name, kind: "histogram", points: [{ bucketCounts: [2, 1] }] }]);
  });
});
