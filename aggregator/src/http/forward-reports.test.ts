import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { NODES, ReplicaWorld, type TestReplica } from "../testing/elected-replica.ts";
import { ReportRelay } from "./forward-reports.ts";
import { LeaderForward } from "./forward.ts";

let world: ReplicaWorld;

beforeEach(async () => {
  world = new ReplicaWorld();
  await world.fill();
});

afterEach(() => world.stop());

describe("key reports of several replicas", () => {
  const keysOf = async (): Promise<string> => {
    const { set } = await world.keyStore.read();
    return `${set!.keys.map(({ id }) => id).join()};signing=${set!.signingKeyId}`;
  };
  /** Each probe always asks the same replica, as with keep-alive, and holds the store's keys. */
  const reportAll = async (among: readonly TestReplica[]): Promise<void> => {
    for (const [index, node] of NODES.entries()) {
      const { status } = await among[index % among.length]!.askPlan(node, await keysOf());
      expect(status).toBe(200);
    }
    await world.clock.advance(1_000);
    // A request under way may arrive in the next round.
    for (let turn = 0; turn < 20 && among.some(({ relay }) => relay.waiting > 0); turn++) await sleep(2);
  };

  test("reach the leader from every replica: keys are replaced, with every probe's word for it", async () => {
    const all = await world.joinThree();
    const before = await keysOf();
    for (let round = 0; round < 100 && (await keysOf()) !== "2;signing=2"; round++) {
      await reportAll(all);
    }
    expect(before).toBe("1;signing=1");
    expect(await keysOf()).toBe("2;signing=2");
    expect(world.logger.events("warn").filter((event) => event.includes("continuing without"))).toEqual([]);
  });

  test("plans go on while nobody leads, and another leader ends what the former one began", async () => {
    const [a, b, c] = await world.joinThree();
    let round = 0;
    for (; (await keysOf()) === "1;signing=1"; round++) await reportAll([a, b, c]);
    // A second key is published, and not all probes have it.
    expect(await keysOf()).toMatch(/^1,2;signing=/);
    await a.kill();
    for (; (await keysOf()) !== "2;signing=2" && round < 200; round++) await reportAll([b, c]);
    expect(await keysOf()).toBe("2;signing=2");
    expect(world.logger.events("warn").filter((event) => event.includes("continuing without"))).toEqual([]);
  });

  test("wait in bounds while there is no leader, the newest of each node", async () => {
    const { clock, logger } = world;
    const leadership = { isLeader: () => false, holder: () => null };
    const forward = new LeaderForward({ leadership, replica: "r", clock });
    const relay = new ReportRelay({ forward, clock, logger, maxNodes: 2, maxAgeMs: 10_000 });
    await relay.start();
    for (const node of ["x", "y", "x", "z"]) relay.offer(node, { heldKeyIds: [1], signingKeyId: 1 });
    expect([relay.waiting, relay.dropped]).toEqual([2, 1]);
    await clock.advance(9_000);
    expect(relay.waiting).toBe(2);
    await clock.advance(1_000);
    expect([relay.waiting, relay.dropped]).toEqual([0, 3]);
    await relay.stop();
  });

  test("what is no report, or of no node, is left out, the rest is taken", async () => {
    const [a, b] = await world.joinThree();
    const reports = [
      { node: "n0", keys: "no;report" },
      { node: "elsewhere", keys: "1;signing=1" },
      { node: "n1", keys: null },
    ];
    const url = "/api/v1/probe-key-reports";
    const taken = await a.app.inject({ method: "POST", url, payload: { reports } });
    expect(taken.statusCode).toBe(204);
    const refused = await b.app.inject({ method: "POST", url, payload: { reports } });
    expect([refused.statusCode, refused.headers["retry-after"]]).toEqual([503, "5"]);
    const bad = await a.app.inject({ method: "POST", url, payload: { reports: "x" } });
    expect(bad.statusCode).toBe(400);
  });
});
