import type { KubernetesObject } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { GatedWorkflows } from "./gated-workflows.ts";

const pod = (name: string, workflow: string, uid = name): KubernetesObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "shop", uid, labels: { "isochrone.dev/workflow": workflow } },
});
const gatedPods = (): GatedWorkflows => new GatedWorkflows({ settleMs: 300, maxSettleMs: 2_000 });
const namesOf = (workflow: ReturnType<GatedWorkflows["take"]>): string[] | undefined =>
  workflow?.pods.map(({ identity }) => identity.name);

describe("gated workflows", () => {
  test("a workflow is due when it has been quiet, with all pods that came meanwhile", () => {
    const gated = gatedPods();
    gated.put(pod("a", "flow"), 0);
    gated.put(pod("b", "flow"), 250);
    expect(gated.take(299)).toBeNull();
    expect(gated.take(549)).toBeNull();
    expect(gated.nextDueMs()).toBe(550);
    expect(namesOf(gated.take(550))).toEqual(["a", "b"]);
  });

  test("a workflow whose pods keep coming is due all the same", () => {
    const gated = gatedPods();
    for (let nowMs = 0; nowMs <= 1_900; nowMs += 100) gated.put(pod(`p${nowMs}`, "flow"), nowMs);
    expect(gated.take(1_999)).toBeNull();
    expect(gated.take(2_000)?.pods).toHaveLength(20);
  });

  test("an update of a pod isn't a new one", () => {
    const gated = gatedPods();
    gated.put(pod("a", "flow"), 0);
    gated.put(pod("a", "flow"), 290);
    expect(namesOf(gated.take(300))).toEqual(["a"]);
    expect(gated.waitingSince(0, 300)).toHaveLength(1);
  });

  test("another pod by the same name is one, and has waited since it came", () => {
    const gated = gatedPods();
    gated.put(pod("a", "flow"), 0);
    gated.put(pod("a", "flow", "other"), 200);
    expect(gated.take(400)).toBeNull();
    expect(gated.take(500)?.firstMs).toBe(200);
    expect(gated.pods).toBe(1);
  });

  test("who had no turn for longest is first, whatever the others bring", () => {
    const gated = gatedPods();
    gated.put(pod("a1", "a"), 0);
    gated.put(pod("b1", "b"), 10);
    expect(gated.take(1_000)?.name).toBe("a");
    gated.put(pod("a2", "a"), 1_100);
    expect(gated.take(5_000)?.name).toBe("b");
    expect(gated.take(5_001)?.name).toBe("a");
  });

  test("a workflow that is put off has no turn before, nor a deadline", () => {
    const gated = gatedPods();
    gated.put(pod("a", "flow"), 0);
    gated.putOff("shop/flow", 4_000);
    expect(gated.take(3_999)).toBeNull();
    expect(gated.waitingSince(3_000, 3_999)).toEqual([]);
    expect(gated.take(4_000)?.name).toBe("flow");
    expect(gated.waitingSince(3_000, 4_000)).toHaveLength(1);
  });

  test("a pod that could not be released goes on waiting since when it did", () => {
    const gated = gatedPods();
    gated.put(pod("a", "flow"), 7);
    const [waiting] = gated.take(1_000)!.pods;
    gated.remove("shop/a");
    expect(gated.has("shop/a")).toBe(false);
    gated.putAgain(waiting!, 5_000);
    expect(gated.waitingSince(7, 5_000).map(({ key }) => key)).toEqual(["shop/a"]);
  });

  test("a quiet workflow is searched early once, and again when another pod comes", () => {
    const gated = gatedPods();
    gated.put(pod("a", "flow"), 0);
    gated.put(pod("b", "flow"), 10);
    expect(gated.nextEarlyMs()).toBe(30);
    expect(gated.takeEarly(29)).toBeNull();
    expect(gated.takeEarly(30)).toMatchObject({ name: "flow", dueMs: 310 });
    expect(gated.takeEarly(31)).toBeNull();
    expect(gated.nextEarlyMs()).toBe(Infinity);
    gated.put(pod("a", "flow"), 100);
    expect(gated.takeEarly(150)).toBeNull();
    gated.put(pod("c", "flow"), 150);
    expect(gated.takeEarly(170)?.pods).toHaveLength(3);
    expect(gated.take(449)).toBeNull();
    expect(gated.take(450)?.pods).toHaveLength(3);
  });

  test("a workflow isn't searched early with one pod, when it is due, or while it is put off", () => {
    const gated = gatedPods();
    gated.put(pod("a", "one"), 0);
    expect(gated.takeEarly(100)).toBeNull();
    gated.put(pod("b", "one"), 0);
    gated.putOff("shop/one", 200);
    expect(gated.takeEarly(100)).toBeNull();
    expect(gated.takeEarly(300)).toBeNull();
    expect(gated.take(300)?.name).toBe("one");
  });

  test("a workflow without pods is none", () => {
    const gated = gatedPods();
    gated.put(pod("a", "flow"), 0);
    gated.remove("shop/a");
    gated.remove("shop/a");
    expect(gated.take(10_000)).toBeNull();
    expect(gated.nextDueMs()).toBe(Infinity);
    expect(gated.pods).toBe(0);
  });
});
