import type { Publisher } from "@isochrone/bus";
import { createRegistry, systemRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { FLOW_ATTRIBUTES, FLOW_METRICS, MetricsDecoder } from "@isochrone/telemetry";
import { GraphClientError } from "@isochrone/topology/client";
import { expect, onTestFinished, test } from "vitest";
import type { RootQdisc, Way } from "./domain/kernel-state.ts";
import { createNetworkManager } from "./network-manager.ts";
import { createPages } from "./pages.ts";
import { managerConfig } from "./testing/manager-config.ts";
import { MemoryKernel } from "./adapters/memory-kernel.ts";
import { flow, plan } from "./testing/plans.ts";
import { SettablePlans } from "./testing/settable-plans.ts";

const ways = new Map<string, Way>([["10.1.0.2", { device: "eth0", gateway: null, isLocal: false }]]);
const roots = new Map<string, RootQdisc>([["eth0", { owner: "kernel", name: "mq 0:" }]]);

function gone(): GraphClientError {
  const url = "http://aggregator:8080/api/v1/flow-plan/a";
  return new GraphClientError("http_status", url, "answered 404 (there is no node a)", { status: 404 });
}

async function started() {
  const clock = new ManualClock();
  const records: Uint8Array[] = [];
  const bus: Publisher = {
    async publish(topic, published) {
      expect(topic).toBe("isochrone.traffic.v1");
      for (const { value } of published) if (value !== null) records.push(value);
    },
  };
  const kernel = new MemoryKernel({ ways, roots });
  const plans = new SettablePlans(plan({ flows: [flow(1)] }));
  const registry = createRegistry();
  const manager = createNetworkManager(managerConfig({ mode: "shape", holdMs: 60_000 }), {
    bus,
    plans,
    kernel,
    lock: { hold: async () => true, release: async () => undefined },
    clock,
    random: systemRandom,
    logger: new MemoryLogger(),
    registry,
  });
  await manager.start();
  onTestFinished(() => manager.stop());
  return { clock, records, kernel, plans, registry, manager };
}

test("follows its plan within two seconds, and takes it back when nobody confirms it", async () => {
  const { clock, kernel, plans, manager } = await started();
  await clock.advance(1_000);
  expect(kernel.own.marks.size).toBe(1);
  plans.answer = plan({ version: "2", generation: 2, flows: [flow(1), flow(2)] });
  await clock.advance(2_000);
  expect(kernel.own.marks.size).toBe(2);
  expect(manager.report).toMatchObject({ mode: "shape", pending: 0 });
  expect(plans.standing).toMatchObject({ generation: 2 });
  plans.answer = new Error("the aggregator is away");
  await clock.advance(59_000);
  expect(kernel.own.marks.size).toBe(2);
  await clock.advance(3_000);
  expect(kernel.own.marks.size + kernel.own.devices.size).toBe(0);
  expect(plans.standing).toBeNull();
});

test.each([
  ["stay for the next manager", plan({ flows: [flow(1)] }), 1],
  ["stay while nobody answers", new Error("the aggregator is away"), 1],
  ["go with a node that has left the cluster", gone(), 0],
])("rules %s when the manager stops", async (_, answer, left) => {
  const { clock, kernel, plans, manager } = await started();
  await clock.advance(1_000);
  plans.answer = answer;
  await manager.stop();
  expect([kernel.own.marks.size, kernel.own.devices.size]).toEqual([left, left]);
});

test("publishes what flows have sent, and counts them", async () => {
  const { clock, records, registry } = await started();
  await clock.advance(25_000);
  const names = new Set<string>();
  const ignored = (): void => undefined;
  new MetricsDecoder().decode(records[0]!, {
    number: ({ name, attributes }) => void names.add(`${name} ${String(attributes[FLOW_ATTRIBUTES.flow])}`),
    histogram: ignored,
    exponentialHistogram: ignored,
    refused: ignored,
  });
  const [allowed, sent, dropped] = Object.values(FLOW_METRICS).map((name) => `${name} ${flow(1).id}`);
  expect(names).toEqual(new Set([allowed, sent, dropped]));
  expect(await registry.metrics()).toContain('isochrone_network_manager_flows{state="placed"} 1');
});

test("shows its flows to connections from the node alone", async () => {
  const { clock, manager, registry } = await started();
  await clock.advance(1_000);
  const app = await createPages({
    node: "a",
    logger: new MemoryLogger(),
    registry,
    ready: () => ({ ready: true, reasons: [] }),
    status: () => ({ report: manager.report, plan: plan(), planAgeSeconds: 1 }),
  });
  onTestFinished(() => app.close());
  const own = await app.inject({ url: "/api/v1/flows", remoteAddress: "127.0.0.1" });
  expect(own.json()).toMatchObject({
    node: "a",
    mode: "shape",
    plan: { epoch: "one", generation: 1, ageSeconds: 1 },
    flows: [{ id: flow(1).id, device: "eth0", ceilBitsPerSecond: 1e6, sentBytes: 0, unmet: null }],
    devices: [expect.objectContaining({ name: "eth0" })],
  });
  const other = await app.inject({ url: "/api/v1/flows", remoteAddress: "10.0.0.7" });
  expect(other.statusCode).toBe(403);
  expect((await app.inject({ url: "/healthz", remoteAddress: "10.0.0.7" })).statusCode).toBe(200);
});
