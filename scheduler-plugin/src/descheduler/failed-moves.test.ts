// Moves that don't end on their targets, and the limits that hold whatever the graphs say.
import { KINDS, readLastMove, readMoveRecords } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { DeschedulerRig, MINUTE } from "../testing/descheduler-rig.ts";
import { MEMORY_ANNOTATION, RESUME_ANNOTATION } from "./memory-annotation.ts";
import { readMemory } from "./term-memory.ts";

const COOL_DOWN_MS = 5 * MINUTE;

async function rigWith(settings: Readonly<Record<string, unknown>> = {}): Promise<DeschedulerRig> {
  const rig = new DeschedulerRig({
    coolDownMs: COOL_DOWN_MS,
    moveDeadlineMs: 2 * MINUTE,
    judgeAfterMs: MINUTE,
    regretMoves: 100,
    regretPauseMs: 60 * MINUTE,
    ...settings,
  });
  await rig.begin();
  await rig.keepMemory();
  return rig;
}

type Ending = "on_target" | "elsewhere" | "lost";

async function begin(rig: DeschedulerRig): Promise<string> {
  await rig.run();
  const [move] = rig.term.report.inFlight;
  expect(move).toBeDefined();
  return move!.to;
}

async function end(rig: DeschedulerRig, target: string, ending: Ending): Promise<void> {
  if (ending === "lost") await rig.clock.advance(2 * MINUTE + 1);
  else await rig.addPod("web", ending === "on_target" ? target : "b2");
  await rig.run();
  if (ending === "lost") await rig.addPod("web", "b2");
}

const REST_MS = 2 * COOL_DOWN_MS + 20 * MINUTE;

const kept = async (rig: DeschedulerRig) =>
  readMemory((await rig.lease()).metadata.annotations![MEMORY_ANNOTATION]!)!;

describe.each(["elsewhere", "lost"] as const)("a move that ends %s", (ending) => {
  test.each([false, true])(
    "counts as full regret at once, and its workload rests twice as long; the leader changes: %s",
    async (changes) => {
      const rig = await rigWith();
      const target = await begin(rig);
      if (changes) rig.replaceLeader();
      await end(rig, target, ending);
      expect(rig.term.report.regret).toBe(1);
      expect((await kept(rig)).regret).toMatchObject({ failedProposals: 1 });
      const owner = (await rig.replicaSet("web"))!;
      expect(readMoveRecords(owner, rig.clock.now())).toEqual([]);
      expect(readLastMove(owner)!.coolDownMs).toBe(2 * COOL_DOWN_MS);
      if (changes) return;
      expect(await rig.metric("isochrone_descheduler_moves_total", `{outcome="${ending}"}`)).toBe(1);
      expect(await rig.metric("isochrone_descheduler_regret")).toBe(1);
      expect(rig.logger.lines).toContainEqual(
        expect.objectContaining({ level: "warn", event: "a move failed" }),
      );
    },
  );

  test("is counted once, also when its channels are measured again", async () => {
    const rig = await rigWith();
    await end(rig, await begin(rig), ending);
    await rig.clock.advance(5 * MINUTE);
    await rig.run();
    expect((await kept(rig)).regret.judged).toHaveLength(1);
  });

  test.each([false, true])(
    "twice in a row stops everything until the pause is over; the leader changes: %s",
    async (changes) => {
      const rig = await rigWith();
      await end(rig, await begin(rig), ending);
      expect(rig.term.report.stoppedUntil).toBeNull();
      if (changes) rig.replaceLeader();
      await rig.clock.advance(REST_MS);
      await end(rig, await begin(rig), ending);
      if (changes) rig.replaceLeader();
      await rig.clock.advance(REST_MS);
      await rig.run();
      expect(rig.term.report).toMatchObject({
        halt: { reason: "failed_moves", detail: expect.stringContaining("2 proposals in a row failed") },
        stoppedUntil: expect.any(String),
        stoppedBy: expect.stringContaining("shop/web-1-"),
        inFlight: [],
      });
      expect(Object.values(rig.decisions())).toContain("halted");
      await rig.clock.advance(40 * MINUTE);
      await begin(rig);
    },
  );
});

