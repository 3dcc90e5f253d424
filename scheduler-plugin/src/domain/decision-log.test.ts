import { seededRandom } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
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

describe("logs of several replicas", () => {
  const pull = (
    to: DecisionLog,
    from: DecisionLog,
    seq: number,
    lives: [to: string, from: string],
  ): number => {
    for (const change of from.changes(seq, lives[0])) to.copy(change, lives[1]);
    return from.seq;
  };

  test.for([1, 2, 3, 4, 5])(
    "hold the same in the end, however full and in whatever order, seed %i",
    (seed) => {
      const random = seededRandom(seed);
      const whole = (below: number): number => Math.floor(random.next() * below);
      const names = ["a", "b", "c"];
      const logs = names.map((name) => new DecisionLog(40, null, name));
      const seqs = new Map<string, number>();
      const exchange = (to: number, from: number): void => {
        if (to === from) return;
        const key = `${to}-${from}`;
        const lives: [string, string] = [names[to]!, names[from]!];
        seqs.set(key, pull(logs[to]!, logs[from]!, seqs.get(key) ?? 0, lives));
      };
      const ids: string[] = [];
      for (let step = 0; step < 400; step++) {
        const at = whole(3);
        const id = `${names[at]}-${step}`;
        const namespace = ["shop", "shop", "shop", "bank", "mill"][whole(5)]!;
        logs[at]!.add(act(id, namespace, `p-${step}`, Math.floor(step / 3)));
        ids.push(id);
        if (whole(10) === 0) exchange(whole(3), whole(3));
        if (whole(8) === 0)
          logs[whole(3)]!.conclude(ids[whole(ids.length)]!, {
            at: new Date(step).toISOString(),
            result: "landed",
            node: `n${step}`,
            reason: null,
          });
      }
      for (let round = 0; round < 3; round++)
        for (let to = 0; to < 3; to++) for (let from = 0; from < 3; from++) exchange(to, from);
      const [first, ...others] = logs.map((log) => log.find({ limit: 1_000 }));
      expect(first).toHaveLength(40);
      expect(new Set(first!.map(({ pod }) => pod.namespace)).size).toBe(3);
      for (const other of others) expect(other).toEqual(first);
    },
  );

  test("send nothing back to where it came from, and nothing twice", () => {
    const [a, b] = [new DecisionLog(10, null, "a"), new DecisionLog(10, null, "b")];
    a.add(act("a-1", "shop", "p-1"));
    const seq = pull(b, a, 0, ["b", "a"]);
    expect(b.changes(0, "a")).toEqual([]);
    expect(a.changes(seq, "b")).toEqual([]);
    expect(b.changes(0, "c").map(({ decision }) => decision.id)).toEqual(["a-1"]);
    b.conclude("a-1", { at: new Date(5).toISOString(), result: "landed", node: "n1", reason: null });
    pull(a, b, 0, ["a", "b"]);
    expect(a.get("a-1")).toMatchObject({ replica: "a", outcome: { result: "landed" } });
  });
});
