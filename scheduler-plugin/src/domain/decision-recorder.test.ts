import { createStrategy } from "@isochrone/placement";
import { describe, expect, test } from "vitest";
import { MemoryGraphs, podJson } from "../testing/graphs.ts";
import { DecisionLog } from "./decision-log.ts";
import { DecisionRecorder } from "./decision-recorder.ts";
import type { Standing } from "./decision-recorder.ts";
import { Ledger } from "./ledger.ts";
import { Placer } from "./placer.ts";
import { identifyPod } from "./pod.ts";
import type { PodIdentity } from "./pod.ts";

const NAMES = ["n1", "n2", "n3"];

function rig() {
  const graphs = new MemoryGraphs();
  const ledger = new Ledger(5_000);
  const decisions = new DecisionLog(5_000);
  const shown = new Map<string, Standing>();
  const dropped: string[] = [];
  const recorder = new DecisionRecorder({
    graphs,
    ledger,
    decisions,
    standingOf: (pod) => shown.get(pod.name) ?? { kind: "unseen" },
    onUnrecorded: (reason) => dropped.push(reason),
  });
  let last = 0;
  const strategy = createStrategy({ strategy: "resource-network" });
  const placer = new Placer({ graphs, strategy, ledger, recorder, newId: () => String(++last) });
  const nowMs = Date.parse("2026-01-01T00:00:10.000Z");
  const ask = (name: string, monotonicMs = 0, pod: object = podJson(name, "p", `uid-of-${name}`)): void =>
    void placer.prioritize({ pod, nodeNames: NAMES, nodes: null }, { nowMs, monotonicMs });
  const identity = (name: string): PodIdentity => identifyPod(podJson(name, "p", `uid-of-${name}`));
  const logged = (): string[] => decisions.find({ limit: 5_000 }).map(({ pod }) => pod.name);
  return { ledger, recorder, shown, dropped, ask, identity, logged };
}

describe("a decision about a pod that the cluster doesn't show yet", () => {
  test("counts for nobody until it does, and from then on", () => {
    const { ledger, recorder, ask, identity, logged } = rig();
    ask("p-1");
    expect([ledger.size, logged()]).toEqual([0, []]);
    recorder.shown(identity("p-1"), true);
    expect([ledger.size, logged()]).toEqual([1, ["p-1"]]);
    expect(ledger.assumed("shop", "flow")).toMatchObject([{ name: "p-1" }]);
  });

  test("is logged and reserves nothing when the cluster shows the pod with a node already", () => {
    const { ledger, recorder, ask, identity, logged } = rig();
    ask("p-1");
    recorder.shown(identity("p-1"), false);
    expect([ledger.size, logged()]).toEqual([0, ["p-1"]]);
  });

  test("isn't kept for a pod of that name with another UID", () => {
    const { ledger, recorder, ask, identity, logged } = rig();
    ask("p-1");
    recorder.shown({ ...identity("p-1"), uid: "another" }, true);
    expect([ledger.size, logged()]).toEqual([0, []]);
  });

  test("is dropped after 5 s, and counted", () => {
    const { ledger, recorder, ask, identity, dropped } = rig();
    ask("p-1");
    recorder.expire(4_999);
    expect(dropped).toEqual([]);
    recorder.expire(5_000);
    expect(dropped).toEqual(["unconfirmed"]);
    recorder.shown(identity("p-1"), true);
    expect(ledger.size).toBe(0);
  });

  test("counts for 5 s from when it was made, not from when the pod was seen", () => {
    const { ledger, recorder, ask, identity } = rig();
    ask("p-1", 1_000);
    recorder.shown(identity("p-1"), true);
    ledger.expire(5_999);
    expect(ledger.size).toBe(1);
    ledger.expire(6_000);
    expect(ledger.size).toBe(0);
  });

  test("is one of at most 1,000: the rest is dropped, and counted", () => {
    const { ask, dropped } = rig();
    for (let index = 0; index < 3_000; index++) ask(`q-${index}`);
    expect(dropped).toEqual(Array.from({ length: 2_000 }, () => "crowded"));
  });
});

test("a decision about a pod that has a node is answered, and neither logged nor reserved", () => {
  const { ledger, shown, ask, logged, dropped } = rig();
  shown.set("p-1", { kind: "settled" });
  ask("p-1");
  expect([ledger.size, logged(), dropped]).toEqual([0, [], ["settled"]]);
});

test("a pending pod's place is what the cluster says of it, whatever labels the question has", () => {
  const { ledger, shown, ask, identity } = rig();
  shown.set("p-1", { kind: "pending", identity: { ...identity("p-1"), workflow: "own", namespace: "shop" } });
  ask("p-1");
  expect(ledger.assumed("shop", "flow")).toEqual([]);
  expect(ledger.assumed("shop", "own")).toMatchObject([{ name: "p-1" }]);
});
