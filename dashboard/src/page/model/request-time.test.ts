import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { callsPerRequest, requestTime, withMoves } from "./request-time.ts";

type Placed = Pick<WorkflowGraphSnapshot, "workloads" | "channels">;

const DISTANCES: Readonly<Record<string, number>> = { "a b": 10, "b a": 12, "a c": 100, "b c": 90 };
const costBetween = (source: string, target: string): number =>
  source === target ? 0 : (DISTANCES[`${source} ${target}`] ?? Number.NaN);

function workflow(
  nodes: Readonly<Record<string, string>>,
  channels: readonly (readonly [source: string, target: string, requestsPerSecond: number | null])[],
): Placed {
  return {
    workloads: Object.entries(nodes).map(([name, node]) => ({ name, pods: [{ name: `${name}-1`, node }] })),
    channels: channels.map(([source, target, requestsPerSecond]) => ({
      source,
      target,
      requestsPerSecond,
      bytesPerSecond: 1,
    })),
  } as unknown as Placed;
}

describe("network time per request", () => {
  test("is the calls that a request causes, each with its way; the chain is the slowest way through", () => {
    const placed = workflow({ front: "a", cart: "b", ads: "a", store: "c" }, [
      ["front", "cart", 5],
      ["front", "ads", 5],
      ["cart", "store", 2.5],
    ]);
    expect(requestTime(placed, costBetween)).toEqual({ totalMs: 10 + 0 + 45, chainMs: 100, leftOut: 0 });
    expect(callsPerRequest(placed.channels).get("cart\nstore")).toBe(0.5);
  });

  test("of a pod that is elsewhere is that of its new way, and the workflow itself stays as it is", () => {
    const placed = workflow({ front: "a", store: "c" }, [["front", "store", 4]]);
    const moved = withMoves(placed, [{ pod: "store-1", node: "b" }]);
    expect(requestTime(moved, costBetween)).toMatchObject({ totalMs: 10, chainMs: 10 });
    expect(requestTime(placed, costBetween)).toMatchObject({ totalMs: 100 });
  });

  test("leaves out and counts what isn't known, and isn't made up where nothing is", () => {
    const placed = workflow({ front: "a", tcp: "b", lost: "nowhere", cart: "b" }, [
      ["front", "cart", 5],
      ["front", "tcp", null],
      ["front", "lost", 5],
    ]);
    expect(requestTime(placed, costBetween)).toEqual({ totalMs: 10, chainMs: 10, leftOut: 2 });
    expect(requestTime(workflow({ a: "a" }, []), costBetween)).toBeNull();
    expect(requestTime(workflow({ a: "a", b: "b" }, [["a", "b", null]]), costBetween)).toBeNull();
    const circle = workflow({ a: "a", b: "b" }, [
      ["a", "b", 3],
      ["b", "a", 3],
    ]);
    expect(requestTime(circle, costBetween)).toBeNull();
  });

  test("ends in a workflow whose calls go in circles", () => {
    const placed = workflow({ front: "a", x: "b", y: "a" }, [
      ["front", "x", 1],
      ["x", "y", 1],
      ["y", "x", 1],
    ]);
    expect(requestTime(placed, costBetween)?.chainMs).toBe(10 + 12 + 10);
  });

  test("is infinite where pods that call each other can't reach each other", () => {
    const placed = workflow({ front: "a", cart: "b" }, [["front", "cart", 1]]);
    expect(requestTime(placed, () => Number.POSITIVE_INFINITY)?.totalMs).toBe(Number.POSITIVE_INFINITY);
  });
});
