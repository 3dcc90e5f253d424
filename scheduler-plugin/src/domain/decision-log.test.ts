import { expect, test } from "vitest";
import { DecisionLog } from "./decision-log.ts";
import type { LoggedAct } from "./decision-log.ts";

const act = (id: string, namespace: string, name: string, atMs = 0): LoggedAct => ({
  id,
  kind: "plan",
  pod: { namespace, name, uid: "" },
  show: () => ({
    at: new Date(atMs).toISOString(),
    workflow: null,
    workload: null,
    strategy: "joint-plan",
    mode: "normalized",
    inputs: {
      clusterVersion: null,
      clusterAgeSeconds: null,
      workflowVersion: null,
      workflowAgeSeconds: null,
    },
    explanation: [],
    best: null,
    candidates: [],
  }),
});

test("decisions about a tenant's 10,000 pods push none of another namespace out of the history", () => {
  const log = new DecisionLog(500);
  for (let index = 0; index < 200; index++) log.add(act(`shop-${index}`, "shop", `p-${index}`, index));
  for (let index = 0; index < 10_000; index++)
    log.add(act(`evil-${index}`, "evil", `x-${index}`, 200 + index));
  expect(log.find({ namespace: "shop", limit: 1_000 })).toHaveLength(200);
  expect(log.find({ limit: 1_000 })).toHaveLength(500);
  expect(log.find({ limit: 1 })[0]!.id).toBe("evil-9999");
});

test("an outcome is kept as long as its decision, and no longer", () => {
  const log = new DecisionLog(2);
  log.add(act("a", "shop", "p-1"));
  log.conclude("a", {
    node: "n1",
    result: "followed",
    reason: null,
    at: "2026-01-01T00:00:00.000Z",
  });
  expect(log.get("a")?.outcome).toMatchObject({ node: "n1" });
  for (const id of ["b", "c"]) log.add(act(id, "shop", `p-${id}`));
  expect(log.get("a")).toBeUndefined();
  log.add(act("a", "shop", "p-1"));
  expect(log.get("a")?.outcome).toBeUndefined();
});

test("a pod's place is kept as long as a decision about it, and no longer", () => {
  const log = new DecisionLog(2);
  const pod = { namespace: "shop", name: "p-1", uid: "" };
  const first = act("a", "shop", "p-1");
  log.add(first);
  log.add(act("b", "shop", "p-1"));
  log.bound(pod, "n1", 7);
  expect(log.placeOf(first)).toEqual({ state: "bound", node: "n1", atMs: 7 });
  log.add(act("c", "shop", "p-2"));
  log.gone(pod);
  expect(log.placeOf(first)).toEqual({ state: "gone", node: "n1", atMs: 7 });
  log.add(act("d", "shop", "p-3"));
  expect(log.placeOf(first)).toEqual({ state: "pending", node: null, atMs: null });
  log.bound(pod, "n2", 8);
  expect(log.placeOf(first).node).toBeNull();
});
