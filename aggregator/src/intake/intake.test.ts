import { STATE_TOPICS, TOPICS } from "@isochrone/telemetry";
import { afterEach, describe, expect, test } from "vitest";
import { countsOf, expectedAfter, NumberedLoad } from "../testing/numbered-load.ts";
import { bandwidthTest, counter, istio, recordOf } from "../testing/records.ts";
import { metricSum, ReplicaSet, SHAPE, type Replica } from "../testing/replicas.ts";

let set: ReplicaSet;
afterEach(async () => set.close());

function expectExact(replicas: readonly Replica[], rounds: number): void {
  for (const replica of replicas) expect(countsOf(replica, set.clock.now())).toEqual(expectedAfter(rounds));
}

describe("replicas on one bus", () => {
  test("each count every record once", async () => {
    set = new ReplicaSet();
    const replicas = [await set.start(), await set.start(), await set.start()];
    const load = new NumberedLoad(set);
    await load.rounds(20);
    await set.pass(500);
    expectExact(replicas, 20);
    for (const { intake } of replicas) {
      expect(intake.counts.duplicateRecords).toBeGreaterThan(10);
      expect([intake.missingRecords, intake.pending()]).toEqual([0, []]);
    }
  });

  test.each([1, 2, 3, 4])("that start at any time have what was published before (seed %i)", async (seed) => {
    set = new ReplicaSet(seed);
    const load = new NumberedLoad(set);
    let replicas = [await set.start(), await set.start()];
    for (let i = 0; i < 8; i++) {
      await load.rounds(1 + Math.floor(set.random.next() * 4));
      await load.round();
      await set.pass(Math.floor(set.random.next() * 12) * 50);
      const [gone, ...rest] = replicas;
      await gone!.stop();
      replicas = [...rest, await set.start()];
    }
    await set.pass(500);
    expectExact(replicas, load.count);
  });

  test("are ready when they have caught up, and say until then what they wait for", async () => {
    set = new ReplicaSet();
    await new NumberedLoad(set).rounds(5);
    let isAway = true;
    const subscribe = set.bus.subscribe.bind(set.bus);
    const slow = Object.assign(Object.create(set.bus) as typeof set.bus, {
      subscribe: (options: Parameters<typeof subscribe>[0]) =>
        subscribe({
          ...options,
          onBatch: async (batch) => {
            if (isAway) throw new Error("the broker is slow");
            await options.onBatch(batch);
          },
        }),
    });
    const replica = await set.start({ bus: slow });
    await set.pass(2000);
    expect(replica.intake.pending()).toEqual(["reading the records of the window from the bus"]);
    isAway = false;
    await set.pass(2000);
    expect(replica.intake.pending()).toEqual([]);
    expectExact([replica], 5);
  });

  test("tell no dead letters and no ages of what they catch up with", async () => {
    set = new ReplicaSet();
    const first = await set.start();
    const load = new NumberedLoad(set);
    await load.rounds(2);
    for (const value of [new Uint8Array([255, 1]), new Uint8Array(3).fill(10)])
      await set.bus.publish(TOPICS.probe, [{ key: "a", value, headers: {} }]);
    const bad = { "isochrone-source": "a", "isochrone-epoch": "e" };
    await set.bus.publish(TOPICS.usage, [{ key: "a", value: new Uint8Array(1), headers: bad }]);
    await load.rounds(2);
    const late = await set.start({ isLeader: () => true });
    await set.pass(1000);
    expectExact([first, late], 4);
    const letters = (replica: Replica): Promise<number> =>
      metricSum(replica, "isochrone_aggregator_dead_letters_total");
    expect([await letters(first), await letters(late)]).toEqual([3, 0]);
    expect([first, late].map(({ intake }) => intake.counts.refusedRecords)).toEqual([3, 3]);
    const ages = await late.registry.getSingleMetricAsString("isochrone_aggregator_sample_age_seconds");
    expect(ages).toContain("isochrone_aggregator_sample_age_seconds_count 0");
  });
});

test("drops that publishers told of before a restart explain no gap after it", async () => {
  set = new ReplicaSet();
  const dropped = (count: number): Record<string, string> => ({ "isochrone-dropped": String(count) });
  const send = async (sequence: number, count: number): Promise<void> => {
    const options = { sequence, arrivedAtMs: set.clock.now(), headers: dropped(count) };
    await set.publish(TOPICS.probe, recordOf("a", [], options));
  };
  await send(100, 50);
  const replica = await set.start();
  await send(101, 50);
  await set.pass(100);
  expect(replica.intake.droppedRecords).toBe(0);
  await send(104, 52);
  await set.pass(100);
  expect(replica.intake.droppedRecords).toBe(2);
});

