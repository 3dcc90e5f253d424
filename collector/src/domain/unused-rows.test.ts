import * as fc from "fast-check";
import { expect, test } from "vitest";
import { takePage } from "./testing/take-page.ts";
import { TargetMemory } from "./target-memory.ts";

const memory = (): TargetMemory => new TargetMemory({ kind: "cadvisor" });

const POD = 'namespace="shop",pod="web-0"';
const LINES = {
  taken: (i: number) => `container_cpu_usage_seconds_total{${POD},container="c${i}",name="n",id="/x"} 1`,
  unread_metric: (i: number) => `go_goroutines{i="${i}"} 5`,
  not_needed: (i: number) => `container_cpu_usage_seconds_total{id="/system.slice/s${i}"} 1`,
  malformed: (i: number) => `container_cpu_usage_seconds_total{${POD},container="m${i}" 1`,
};
const KINDS = Object.keys(LINES) as (keyof typeof LINES)[];

test("samples of a page are all accounted for", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...KINDS), { maxLength: 60 }), (kinds) => {
      const page = takePage(memory(), kinds.map((kind, i) => `${LINES[kind](i)}\n`).join(""));
      const count = (kind: keyof typeof LINES): number => kinds.filter((each) => each === kind).length;
      expect(page.samples).toBe(count("taken"));
      expect(page.malformed).toBe(count("malformed"));
      expect(page.unused).toEqual({
        unread_metric: count("unread_metric"),
        not_needed: count("not_needed"),
        not_a_value: 0,
        repeated: 0,
      });
    }),
    { numRuns: 50 },
  );
});

test("a row that is there again is counted, also where the page before had it", () => {
  const known = memory();
  for (const times of [1, 3]) {
    const page = takePage(known, `${LINES.taken(0)}\n`.repeat(times));
    expect([page.samples, page.unused.repeated]).toEqual([times, times - 1]);
    expect(page.metrics).toHaveLength(1);
  }
});

test("quantiles, and buckets of what is read as a counter, are no values", () => {
  const istio = new TargetMemory({ kind: "istio" });
  const labels = 'reporter="source",source_workload="web",source_workload_namespace="shop"';
  const page = takePage(
    istio,
    [
      "# TYPE istio_request_bytes summary",
      `istio_request_bytes{${labels},quantile="0.5"} 7`,
      `istio_request_bytes_count{${labels}} 2`,
      `istio_request_bytes_sum{${labels}} 14`,
      "",
    ].join("\n"),
  );
  expect([page.samples, page.unused.not_a_value]).toEqual([2, 1]);
});
