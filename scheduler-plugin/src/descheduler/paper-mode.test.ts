// Mode paper through a term: the effect of its evictions, and oscillation. Decisions: paper-decision.test.ts.
import { KINDS, readLastMove, readMoveRecords } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { DeschedulerRig, MINUTE } from "../testing/descheduler-rig.ts";

const RAW = { mode: "raw" };

async function rigWith(
  settings: Readonly<Record<string, unknown>>,
  scheduler: Readonly<Record<string, unknown>>,
): Promise<DeschedulerRig> {
  const rig = new DeschedulerRig({ mode: "paper", minGain: 1e15, ...settings }, undefined, {}, scheduler);
  await rig.begin();
  return rig;
}

describe("the descheduler in mode paper", () => {
  test("relies on the scheduler: needs no gate and no planner, and writes no target down", async () => {
    const rig = await rigWith({}, RAW);
    await rig.run();
    // web gains in zone za. The ungated db pod on a2 gains by being nearer to both pods of web.
    expect(await rig.nodesOf("web")).toEqual(["a1"]);
    const owner = (await rig.replicaSet("web"))!;
    expect(readMoveRecords(owner, rig.clock.now())).toEqual([]);
    expect(readLastMove(owner)).toEqual({ atMs: rig.clock.now(), coolDownMs: 15 * MINUTE });
    expect(rig.term.report.halt).toBeNull();
    expect(rig.term.report.pods).toContainEqual(
      expect.objectContaining({
        name: "web-1-1",
        decision: "move",
        detail: expect.stringMatching(
          /^by resource-network\/raw its score is 100\.0 on a[12] and [\d.]+ on b1/,
        ) as string,
      }),
    );
    await rig.addPod("web", "c1");
    await rig.clock.advance(MINUTE);
    await rig.run();
    expect(await rig.metric("isochrone_descheduler_moves_total", '{outcome="elsewhere"}')).toBe(1);
  });

  test("evicts a workload's only replica", async () => {
    const rig = await rigWith({}, RAW);
    for (const [name, pod] of [
      ["web", "web-1-0"],
      ["db", "db-1-2"],
    ] as const) {
      const ref = { ...KINDS.deployment, namespace: "shop", name };
      await rig.store.delete({ ...KINDS.pod, namespace: "shop", name: pod });
      await rig.store.patch(ref, { spec: { replicas: 1 } });
      await rig.store.patch(
        { ...KINDS.replicaSet, namespace: "shop", name: `${name}-1` },
        { spec: { replicas: 1 } },
      );
      const status = { replicas: 1, updatedReplicas: 1, readyReplicas: 1 };
      await rig.store.patch(ref, { status }, { subresource: "status" });
    }
    await rig.run();
    // The first pod examined moves to the other, and the other then stays.
    expect(rig.decisions()).toEqual({ "db-3": "move", "web-1": "no_gain" });
    expect(await rig.nodesOf("db")).toEqual([]);
  });

  // Algorithm 1 by hand for a pod of web, such as that on b1, which uses 4,000 m; memory unknown, alpha =
  // 0.5. rascore: b1 0.5 x (4,000 - 4,000) / 4,000 x 100 = 0; a2, where db uses 100 m, 0.5 x 97.5 = 48.75;
  // b2, c1 and c2 50. nascore, of 250 kB/s with a1 and a2 each: b2 -25,000,000, a2 -250,000. So gamma alone
  // chooses an idle node, and any delta chooses the zone of db.
  test.each([
    [{ gamma: 1, delta: 0 }, /^(b2|c[12])$/],
    [{ gamma: 0.5, delta: 0.5 }, /^a[12]$/],
  ])("decides by the scheduler's own weights: %o", async (weights, target) => {
    const rig = await rigWith({}, { ...RAW, ...weights });
    rig.useOf = { web: 4_000, db: 100 };
    await rig.run();
    const moved = rig.term.report.pods.filter(({ decision }) => decision === "move");
    expect(moved.map(({ name }) => name.slice(0, 3))).toContain("web");
    expect(moved.find(({ name }) => name.startsWith("web"))!.target).toMatch(target);
  });

  test("evicts a pod that uses half of a node in every run: its own node lacks what it uses itself", async () => {
    const rig = await rigWith({ coolDownMs: 0 }, { ...RAW, gamma: 1, delta: 0 });
    rig.useOf = { web: 4_000 };
    let evictions = 0;
    for (let run = 0; run < 6; run++) {
      await rig.run();
      for (const { name, target, decision } of rig.term.report.pods) {
        if (decision !== "move") continue;
        await rig.addPod(name.slice(0, name.indexOf("-")), target!);
        if (name.startsWith("web")) evictions++;
      }
      await rig.clock.advance(11 * MINUTE);
    }
    expect(evictions).toBe(6);
  });
});