describe("a counter at a restart", () => {
  const labels = istio("source", "web", "db", { response_code: "200" });
  const requests = (replica: Replica): number =>
    Math.round(
      [...replica.tables.channels.values()][0]!
        .side("source")
        .total("requests", set.clock.now(), SHAPE.panes)!,
    );
  let sequence = 0;
  async function send(value: number, startMs: number): Promise<void> {
    const metrics = [counter("istio_requests_total", labels, set.clock.now(), value, startMs)];
    sequence++;
    await set.publish(TOPICS.traffic, recordOf("a", metrics, { sequence, arrivedAtMs: set.clock.now() }));
  }

  test("takes its sample before the window as its baseline, whatever it counted before", async () => {
    set = new ReplicaSet();
    const startMs = set.clock.now() - 5_000;
    for (let value = 1_000; value <= 100_000; value += 1_000) {
      await send(value, startMs);
      await set.pass(10_000);
    }
    const replica = await set.start();
    await set.pass(100);
    // The window covers at least 599 s of 100 requests per second; the last sample is 10 s old.
    expect(requests(replica)).toBeGreaterThan(58_500);
    expect(requests(replica)).toBeLessThan(59_200);
  });
});

describe("last bandwidth tests", () => {
  const DAY_MS = 86_400_000;
  const pairOf = ({ tables }: Replica): (number | null)[] => {
    const pair = tables.bandwidth.get("a", "b");
    return [pair?.achieved(set.clock.now())?.bitsPerSecond ?? null, pair?.best(set.clock.now()) ?? null];
  };
  async function burst(transport: "tcp" | "udp", rate: number, sequence: number): Promise<void> {
    const metrics = [bandwidthTest("b", transport, set.clock.now(), rate)];
    await set.publish(TOPICS.probe, recordOf("a", metrics, { sequence, arrivedAtMs: set.clock.now() }));
    await set.pass(2000);
  }
  async function written(): Promise<number[]> {
    const sizes: number[] = [];
    const reader = await set.bus.subscribe({
      topics: [STATE_TOPICS.graph],
      from: "earliest",
      onBatch: async ({ records }) => {
        for (const { key, value } of records) if (key === "a/b") sizes.push(value.byteLength);
      },
    });
    await set.pass(500);
    await reader.close();
    return sizes;
  }

  test("survive a restart of all replicas after the window, and go when they have expired", async () => {
    set = new ReplicaSet();
    const first = [await set.start(), await set.start()];
    await burst("udp", 8e8, 0);
    await burst("tcp", 5e8, 1);
    expect(first.map(pairOf)).toEqual([
      [5e8, 8e8],
      [5e8, 8e8],
    ]);
    await set.pass(15_000);
    for (const replica of first) await replica.stop();
    await set.clock.advance(2 * SHAPE.windowMs);
    const late = await set.start({ isLeader: () => true });
    await set.pass(1000);
    expect(pairOf(late)).toEqual([5e8, 8e8]);
    await set.pass(30_000);
    const before = await written();
    expect(before.every((size) => size > 0)).toBe(true);
    await set.clock.advance(DAY_MS + 7_200_000);
    late.tables.expire(set.clock.now(), () => false);
    await set.pass(15_000);
    expect((await written()).at(-1)).toBe(0);
  });

  test("are written by the leader alone, once per change", async () => {
    set = new ReplicaSet();
    let leader = 0;
    for (const index of [0, 1]) await set.start({ isLeader: () => leader === index });
    await burst("tcp", 5e8, 0);
    await set.pass(60_000);
    expect((await written()).length).toBe(1);
    leader = 1;
    await set.pass(30_000);
    expect((await written()).length).toBe(1);
    await burst("tcp", 6e8, 1);
    await set.pass(30_000);
    expect((await written()).length).toBe(2);
  });

  test("that no leader of this version wrote are passed over", async () => {
    set = new ReplicaSet();
    const values = ["\u0001", "{}", '{"bursts":[{"transport":"tcp","eventMs":1e99,"bitsPerSecond":-1}]}'];
    for (const text of values)
      await set.bus.publish(STATE_TOPICS.graph, [{ key: "a/b", value: Buffer.from(text), headers: {} }]);
    const replica = await set.start({ isLeader: () => false });
    await set.pass(1000);
    expect([pairOf(replica), replica.intake.pending()]).toEqual([[null, null], []]);
  });
});
