import { describe, expect, test } from "vitest";
import { clusterSnapshot, MemoryGraphs, podJson, workflowSnapshot } from "./testing/graphs.ts";
import { configOf, NAMES, running } from "./testing/rig.ts";

const question = { Pod: podJson("p-5d4f-1", "p"), NodeNames: NAMES };

function typedGraphs(): MemoryGraphs {
  const graphs = new MemoryGraphs();
  const snapshot = workflowSnapshot();
  const [out, into] = snapshot.channels;
  graphs.setWorkflow({
    ...snapshot,
    channels: [
      { ...out!, relationshipType: "HTTPRoute" },
      { ...into!, relationshipType: "Pigeon" },
    ],
  });
  return graphs;
}

describe("settings of strategies", () => {
  test.each([
    [{ strategy: "magic" }, /strategy must be one of .* got magic/],
    [
      { strategy: "network-overhead", mode: "raw" },
      /mode of network-overhead must be one of strict, upstream, got raw/,
    ],
    [{ strategy: "resource-network=0,network-overhead=0" }, /must add up to more than 0/],
    [
      { affinityAlpha: 0, affinityBeta: 0, strategy: "communication-affinity" },
      /alpha \+ beta must be above 0/,
    ],
    [
      { channelPriorities: ["A<B"], strategy: "communication-affinity" },
      /must derive A from a type that exists, got B/,
    ],
  ])("%j are refused at start, by rule and value", (settings, message) => {
    expect(() => configOf(settings)).toThrow(message);
  });

  test("reach communication-affinity, with the user's types", async () => {
    const settings = {
      strategy: "communication-affinity",
      mode: "raw",
      affinityAlpha: 1,
      affinityBeta: 0,
      affinityGamma: 2,
      channelPriorities: "Pigeon<AMQPRoute,HTTPRoute=80",
    };
    const { post, decisions } = await running(settings, { graphs: typedGraphs() });
    await post("prioritize", question);
    const [decision] = await decisions();
    expect(decision).toMatchObject({ strategy: "communication-affinity", mode: "raw", best: "n2" });
    expect(decision!.profile).toEqual({
      strategy: "communication-affinity/raw",
      settings: {
        "communication-affinity.alpha": 1,
        "communication-affinity.beta": 0,
        "communication-affinity.gamma": 2,
        "communication-affinity.bytesPerRequest": configOf().bytesPerRequest,
        "communication-affinity.minSpread": configOf().minSpread,
      },
      channelPriorities: "Pigeon<AMQPRoute,HTTPRoute=80",
      usageHeadroom: configOf().usageHeadroom,
    });
    // 80 on n2, 5 on n3; 10, 40 and 25 ms between n1-n2, n1-n3 and n2-n3.
    const raw = Object.fromEntries(decision!.candidates.map(({ name, raw: score }) => [name, score]));
    expect(raw["n1"]).toBeCloseTo(80 / 10 + 5 / 40, 9);
    expect(raw["n2"]).toBeCloseTo(2 * 80 + 5 / 25, 9);
    expect(raw["n3"]).toBeCloseTo(80 / 25 + 2 * 5, 9);
  });

  test("combine strategies, each with settings of its own", async () => {
    const strategy = "resource-network/raw=1,communication-affinity=3,network-overhead=1";
    const { post, decisions } = await running({ strategy, gamma: 1, delta: 0 }, { graphs: typedGraphs() });
    await post("prioritize", question);
    const [decision] = await decisions();
    expect(decision).toMatchObject({ mode: "combined", best: "n2" });
    const parts = Object.keys(decision!.candidates[0]!.parts);
    expect(parts).toContain("communication-affinity.priority");
    expect(parts).toContain("network-overhead.network");
  });

  test("of headroom reject nodes that are full by use, when they say so", async () => {
    const full = clusterSnapshot();
    const graphs = new MemoryGraphs();
    graphs.setCluster({
      ...full,
      nodes: full.nodes.map((node) => (node.name === "n1" ? { ...node, availableCpuMillicores: 499 } : node)),
    });
    const without = await running({}, { graphs });
    expect((await without.post("filter", question)).json).toMatchObject({ NodeNames: NAMES });
    const { post, metrics } = await running({ usageHeadroom: true }, { graphs });
    expect((await post("filter", question)).json).toMatchObject({
      NodeNames: ["n2", "n3"],
      FailedNodes: { n1: "by measured use n1 has 499m CPU left, the pod uses 500m" },
    });
    expect(await metrics()).toContain("isochrone_scheduler_rejected_nodes_total 1");
  });
});
