import type { ClusterGraphSnapshot, Health } from "@isochrone/topology";
import { describe, expect, it } from "vitest";
import type { Verdict } from "./finding.ts";
import { judgeFreshness } from "./freshness.ts";

const EMPTY = { version: 1, nodes: [], links: [] } as unknown as ClusterGraphSnapshot;
const FACTS = { why: "", isAssumed: false, server: "http://s" };

describe("points that are in no graph", () => {
  const health = (intake: object): Health =>
    ({
      ready: true,
      reasons: [],
      graphAgeSeconds: 1,
      buildFailures: 0,
      intake: { missing: 0, publisherDropped: 0, tooLate: 0, deadLetters: 0, refused: {}, ...intake },
      replicas: { lag: [] },
      probing: { uncoveredZones: 0 },
    }) as unknown as Health;
  const lookAt = (intake: object, check: string): Verdict =>
    judgeFreshness({ ...FACTS, cluster: EMPTY, health: health(intake) }).find((one) => one.check === check)!;
  const row = (reason: string, points: number) => ({
    reason,
    points,
    example: "a_total",
    remedy: `Do ${reason}.`,
  });

  it("are told by their largest reasons, with what to do", () => {
    const found = lookAt(
      { unusedNow: [row("other_cluster", 40), row("unattributed", 3)] },
      "points of no use",
    );
    expect(found.severity).toBe("warning");
    expect(found.value).toBe("other_cluster 40 (a_total), unattributed 3 (a_total)");
    expect(found.remedy).toContain("other_cluster: Do other_cluster.");
    expect(lookAt({ unusedNow: [] }, "points of no use").severity).toBe("ok");
    expect(lookAt({}, "points of no use").severity).toBe("skipped");
  });

  it("are no loss where nothing reads the metric", () => {
    const found = lookAt({ unusedNow: [row("unknown_metric", 9)] }, "points of no use");
    expect([found.severity, found.value]).toEqual(["info", "unknown_metric 9 (a_total)"]);
  });

  it("names the clusters that telemetry is of", () => {
    const of = (name: string, isOwn: boolean) => ({ name, isOwn, series: 7 });
    expect(lookAt({ clusters: [of("here", true)] }, "clusters")).toMatchObject({
      severity: "ok",
      value: "this one: here (7 series)",
    });
    expect(lookAt({ clusters: [of("here", true), of("there", false)] }, "clusters")).toMatchObject({
      severity: "info",
      value: "this one: here (7 series); others, left out: there (7 series)",
    });
    expect(lookAt({ clusters: [] }, "clusters").value).toBe("this one: not named");
  });
});

describe("links that changed", () => {
  const lookAt = (departures?: Health["departures"]): Verdict => {
    const health = {
      reasons: [],
      graphAgeSeconds: 1,
      intake: { refused: {} },
      replicas: { lag: [] },
      probing: {},
      departures,
    } as unknown as Health;
    return judgeFreshness({ ...FACTS, cluster: EMPTY, health }).find(
      ({ check }) => check === "changed links",
    )!;
  };

  it("are named, and none is no fault", () => {
    const none = { pairs: [], counts: { latency: 0, loss: 0 }, common: [] };
    expect(lookAt(none)).toMatchObject({ severity: "ok", value: "none" });
    expect(lookAt()).toMatchObject({ severity: "skipped" });
    const pair = {
      source: "a",
      target: "b",
      kind: "latency" as const,
      since: "2026-01-01T14:35:00Z",
      now: 60,
      before: 1.3,
      error: 1,
      acceptedAt: "2026-01-01T15:35:00Z",
      workloads: ["shop/web -> shop/db"],
    };
    const found = lookAt({ ...none, pairs: [pair] });
    expect(found.severity).toBe("warning");
    expect(found.value).toMatch(
      /^a <-> b: 60 ms since .+, 1\.3 before; shop\/web -> shop\/db talks over it$/,
    );
  });
});