test("a move that reached its target in between begins the count anew", async () => {
  const rig = await rigWith();
  for (const ending of ["elsewhere", "on_target", "elsewhere"] as const) {
    await end(rig, await begin(rig), ending);
    // The pod on its target would stay, so the far zone changes.
    if (ending === "on_target") await rig.addPod("web", "b1");
    await rig.clock.advance(REST_MS);
  }
  expect(rig.term.report.stoppedUntil).toBeNull();
  expect((await kept(rig)).regret).toMatchObject({ failedProposals: 1 });
});

test.each([false, true])(
  "people resume a stopped descheduler by an annotation of its Lease; the leader changes: %s",
  async (changes) => {
    const rig = await rigWith();
    await end(rig, await begin(rig), "elsewhere");
    await rig.clock.advance(REST_MS);
    await end(rig, await begin(rig), "elsewhere");
    expect(rig.term.report.stoppedUntil).not.toBeNull();
    await rig.clock.advance(REST_MS);
    if (changes) rig.replaceLeader();
    const { namespace, name } = (await rig.lease()).metadata;
    await rig.store.patch(
      { ...KINDS.lease, namespace: namespace!, name },
      { metadata: { annotations: { [RESUME_ANNOTATION]: "true" } } },
    );
    await begin(rig);
    expect(rig.term.report).toMatchObject({ stoppedUntil: null, stoppedBy: null });
    expect((await rig.lease()).metadata.annotations).not.toHaveProperty(RESUME_ANNOTATION);
  },
);

describe("a pod that was moved with success", () => {
  test.each([false, true])(
    "isn't moved for the same fault again, but for a new one; the leader changes: %s",
    async (changes) => {
      const rig = await rigWith({ minPodAgeMs: 0 });
      const target = await begin(rig);
      await end(rig, target, "on_target");
      await rig.clock.advance(MINUTE);
      // Measured while zc is 5 ms away. Afterwards other nodes become nearer.
      await rig.run();
      if (changes) rig.replaceLeader();
      rig.farMs = { zb: 0.5, zc: 5 };
      await rig.clock.advance(COOL_DOWN_MS - MINUTE / 2);
      await rig.run();
      expect(Object.values(rig.decisions())).toContain("settled");
      expect(rig.term.report.inFlight).toEqual([]);
      rig.farMs = { zb: 0.5, zc: 7 };
      await begin(rig);
    },
  );

  test("may move for any reason after a while", async () => {
    const rig = await rigWith({ minPodAgeMs: 0 });
    await end(rig, await begin(rig), "on_target");
    await rig.clock.advance(MINUTE);
    await rig.run();
    rig.farMs = { zb: 0.5, zc: 5 };
    await rig.clock.advance(6 * COOL_DOWN_MS + MINUTE);
    expect(await begin(rig)).toMatch(/^b/);
  });
});

describe("the budget per hour", () => {
  // A tenth of the pods per workload, and at least one.
  test.each([false, true])("holds under all leaders; the leader changes: %s", async (changes) => {
    const rig = await rigWith({ maxEvictionsPerHour: 10, coolDownMs: 0, judgeAfterMs: 24 * 60 * MINUTE });
    await end(rig, await begin(rig), "on_target");
    await rig.addPod("web", "b1");
    await rig.clock.advance(30 * MINUTE);
    if (changes) rig.replaceLeader();
    await rig.run();
    expect(Object.values(rig.decisions())).toContain("max_per_hour");
    expect(rig.term.report.inFlight).toEqual([]);
    await rig.clock.advance(31 * MINUTE);
    await begin(rig);
  });
});
