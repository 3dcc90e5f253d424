import { clusterColumnsOf, type ClusterGraphSnapshot } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { clusterViewOf } from "../model/cluster-view.ts";
import { cutsOf } from "./cuts.ts";

const NODES = ["a", "b", "c", "d"];

function cutsIn(...cut: readonly string[]): string[] {
  const links = NODES.flatMap((source) =>
    NODES.filter((target) => target !== source).map((target) => {
      const isCut = cut.includes(source + target);
      return {
        source,
        target,
        method: "udp_rr",
        ipFamily: 4,
        rttMs: { p50: isCut ? null : 1, p90: null, p99: null, mean: null, count: isCut ? 0 : 9 },
        lossRatio: isCut ? 1 : 0,
        jitterMs: null,
        costMs: isCut ? null : 1,
        errorMs: null,
        origin: "measured",
        provisional: false,
        ageSeconds: 1,
      };
    }),
  );
  const nodes = NODES.map((name) => ({ name, zone: null, region: null, coordinate: null }));
  const graph = { version: 1, observedAt: "2026-01-01T00:00:00Z", windowSeconds: 30, nodes, links };
  return cutsOf(clusterViewOf(clusterColumnsOf(graph as unknown as ClusterGraphSnapshot)));
}

describe("cuts in words", () => {
  test.each([
    ["nothing", [], []],
    ["one way", ["ab"], ["a → b"]],
    ["both ways", ["ab", "ba", "cd"], ["a ↔ b", "c → d"]],
    ["a node that nobody reaches, and its own pairs no more", ["ad", "bd", "cd", "da", "ab"], ["d", "a → b"]],
  ])("%s", (_, cut, words) => expect(cutsIn(...cut)).toEqual(words));
});
