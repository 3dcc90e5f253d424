import type { Decision } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { podJson, requestsOnlySnapshot } from "./testing/graphs.ts";
import { NAMES, running } from "./testing/rig.ts";

describe("a workflow of which only requests are counted", () => {
  const decided = async (
    overrides: Record<string, unknown>,
  ): Promise<{ scores: number[]; decision: Decision }> => {
    const { post, graphs, decisions } = await running(overrides);
    graphs.setWorkflow(requestsOnlySnapshot());
    const { json } = await post("prioritize", { Pod: podJson("p-1", "p"), NodeNames: NAMES });
    const [decision] = await decisions();
    return { scores: json.map((entry: { Score: number }) => entry.Score), decision: decision! };
  };

  test("is placed by its requests, and the decision says which channels and what a request counted as", async () => {
    const { scores, decision } = await decided({});
    expect(scores).toEqual([5, 10, 2]);
    expect(decision.explanation).toContain(
      "Channels whose bytes nobody counts were valued at 2000 bytes per request: p -> q (10 requests/s), r -> p (5 requests/s).",
    );
    // n1: 10 ms x 20,000 B/s + 40 ms x 10,000 B/s.
    expect(decision.candidates.find(({ name }) => name === "n1")!.parts["network"]).toBe(-600_000);
  });

  test("is valued by the setting", async () => {
    const { scores, decision } = await decided({ bytesPerRequest: 100 });
    expect(scores).toEqual([5, 10, 2]);
    expect(decision.explanation.join(" ")).toContain("valued at 100 bytes per request");
    expect(decision.candidates.find(({ name }) => name === "n1")!.parts["network"]).toBe(-30_000);
  });

  test.each([
    [{ mode: "raw" }, "raw mode counts measured bytes only"],
    [{ bytesPerRequest: 0 }, "bytesPerRequest is 0"],
  ])("is placed by resources alone with %j, and the decision says why", async (overrides, reason) => {
    const { decision } = await decided(overrides);
    expect(decision.best).toBe("n1");
    expect(decision.explanation).toContain(
      `The network part is neutral: the traffic of its workload's channels is not known in bytes, and ${reason}.`,
    );
  });
});
