import { loadSettings } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import { aggregatorSettings, costMethodsOf } from "./settings.ts";

const load = (aggregator: Record<string, unknown>) =>
  loadSettings([aggregatorSettings], { env: {}, file: { aggregator } }).aggregator;

describe("aggregator settings", () => {
  test("the defaults fit each other", () => {
    expect(load({})).toMatchObject({
      port: 8080,
      windowMs: 300_000,
      paneMs: 10_000,
      fastPanes: 3,
      probeFullMeshLimit: 32,
      decisionsUrl: null,
    });
    expect(costMethodsOf(load({}))).toEqual(["udp_rr", "tcp_rr", "icmp", "tcp_connect"]);
  });

  test("the embedded windows are allowed", () => {
    expect(load({ windowMs: "30s", paneMs: 2_000, buildIntervalMs: "1s" }).windowMs).toBe(30_000);
  });

  test.each([
    [{ windowMs: 25_000, paneMs: 10_000 }, "windowMs must be a multiple of its panes' length (10000)"],
    [{ costMethods: ["udp_rr", "sctp"] }, "must name only icmp, udp_rr, tcp_rr, tcp_connect, got sctp"],
    [{ costMethods: ["icmp", "icmp"] }, "none twice"],
  ])("%j is refused", (settings, message) => {
    expect(() => load(settings)).toThrow(message);
  });
});
