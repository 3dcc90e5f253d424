import { KINDS, PLANNER_LEASE, StoreError } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, test } from "vitest";
import { DeschedulerRig, MINUTE } from "../testing/descheduler-rig.ts";
import { KeptMemory } from "./kept-memory.ts";
import { MEMORY_ANNOTATION, MemoryAnnotation } from "./memory-annotation.ts";
import { EMPTY_TERM_MEMORY, MAX_MEMORY_BYTES, memoryText, readMemory } from "./term-memory.ts";
import type { TermMemory } from "./term-memory.ts";

const LEASE = { ...KINDS.lease, namespace: "isochrone", name: PLANNER_LEASE };

async function rigWith(settings: Readonly<Record<string, unknown>>): Promise<DeschedulerRig> {
  const rig = new DeschedulerRig(settings);
  await rig.begin();
  await rig.keepMemory();
  return rig;
}

async function moved(rig: DeschedulerRig): Promise<void> {
  await rig.run();
  const [move] = rig.term.report.inFlight;
  await rig.addPod("web", move!.to);
  await rig.run();
}

describe("what a leader leaves for the next one", () => {
  test("it had stopped itself: the next one stays stopped as long, and begins with the next stop twice as long", async () => {
    const rig = await rigWith({
      judgeAfterMs: MINUTE,
      regretMoves: 1,
      coolDownMs: 0,
      regretPauseMs: 60 * MINUTE,
    });
    await moved(rig);
    rig.farMs = { zb: 50, zc: 50 };
    await rig.clock.advance(MINUTE);
    await rig.run();
    const { stoppedUntil } = rig.term.report;
    expect(stoppedUntil).not.toBeNull();
    rig.replaceLeader();
    rig.farMs = { zb: 5, zc: 50 };
    await rig.clock.advance(30 * MINUTE);
    await rig.run();
    expect(rig.term.report).toMatchObject({ halt: { reason: "regret" }, stoppedUntil });
    expect(await rig.nodesOf("web")).toHaveLength(2);
    await rig.clock.advance(30 * MINUTE);
    await moved(rig);
    rig.farMs = { zb: 50, zc: 50 };
    await rig.clock.advance(MINUTE);
    await rig.run();
    const untilMs = Date.parse(rig.term.report.stoppedUntil!);
    expect(untilMs - rig.clock.now()).toBe(120 * MINUTE);
  });

  test("a leader killed between the move and its measurement: the next one measures, and stops", async () => {
    const rig = await rigWith({ judgeAfterMs: MINUTE, regretMoves: 1 });
    await moved(rig);
    rig.replaceLeader();
    rig.farMs = { zb: 50, zc: 50 };
    await rig.clock.advance(MINUTE);
    await rig.run();
    expect(rig.term.report.stoppedUntil).not.toBeNull();
  });

  test("rounds go on: a move that paid twice is made in the third run, whoever runs it", async () => {
    const rig = await rigWith({ rounds: 3 });
    await rig.run();
    await rig.run();
    rig.replaceLeader();
    await rig.run();
    expect(rig.decisions()).toMatchObject({ "web-1": "move" });
    const forgetful = new DeschedulerRig({ rounds: 3 });
    await forgetful.begin();
    await forgetful.run();
    await forgetful.run();
    forgetful.replaceLeader();
    await forgetful.run();
    expect(forgetful.decisions()).toMatchObject({ "web-1": "rounds" });
  });

  test("a workload doesn't go back for two cool-downs, under another leader neither", async () => {
    const rig = await rigWith({ coolDownMs: 10 * MINUTE, judgeAfterMs: 3 * 60 * MINUTE });
    await moved(rig);
    rig.farMs = { zb: 0.5, zc: 50 };
    rig.replaceLeader();
    await rig.clock.advance(11 * MINUTE);
    await rig.run();
    const targets = (): (string | null)[] => rig.term.report.pods.map(({ target }) => target);
    expect(targets()).not.toContain("b1");
    expect(targets()).toContain("b2");
  });

  test.each([
    [5, true],
    [7, false],
  ])(
    "nor within six of them, where an hour is more: %i minutes later the node is kept from it: %s",
    async (minutes, kept) => {
      const rig = await rigWith({ coolDownMs: MINUTE, judgeAfterMs: 3 * 60 * MINUTE, minPodAgeMs: 0 });
      await moved(rig);
      rig.farMs = { zb: 0.5, zc: 50 };
      await rig.clock.advance(minutes * MINUTE);
      await rig.run();
      const targets = rig.term.report.pods.map(({ target }) => target);
      expect(targets).toContain(kept ? "b2" : "b1");
    },
  );

  test("each move is told as it goes on: evicted, arrived, measured again, also by the next leader", async () => {
    const rig = await rigWith({ judgeAfterMs: MINUTE, coolDownMs: 0 });
    await moved(rig);
    rig.replaceLeader();
    await rig.clock.advance(MINUTE);
    await rig.run();
    const [evicted, arrived, measured] = rig.progress;
    expect(rig.progress.map(({ stage }) => stage).slice(0, 3)).toEqual(["evicted", "arrived", "measured"]);
    expect(evicted).toMatchObject({
      workload: "web",
      pod: "web-1-1",
      from: "b1",
      replacement: null,
      afterMs: null,
    });
    expect(evicted!.worth!.pods).toBe(1);
    expect(evicted!.worth!.gainRatio).toBeGreaterThan(0.5);
    expect(evicted!.beforeMs!).toBeGreaterThan(evicted!.expectedMs!);
    expect(arrived!.replacement!.node).toBe(evicted!.to);
    expect(measured).toMatchObject({ id: evicted!.id, worth: evicted!.worth, afterMs: evicted!.expectedMs });
  });

  test("in dry-run nothing is written, nor without anything new", async () => {
    const dry = await rigWith({ mode: "dry-run" });
    await dry.run();
    expect((await dry.lease()).metadata.annotations).toBeUndefined();
    const rig = await rigWith({ rounds: 2, windows: ["03:00-04:00"] });
    for (let run = 0; run < 3; run++) await rig.run();
    const { resourceVersion } = (await rig.lease()).metadata;
    await rig.run();
    expect((await rig.lease()).metadata.resourceVersion).toBe(resourceVersion);
  });

  test.each(["{", "{}", "null", '{"version":2}', "x".repeat(MAX_MEMORY_BYTES + 1)])(
    "what no leader wrote counts for nothing, and is written over",
    async (text) => {
      const rig = await rigWith({});
      await rig.store.patch(LEASE, { metadata: { annotations: { [MEMORY_ANNOTATION]: text } } });
      await rig.run();
      expect(rig.decisions()).toMatchObject({ "web-1": "move" });
      expect(readMemory((await rig.lease()).metadata.annotations![MEMORY_ANNOTATION]!)).not.toBeNull();
    },
  );

  test("as long as it can't be read there is no run", async () => {
    const broken = {
      read: () => Promise.reject(new StoreError("unavailable", "away")),
      write: () => Promise.resolve(),
      takeResume: () => Promise.resolve(false),
    };
    const kept = new KeptMemory(broken, 3, new MemoryLogger({ clock: new ManualClock(0) }));
    await expect(kept.recall()).rejects.toThrow("away");
    await expect(kept.recall()).rejects.toThrow("away");
  });
});

