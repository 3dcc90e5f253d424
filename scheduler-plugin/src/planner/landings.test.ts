import type { KubernetesObject } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { Landings } from "./landings.ts";
import type { Arrival } from "./landings.ts";

const FLIGHT = {
  key: "shop/a",
  uid: "u1",
  node: "n1",
  workflow: "shop/flow",
  decision: "d1",
  releasedMs: 100,
};
const pod = (
  fields: {
    node?: string;
    nominated?: string;
    reason?: string;
    message?: string;
    uid?: string;
    phase?: string;
  } = {},
): KubernetesObject => {
  const { node, nominated, reason, message, uid = "u1", phase } = fields;
  const condition = { type: "PodScheduled", status: "False", reason, message };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "shop", name: "a", uid },
    spec: node === undefined ? {} : { nodeName: node },
    status: { nominatedNodeName: nominated, phase, conditions: reason === undefined ? [] : [condition] },
  };
};
const after = (object: KubernetesObject, type = "modified"): Arrival | null => {
  const landings = new Landings();
  landings.add(FLIGHT);
  return landings.take({ type, object });
};

describe("landings", () => {
  test.each([
    ["the planned node", pod({ node: "n1", nominated: "n1" }), "landed", "n1", false],
    ["another node", pod({ node: "n2" }), "elsewhere", "n2", false],
    ["another node, still nominated", pod({ node: "n2", nominated: "n1" }), "elsewhere", "n2", true],
    [
      "no node, still nominated",
      pod({ reason: "Unschedulable", nominated: "n1" }),
      "unschedulable",
      null,
      true,
    ],
    [
      "no node, nominated by preemption",
      pod({ reason: "Unschedulable", nominated: "n3" }),
      "unschedulable",
      null,
      false,
    ],
    ["its end", pod({ phase: "Failed" }), "gone", null, false],
    ["a successor of its name", pod({ uid: "u2" }), "gone", null, false],
  ])("a pod that comes to %s", (_, object, outcome, node, isStillNominated) => {
    expect(after(object)).toMatchObject({ outcome, node, isStillNominated, flight: FLIGHT });
  });

  test("a pod that is nominated, gated or not tried yet is on its way", () => {
    expect(after(pod({ nominated: "n1" }))).toBeNull();
    expect(after(pod({ reason: "SchedulingGated" }))).toBeNull();
    expect(after(pod())).toBeNull();
  });

  test("kube-scheduler's words are kept", () => {
    const object = pod({ reason: "Unschedulable", message: "0/3 nodes are available" });
    expect(after(object)?.message).toBe("0/3 nodes are available");
  });

  test("a deleted pod is gone, and each arrival is told once", () => {
    const landings = new Landings();
    landings.add(FLIGHT);
    expect(landings.take({ type: "deleted", object: pod() })?.outcome).toBe("gone");
    expect(landings.take({ type: "deleted", object: pod() })).toBeNull();
    expect(landings.size).toBe(0);
  });

  test("flights that last too long time out, with their nominations", () => {
    const landings = new Landings();
    landings.add(FLIGHT);
    expect(landings.pending(["shop/a", "shop/b"])).toEqual(["shop/a"]);
    expect(landings.expire(99)).toEqual([]);
    expect(landings.expire(100)).toMatchObject([{ outcome: "timed_out", isStillNominated: true }]);
    expect(landings.has("shop/a")).toBe(false);
  });
});
