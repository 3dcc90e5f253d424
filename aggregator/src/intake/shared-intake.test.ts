import { afterEach, describe, expect, test } from "vitest";
import { countsOf, expectedAfter, NumberedLoad } from "../testing/numbered-load.ts";
import { metricSum, ReplicaSet, type Replica } from "../testing/replicas.ts";
import type { TestFault } from "./partition-owner.ts";

let set: ReplicaSet;
afterEach(async () => set.close());

function expectExact(replicas: readonly Replica[], rounds: number): void {
  for (const replica of replicas) expect(countsOf(replica, set.clock.now())).toEqual(expectedAfter(rounds));
}

describe("replicas that share the work", () => {
  test("each counts every record once, and owns a part of the partitions", async () => {
    set = new ReplicaSet();
    const replicas = [await set.start(), await set.start(), await set.start()];
    await set.pass(500);
    const load = new NumberedLoad(set);
    await load.rounds(20);
    await set.pass(2000);
    expectExact(replicas, 20);
    const owned = replicas.map(({ intake }) => intake.ownedPartitions);
    expect(owned.reduce((a, b) => a + b)).toBe(9);
    expect(Math.min(...owned)).toBeGreaterThan(0);
    expect(replicas.map(({ intake }) => intake.pending())).toEqual([[], [], []]);
    const duplicates = replicas.reduce((sum, { intake }) => sum + intake.counts.duplicateRecords, 0);
    expect(duplicates).toBeGreaterThan(10);
    expect(replicas.reduce((sum, { intake }) => sum + intake.missingRecords, 0)).toBe(0);
  });

  test("one that comes later has everything that was counted before, and is ready only then", async () => {
    set = new ReplicaSet();
    const first = await set.start();
    await set.pass(500);
    const load = new NumberedLoad(set);
    await load.rounds(10);
    const late = await set.start();
    expect(late.intake.pending()).toEqual(["reading the log of what other replicas have counted"]);
    await load.rounds(10);
    await set.pass(2000);
    expectExact([first, late], 20);
    expect(late.intake.pending()).toEqual([]);
  });

  test("nothing is lost or counted twice while replicas come and go in order", async () => {
    set = new ReplicaSet();
    const load = new NumberedLoad(set);
    let replicas = [await set.start(), await set.start()];
    await set.pass(500);
    for (let i = 0; i < 6; i++) {
      await load.rounds(3);
      replicas = [...replicas, await set.start()];
      await load.rounds(3);
      await replicas[0]!.stop();
      replicas = replicas.slice(1);
    }
    await set.pass(3000);
    expectExact(replicas, 36);
  });

  test.each([1, 2, 3, 4, 5, 6])(
    "nothing is lost or counted twice when replicas are killed at random (seed %i)",
    async (seed) => {
      set = new ReplicaSet(seed);
      const load = new NumberedLoad(set);
      let replicas = [await set.start(), await set.start(), await set.start()];
      await set.pass(500);
      for (let i = 0; i < 8; i++) {
        await load.rounds(2);
        await load.round();
        await set.pass(Math.floor(set.random.next() * 12) * 50);
        const victim = replicas[Math.floor(set.random.next() * replicas.length)]!;
        await victim.kill();
        replicas = replicas.filter((replica) => replica !== victim);
        replicas.push(await set.start());
      }
      await load.rounds(3);
      await set.pass(5000);
      expectExact(replicas, load.count);
    },
  );

  test("answers of the bus that are lost make deltas come twice, which counts once", async () => {
    set = new ReplicaSet();
    const replicas = [await set.start(), await set.start()];
    for (const { bus } of replicas) bus.lossOfAnswers = () => set.random.next() < 0.5;
    await set.pass(2000);
    const load = new NumberedLoad(set);
    await load.rounds(20);
    await set.pass(20_000);
    expectExact(replicas, 20);
    const repeats = await Promise.all(
      replicas.map((replica) => metricSum(replica, "isochrone_aggregator_deltas_total")),
    );
    expect(Math.min(...repeats)).toBeGreaterThan(20);
  });

  test("what a replica publishes that has been replaced meanwhile is refused by all, itself included", async () => {
    set = new ReplicaSet();
    const zombie = await set.start();
    await set.pass(500);
    const load = new NumberedLoad(set);
    await load.rounds(5);
    const goOn = zombie.bus.hold();
    await load.rounds(3);
    const heir = await set.start();
    await set.pass(5000);
    await load.rounds(3);
    goOn();
    await set.pass(15_000);
    expectExact([zombie, heir], load.count);
  });

  test.each<TestFault>(["no_deduplication", "commit_at_read"])(
    "with %s the same killing is found out",
    async (fault) => {
      set = new ReplicaSet(1, { fault });
      const load = new NumberedLoad(set);
      let replicas = [await set.start(), await set.start(), await set.start()];
      await set.pass(500);
      for (let i = 0; i < 8; i++) {
        await load.rounds(2);
        await load.round();
        await set.pass(100);
        const victim = replicas[i % replicas.length]!;
        await victim.kill();
        replicas = [...replicas.filter((replica) => replica !== victim), await set.start()];
      }
      await load.rounds(3);
      await set.pass(5000);
      expect(countsOf(replicas[2]!, set.clock.now())).not.toEqual(expectedAfter(load.count));
    },
  );
});
