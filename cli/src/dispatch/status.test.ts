import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TrafficSnapshot } from "@isochrone/topology";
import { expect, onTestFinished, test } from "vitest";
import { statusCommand } from "../commands/dispatch.ts";

const zone = {
  requestsPerSecond: 30,
  inTimeRatio: 0.5,
  p50Ms: 5,
  endpoints: 2,
  loadRatio: 0.75,
  advisedLoadRatio: 0.75,
};

const SNAPSHOT: TrafficSnapshot = {
  observedAt: "2026-01-01T00:00:00.000Z",
  windowSeconds: 300,
  dispatch: { isOn: true, message: null },
  services: [
    {
      namespace: "shop",
      name: "db",
      lever: "hints",
      state: "refused",
      message: "EndpointSlice db-1 has no hints",
      deadlineMs: 100,
      capacityPerSecond: 20,
      abovePerSecond: 0,
      zones: [
        { ...zone, zone: "west", now: { west: 0.5, east: 0.5 }, advised: { west: 1 } },
        { ...zone, zone: "east", now: { east: 1 }, advised: { east: 1 }, proposedEndpoints: 3 },
      ],
    },
  ],
};

async function printed(snapshot: object, output: "table" | "json"): Promise<string> {
  const server = createServer((request, response) => {
    const isIt = request.url === "/api/v1/traffic";
    response.writeHead(isIt ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(snapshot));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
  });
  const lines: string[] = [];
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await statusCommand({ server: url, output }, (text) => lines.push(text));
  return lines.join("\n");
}

test("a Service has one line, and what is wrong with it another", async () => {
  const text = await printed(SNAPSHOT, "table");
  expect(text).toMatch(/^shop\/db +hints +refused +60 +50 % +25 % +0 % +20$/m);
  expect(text).toContain("shop/db: EndpointSlice db-1 has no hints");
});

test("programs get figures", async () => {
  const { services } = JSON.parse(await printed(SNAPSHOT, "json"));
  expect(services).toEqual([
    {
      service: "shop/db",
      lever: "hints",
      state: "refused",
      requestsPerSecond: 60,
      inTimeRatio: 0.5,
      spillRatio: 0.25,
      advisedSpillRatio: 0,
      headroomPerSecond: 20,
      proposedEndpoints: 3,
      message: "EndpointSlice db-1 has no hints",
    },
  ]);
});

test("where nobody spreads requests the reason stands above", async () => {
  const off = { ...SNAPSHOT, services: [], dispatch: { isOn: false, message: "dispatch.levers is empty" } };
  expect(await printed(off, "table")).toBe(
    "no requests are spread: dispatch.levers is empty\nno requests to Services are counted",
  );
});

test("an answer that can't be is refused with its place", async () => {
  const [service] = SNAPSHOT.services;
  const broken = { ...SNAPSHOT, services: [{ ...service, capacityPerSecond: -1 }] };
  await expect(printed(broken, "table")).rejects.toThrow(/services.*capacityPerSecond/);
});
