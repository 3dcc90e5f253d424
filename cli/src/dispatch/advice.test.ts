import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { links, node } from "@isochrone/placement/testing";
import type { Demand } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { adviceText, dispatchAdvice } from "./advice.ts";

const AT = "2026-01-01T00:00:00.000Z";
const GRAPH = {
  version: 1,
  observedAt: AT,
  windowSeconds: 300,
  nodes: ["west", "east"].map((zone) => node(`n-${zone}`, 1000, 1e9, { zone, region: "r" })),
  links: links(["n-west", "n-east", 10]),
};

function service(annotations: Record<string, string> = {}, port: object = { port: 80 }): KubernetesObject {
  return {
    ...KINDS.service,
    metadata: { namespace: "shop", name: "db", annotations },
    spec: { clusterIP: "10.0.0.1", ports: [port] },
  };
}

function slice(zones: readonly string[], hints: readonly string[] = []): KubernetesObject {
  return {
    ...KINDS.endpointSlice,
    metadata: {
      namespace: "shop",
      name: "db-1",
      labels: {
        "kubernetes.io/service-name": "db",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
      },
    },
    addressType: "IPv4",
    endpoints: zones.map((zone, i) => ({
      addresses: [`10.1.0.${i}`],
      zone,
      ...(hints[i] === undefined ? {} : { hints: { forZones: [{ name: hints[i] }] } }),
    })),
  };
}

function demand(rates: Readonly<Record<string, number>>): Demand {
  const zones = Object.entries(rates).map(([zone, requestsPerSecond]) => ({
    zone,
    requestsPerSecond,
    errorRatio: 0,
    inTimeRatio: 0.75,
    latencyMs: { p50: 5, p90: 9, p99: 12 },
    ageSeconds: 1,
  }));
  const services = [{ namespace: "shop", name: "db", deadlineMs: 100, zones }];
  return { version: 1, observedAt: AT, windowSeconds: 300, services };
}

const SIX = slice(["west", "west", "west", "east", "east", "east"]);

describe("advice", () => {
  test("says where requests go, where they should, and how near hints come", () => {
    const found = dispatchAdvice({
      service: service(),
      slices: [SIX],
      graph: GRAPH,
      demand: demand({ west: 90, east: 30 }),
    });
    expect(found).toMatchObject({ service: "shop/db", dispatch: null, refused: null, notes: [] });
    expect(found.capacityPerSecond).toBeCloseTo(25, 6);
    const [east, west] = found.zones;
    expect(east).toMatchObject({ zone: "east", now: { east: 0.5, west: 0.5 }, advised: { east: 1 } });
    expect(west).toMatchObject({ endpoints: 3, loadRatio: 1, inTimeRatio: 0.75, p50Ms: 5 });
    expect(west!.advised).toEqual({ west: 0.833, east: 0.167 });
    expect(west!.byHints).toEqual({ west: 0.75, east: 0.25 });
    expect(adviceText(found)).toMatch(/^west +90 +75 % +3 +100 % +.*west 83 %, east 17 %/m);
  });

  test("knows the hints that stand", () => {
    const hinted = slice(["west", "east"], ["west", "east"]);
    const found = dispatchAdvice({
      service: service({ "isochrone.dev/dispatch": "hints" }),
      slices: [hinted],
      graph: GRAPH,
      demand: demand({ west: 60, east: 60 }),
    });
    expect(found.dispatch).toBe("hints");
    expect(found.zones.map(({ now }) => now)).toEqual([{ east: 1 }, { west: 1 }]);
    expect(found.notes).toEqual([
      expect.stringContaining("zone west has 1"),
      expect.stringContaining("zone east"),
    ]);
  });

  test("says what is above all capacity, and which connections are long", () => {
    const found = dispatchAdvice({
      service: service({ "isochrone.dev/capacity": "10" }, { port: 50051, name: "grpc-api" }),
      slices: [SIX],
      graph: GRAPH,
      demand: demand({ west: 95, east: 0 }),
    });
    expect(found.abovePerSecond).toBeCloseTo(35, 6);
    expect(found.notes).toEqual([
      "35 requests/s are above all capacity: add 4 endpoints",
      "port 50051 (grpc-api) keeps its connections: hints reach new connections only",
    ]);
  });

  test("says why there is none", () => {
    const none = dispatchAdvice({ service: service(), slices: [SIX], graph: GRAPH, demand: demand({}) });
    expect(none.refused).toMatchObject({ reason: "no_requests" });
    expect(adviceText(none)).toBe(
      "shop/db (not annotated): no advice, no_requests: no request of a known zone was counted",
    );
  });
});
