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
