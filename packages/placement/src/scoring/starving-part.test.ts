import type { Channel } from "@isochrone/topology";
import { expect, test } from "vitest";
import { ResourceNetwork } from "../resource-network/resource-network.ts";
import { channel, links, node, problem, workload } from "../testing/problems.ts";
import type { PodToPlace } from "./problem.ts";

const nodes = ["a1", "b1", "c1"].map((name) => node(name, 2_000, 1e9, { zone: name[0]! }));
const between = links(["a1", "b1", 2], ["a1", "c1", 2], ["b1", "c1", 2]);
const NEAREST: Partial<Channel> = { routing: "nearest", routingScopes: ["zone"] };

/** Three callers in zone a, one in b. Replicas of p in both zones use 400 millicores each. */
function scored(mode: "normalized" | "raw", pod: Partial<PodToPlace>, fields = NEAREST) {
  const use = { cpu: 1, memory: 1 };
  return new ResourceNetwork(mode).score(
    problem(
      nodes,
      between,
      [
        workload("web", use, { w1: "a1", w2: "a1", w3: "a1", w4: "b1" }),
        workload("p", { cpu: 400, memory: 1 }, { p1: "a1", p2: "b1" }),
      ],
      [channel("web", "p", 4_000, fields)],
      { pod: { namespace: "shop", name: "p-9", workload: "p", ...pod } },
    ),
  );
}

const network = (...given: Parameters<typeof scored>): number[] => [...scored(...given).parts["network"]!];
const requests = { cpuMillicores: 500, memoryBytes: null };

test("a node of the zone that starves costs nothing, others what is asked too much there", () => {
  // Zone a demands 600 of 800 millicores, and its replica may use 400. Excess: 10 x 4,000 B/s x 2 ms.
  const lack = (10 * 4_000 * 2 * 200) / 800;
  expect(network("normalized", { requests })).toEqual([0, -lack, -lack]);
  const { sentences } = scored("normalized", { requests }).explanation;
  expect(sentences.join(" ")).toContain("200 millicores more than these may use");
});

test("the limit counts before the request; with room enough, or without both, nothing starves", () => {
  expect(network("normalized", { requests, cpuLimitMillicores: 1_000 })).toEqual([0, 0, 0]);
  expect(network("normalized", {})).toEqual([0, 0, 0]);
});

test("neither the paper's sum nor callers of all replicas, nor those of their own node, know zones that starve", () => {
  expect(network("raw", { requests })).toEqual([0, 0, 0]);
  expect(new Set(network("normalized", { requests }, { routing: "nearest" }))).toEqual(new Set([0]));
  expect(scored("normalized", { requests }, {}).explanation.sentences.join(" ")).not.toContain("zones ask");
});
