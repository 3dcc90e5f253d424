import { STATE_TOPICS, TOPICS } from "@isochrone/telemetry";
import { afterEach, describe, expect, test } from "vitest";
import { claimRecord, deltaRecords } from "../domain/log/pane-record.ts";
import { countedBy, countsOf, expectedAfter, NumberedLoad } from "../testing/numbered-load.ts";
import { bandwidthTest, counter, gauge, istio, probeMetrics, recordOf } from "../testing/records.ts";
import { metricSum, ReplicaSet, SHAPE, type Replica } from "../testing/replicas.ts";

const WAITS = "isochrone_aggregator_backpressure_seconds";

let set: ReplicaSet;
afterEach(async () => set.close());

function expectExact(replicas: readonly Replica[], rounds: number): void {
  for (const replica of replicas) expect(countsOf(replica, set.clock.now())).toEqual(expectedAfter(rounds));
}

describe("counters at a take-over", () => {
  const labels = istio("source", "web", "db", { response_code: "200" });
  const requests = (replica: Replica): number | null => {
    const [channel] = [...replica.tables.channels.values()];
    const total = channel?.side("source").total("requests", set.clock.now(), SHAPE.panes) ?? null;
    return total === null ? null : Math.round(total);
  };
  async function send(timeMs: number, value: number, startMs: number, sequence: number): Promise<void> {
    const metrics = [counter("istio_requests_total", labels, timeMs, value, startMs)];
    await set.publish(TOPICS.traffic, recordOf("a", metrics, { sequence, arrivedAtMs: set.clock.now() }));
    await set.pass(1000);
  }

  test("a series whose last sample was committed long ago gives a baseline, not its whole past", async () => {
    set = new ReplicaSet(1, { counterHorizonMs: 2000 });
    const first = await set.start();
    await set.pass(500);
    const startMs = set.clock.now() - 1000;
    await send(set.clock.now(), 100, startMs, 0);
    await set.pass(10_000);
    expect(requests(first)).toBe(100);
    await first.kill();
    const heir = await set.start();
    await set.pass(1000);
    await send(set.clock.now(), 150, startMs, 1);
    await send(set.clock.now(), 170, startMs, 2);
    expect(requests(heir)).toBe(120);
  });

  test("a series that began after the take-over counts from its start", async () => {
    set = new ReplicaSet(1, { counterHorizonMs: 2000 });
    const first = await set.start();
    await set.pass(500);
    await send(set.clock.now(), 100, set.clock.now() - 1000, 0);
    await set.pass(10_000);
    await first.kill();
    const heir = await set.start();
    await set.pass(1000);
    await set.publish(TOPICS.traffic, recordOf("a", [], { sequence: 1, arrivedAtMs: set.clock.now() }));
    await set.pass(1000);
    await send(set.clock.now(), 30, set.clock.now() - 500, 2);
    expect(requests(heir)).toBe(130);
  });
});

describe("bad input and too much of it", () => {
  test("records that can't be used go to the dead letters, and those around them are counted", async () => {
    set = new ReplicaSet();
    const replica = await set.start();
    await set.pass(500);
    const load = new NumberedLoad(set);
    await load.rounds(2);
    for (const value of [new Uint8Array([255, 1]), new Uint8Array(3).fill(10)])
      await set.bus.publish(TOPICS.probe, [{ key: "a", value, headers: {} }]);
    const bad = { "isochrone-source": "a", "isochrone-epoch": "e" };
    await set.bus.publish(TOPICS.usage, [{ key: "a", value: new Uint8Array(1), headers: bad }]);
    await load.rounds(2);
    await set.pass(1000);
    expectExact([replica], 4);
    expect(replica.intake.counts.refusedRecords).toBe(3);
    expect(await metricSum(replica, "isochrone_aggregator_dead_letters_total")).toBe(3);
  });

  test("without room a partition waits for the log, and nothing is lost", async () => {
    set = new ReplicaSet(1, { maxPendingBytes: 1, flushIntervalMs: 60_000 });
    const replica = await set.start();
    await set.pass(500);
    const goOn = replica.bus.hold();
    const padding = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [`label_${i}`, "x".repeat(2000)]),
    );
    const sendPadded = async (sequence: number): Promise<void> => {
      const timeMs = set.clock.now();
      const metrics = [
        ...probeMetrics([{ target: "x", timeMs, rttsMs: [1], outcomes: { sent: 1 } }]),
        gauge("padding", padding, timeMs, 1),
      ];
      await set.publish(TOPICS.probe, recordOf("a", metrics, { sequence, arrivedAtMs: timeMs }));
      await set.pass(50);
    };
    for (let sequence = 0; sequence < 40; sequence++) await sendPadded(sequence);
    const taken = replica.intake.counts.records;
    expect(taken).toBeLessThan(30);
    await set.pass(12_000);
    expect(replica.intake.counts.records).toBe(taken);
    // Batches came again and again: that they wait is told by a metric, and is no failure.
    const waits = (await replica.registry.getSingleMetricAsString(WAITS)).split("\n");
    const count = (line: string): number =>
      Number(waits.find((each) => each.startsWith(line))!.split(" ")[1]);
    expect(count(`${WAITS}_count`)).toBeGreaterThan(1);
    expect(count(`${WAITS}_sum`) / count(`${WAITS}_count`)).toBeCloseTo(5, 0);
    expect(set.logger.lines.filter(({ event }) => event.includes("handler failed"))).toEqual([]);
    goOn();
    await set.pass(60_000);
    expect(countedBy(replica, "a", set.clock.now()).packets).toBe(40);
  });
});

