// Spreading and scaling follow the order of the experiment `hot-site`.
import type { TrafficSnapshot } from "@isochrone/topology";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EmbeddedSystem } from "../harness/embedded.ts";

interface Act {
  readonly requests: number;
  readonly inTimeRatio: number;
  readonly zones: Readonly<
    Record<"east" | "north" | "west", { readonly inTimeRatio: number; readonly replicas: number }>
  >;
}

describe("the embedded cluster of a hot site", { timeout: 240_000 }, () => {
  let system: EmbeddedSystem;
  let acts: Readonly<Record<"dispatcher" | "hints" | "near", Act>>;

  beforeAll(async () => {
    system = await EmbeddedSystem.start("--hot-site", "west");
    acts = (await system.event("verdict", 400_000))["acts"] as typeof acts;
  }, 700_000);

  afterAll(async () => {
    await system?.stop();
  });

  it("PreferSameZone with an autoscaler drowns the zone, and looks away", () => {
    expect(acts.near.inTimeRatio).toBeLessThan(0.65);
    expect(acts.near.zones.west.inTimeRatio).toBeLessThan(acts.near.zones.east.inTimeRatio);
    expect(acts.near.requests).toBeGreaterThan(200);
  });

  it("hints and replicas by forecast have more in time, and so has the dispatcher", () => {
    expect(acts.hints.inTimeRatio).toBeGreaterThan(acts.near.inTimeRatio + 0.2);
    expect(acts.dispatcher.inTimeRatio).toBeGreaterThan(acts.near.inTimeRatio + 0.2);
    // The dispatcher is ahead, by less than a busy machine takes from either.
    expect(acts.dispatcher.inTimeRatio).toBeGreaterThan(acts.hints.inTimeRatio - 0.15);
  });

  it("replicas come where the requests are", () => {
    for (const { zones } of [acts.hints, acts.dispatcher])
      expect(zones.west.replicas).toBeGreaterThan(zones.east.replicas);
  });

  it("the traffic API and the command tell of it", async () => {
    const { services, dispatch } = await system.get<TrafficSnapshot>("page", "/api/v1/traffic");
    expect(dispatch.isOn).toBe(true);
    const api = services.find(({ name }) => name === "api")!;
    expect(api.deadlineMs).toBe(800);
    expect(
      api.zones.filter(({ requestsPerSecond }) => requestsPerSecond > 0).map(({ zone }) => zone),
    ).toEqual(["east", "north", "west"]);
    expect(await system.cli("dispatch", "status", "--server", system.urls.page)).toMatch(/^default\/api /m);
  });
});
