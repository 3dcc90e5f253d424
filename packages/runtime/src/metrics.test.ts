import { Gauge } from "prom-client";
import { expect, test } from "vitest";
import { createRegistry } from "./metrics.ts";

test("a registry starts empty and shares nothing", async () => {
  expect(await createRegistry().metrics()).toBe("\n");
  expect(createRegistry()).not.toBe(createRegistry());
});

test("process metrics come with the prefix and the labels", async () => {
  const registry = createRegistry({ processMetrics: true, prefix: "probe_", labels: { node: "a" } });
  expect(await registry.metrics()).toMatch(/probe_process_resident_memory_bytes\{node="a"\} \d+/);
});

test("a label's value that a terminal would act on is shown escaped, and is one value still", async () => {
  const registry = createRegistry();
  const gauge = new Gauge({ name: "g", help: "h", labelNames: ["node"], registers: [registry] });
  gauge.set({ node: "a\u001b]0;x\u0007\u202e\n\u009b" }, 1);
  expect(await registry.metrics()).toContain(String.raw`g{node="a\\u{1b}]0;x\\u{7}\\u{202e}\n\\u{9b}"} 1`);
});