test("points of another replica's delta that can't be used are counted", async () => {
  set = new ReplicaSet();
  const replica = await set.start();
  await set.pass(500);
  const timeMs = set.clock.now();
  const { value } = recordOf("a", [gauge("of_another_version", {}, timeMs, 1)], { arrivedAtMs: timeMs });
  const partition = "isochrone.probe.v1/77";
  await set.bus.publish(STATE_TOPICS.pane, [claimRecord(partition, "theirs")]);
  await set.pass(500);
  const head = {
    partition,
    claim: "theirs",
    claimPosition: 0,
    from: 0,
    to: 1,
    drawnAtMs: timeMs,
    newestMs: timeMs,
  };
  const index = { kind: "index", value: Buffer.from("isochrone-index 1") } as const;
  await set.bus.publish(STATE_TOPICS.pane, deltaRecords(head, [index, { kind: "metrics", value }]));
  await set.pass(500);
  expect(await metricSum(replica, "isochrone_aggregator_delta_points_refused_total")).toBe(1);
  expect(await metricSum(replica, "isochrone_aggregator_delta_points_refused_total")).toBe(1);
});

describe("bursts of bandwidth tests", () => {
  const pairOf = ({ tables }: Replica): (number | null)[] => {
    const pair = tables.bandwidth.get("a", "b");
    return [pair?.achieved(set.clock.now())?.bitsPerSecond ?? null, pair?.best(set.clock.now()) ?? null];
  };

  test("outlive the log of deltas, and go when they have expired", async () => {
    set = new ReplicaSet();
    const first = await set.start();
    await set.pass(500);
    for (const [sequence, rate] of [8e8, 5e8].entries()) {
      const timeMs = set.clock.now();
      const metrics = [bandwidthTest("b", sequence === 0 ? "udp" : "tcp", timeMs, rate)];
      await set.publish(TOPICS.probe, recordOf("a", metrics, { sequence, arrivedAtMs: timeMs }));
      await set.pass(2000);
    }
    expect(pairOf(first)).toEqual([5e8, 8e8]);
    // A log that nobody kept: only the compacted topic tells.
    const late = await set.start({ bus: withoutLog(set) });
    await set.pass(1000);
    expect(pairOf(late)).toEqual([5e8, 8e8]);
    await late.stop();
    await set.clock.advance(86_400_000 + 7_200_000);
    first.tables.expire(set.clock.now(), () => false);
    await set.pass(1000);
    const sizes: number[] = [];
    const reader = await set.bus.subscribe({
      topics: [STATE_TOPICS.graph],
      group: "test",
      from: "earliest",
      onBatch: async ({ records }) => {
        for (const { key, value } of records) if (key === "a/b") sizes.push(value.byteLength);
      },
    });
    await set.pass(500);
    expect(sizes.length).toBeGreaterThan(1);
    expect(sizes.at(-1)).toBe(0);
    await reader.close();
  });
});

/** A bus whose log of deltas is another one, as after its retention has passed. */
function withoutLog({ bus }: ReplicaSet): typeof bus {
  const other = (topic: string): string => (topic === STATE_TOPICS.pane ? "empty" : topic);
  return Object.assign(Object.create(bus) as typeof bus, {
    partitionCount: (topic: string) => bus.partitionCount(other(topic)),
    publish: (topic: string, records: Parameters<typeof bus.publish>[1]) =>
      bus.publish(other(topic), records),
    subscribe: (options: Parameters<typeof bus.subscribe>[0]) =>
      bus.subscribe({ ...options, group: `${options.group} `, topics: options.topics.map(other) }),
  });
}

describe("an intake without its bus", () => {
  test.each([1, 2, 3, 4, 5])(
    "that is away for its question number %i alone begins all the same",
    async (nth) => {
      set = new ReplicaSet();
      let asked = 0;
      const faulty = Object.assign(Object.create(set.bus) as typeof set.bus, {
        partitionCount: (topic: string) =>
          ++asked === nth ? Promise.reject(new Error("away")) : set.bus.partitionCount(topic),
        publish: set.bus.publish.bind(set.bus),
        subscribe: set.bus.subscribe.bind(set.bus),
      });
      const replica = await set.start({ bus: faulty });
      await set.pass(12_000);
      expect(asked).toBeGreaterThanOrEqual(nth);
      expect(replica.intake.pending()).toEqual([]);
      await replica.stop();
    },
  );

  test("starts all the same, and begins when the bus is there", async () => {
    set = new ReplicaSet();
    let isAway = true;
    const start = set.bus.partitionCount.bind(set.bus);
    const away = Object.assign(Object.create(set.bus) as typeof set.bus, {
      partitionCount: (topic: string) => (isAway ? Promise.reject(new Error("away")) : start(topic)),
      publish: set.bus.publish.bind(set.bus),
      subscribe: set.bus.subscribe.bind(set.bus),
    });
    const replica = await set.start({ bus: away });
    await set.pass(2000);
    expect(replica.intake.pending()).toHaveLength(1);
    isAway = false;
    await set.pass(12_000);
    expect(replica.intake.pending()).toEqual([]);
    expect(set.bus.inspect().some(({ topic }) => topic === STATE_TOPICS.pane)).toBe(true);
    await replica.stop();
  });
});
