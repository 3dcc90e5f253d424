import { createMemoryBus } from "@isochrone/bus/memory";
import { createRegistry, seededRandom, systemClock } from "@isochrone/runtime";
import { failEachPart, MemoryLogger, mistakesOf } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { createCollector } from "./collector.ts";
import { createConnectionCollector } from "./connections/connection-collector.ts";
import { createPrometheusCollector } from "./prometheus/prometheus-collector.ts";
import { testConfig } from "./testing/collector-tests.ts";

const around = () => ({
  bus: createMemoryBus({ clock: systemClock }),
  clock: systemClock,
  random: seededRandom(1),
  logger: new MemoryLogger(),
  registry: createRegistry(),
});

test("a part of the collector that fails keeps no other from being stopped, and is named", async () => {
  const targets = { targets: () => [] };
  const failures = await failEachPart(() => createCollector(testConfig({}), { ...around(), targets }));
  expect(failures.flatMap(mistakesOf)).toEqual([]);
});

test("nor does one that counts connections", async () => {
  const failures = await failEachPart(() =>
    createConnectionCollector(testConfig({ mode: "connections" }), around()),
  );
  expect(failures.flatMap(mistakesOf)).toEqual([]);
});

test("nor does one of Prometheus mode", async () => {
  const config = testConfig({
    mode: "prometheus",
    prometheusUrl: "http://127.0.0.1:1",
    prometheusTimeoutMs: 300,
  });
  const failures = await failEachPart(() => createPrometheusCollector(config, around()));
  expect(failures.flatMap(mistakesOf)).toEqual([]);
});