describe("the memory's text", () => {
  const streak = (index: number, runs: number) => {
    const moves = [{ uid: `uid-${index}`, node: "n".repeat(60) }];
    return [`uid-${index}>`, { workflow: "shop/flow", moves, runs }] as const;
  };
  const regret = {
    judged: [
      { atMs: 1, beforeMs: 5, expectedMs: 1, afterMs: 5, bytesPerSecond: 10 },
      { atMs: 2, workflow: "shop/flow", failure: "its replacement runs on n3" },
    ],
    failedProposals: 1,
    stoppedUntilMs: 99,
    stoppedBy: { reason: "failed_moves" as const, detail: "2 proposals in a row failed" },
    stops: 2,
  };
  const memory: TermMemory = {
    ...EMPTY_TERM_MEMORY,
    regret,
    decision: {
      streaks: new Map(Array.from({ length: 5_000 }, (_, index) => streak(index, index % 9))),
      campaigns: new Map([["shop/flow", { moves: [{ uid: "u", node: "n" }], idleRuns: 1 }]]),
    },
    left: [{ owner: "Deployment shop/web", workflow: "shop/flow", node: "n1", atMs: 7 }],
    open: [{ workflow: "shop/flow", hasFailed: true }],
  };

  test("is bounded, and drops rounds first, those that paid least", () => {
    const text = memoryText(memory, 3);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_MEMORY_BYTES);
    const found = readMemory(text)!;
    expect(found).toMatchObject({ regret, left: memory.left, open: memory.open });
    expect(found.decision.campaigns).toEqual(memory.decision.campaigns);
    const runs = [...found.decision.streaks.values()].map((one) => one.runs);
    expect(runs.length).toBeGreaterThan(100);
    expect(new Set(runs)).toEqual(new Set([3]));
  });

  test("doesn't change when only more rounds have paid than are needed", () => {
    const with1 = (runs: number): string =>
      memoryText(
        { ...EMPTY_TERM_MEMORY, decision: { ...memory.decision, streaks: new Map([streak(1, runs)]) } },
        3,
      );
    expect(with1(3)).toBe(with1(4));
    expect(with1(2)).not.toBe(with1(3));
  });
});

describe("the annotation", () => {
  const leaseWith = async () => {
    const store = createMemoryStore({ clock: new ManualClock(0) });
    const { apiVersion, kind, namespace, name } = LEASE;
    await store.create({ apiVersion, kind, metadata: { namespace, name, annotations: { other: "kept" } } });
    return store;
  };

  test("is written beside what others write at the same time", async () => {
    const store = await leaseWith();
    let beats = 0;
    const busy = new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        if (name !== "jsonPatch") return member.bind(target) as unknown;
        return async (...args: readonly unknown[]) => {
          if (++beats < 3) await target.patch(LEASE, { spec: { holderIdentity: String(beats) } });
          return (await member.apply(target, args)) as unknown;
        };
      },
    });
    const annotation = new MemoryAnnotation(busy, "isochrone");
    expect(await annotation.read()).toBeNull();
    await annotation.write("a");
    expect((await store.get(LEASE))!.metadata.annotations).toEqual({
      other: "kept",
      [MEMORY_ANNOTATION]: "a",
    });
    expect((await store.get(LEASE))!.spec).toEqual({ holderIdentity: "2" });
  });

  test("isn't written over what another leader has written; without the Lease nothing is kept", async () => {
    const store = await leaseWith();
    const [old, next] = [new MemoryAnnotation(store, "isochrone"), new MemoryAnnotation(store, "isochrone")];
    await old.read();
    await next.read();
    await next.write("next");
    await expect(old.write("old")).rejects.toThrow("another leader");
    expect(await next.read()).toBe("next");
    await store.delete(LEASE);
    await next.write("nobody");
    expect(await next.read()).toBeNull();
  });
});
