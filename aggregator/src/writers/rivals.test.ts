// Uncoordinated aggregators on one cluster. They share a field manager, so each apply undoes the other's.
import { KINDS } from "@isochrone/kubernetes";
import { ANNOTATED_BY } from "@isochrone/topology";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { measuredLink, WriterTestbed } from "../testing/writers.ts";
import { soleOwner } from "./ownership.ts";

const MINUTE = 60_000;
const SOLE = soleOwner({ isLeader: () => true });
const YIELDED = "isochrone_aggregator_annotations_yielded";
let ground: WriterTestbed;

beforeEach(async () => {
  ground = new WriterTestbed();
  await ground.addNodes("a", "b");
  ground.links = [measuredLink("a", "b", 10), measuredLink("b", "a", 10)];
});
afterEach(() => ground.stop());

const keys = async (name: string, kind: "node" | "deployment" = "node"): Promise<string[]> =>
  Object.keys(await ground.annotations(name, kind)).toSorted();

const BARE = ["available-cpu", "available-memory", "network-cost-b", "observed-at"];
const under = (prefix: string): string[] => [...BARE.map((name) => prefix + name), ANNOTATED_BY].toSorted();

/** Writes in 20 min without changes: a refresh every 10 min gives two or three. */
async function writesWithin20Minutes(): Promise<number> {
  ground.sent.length = 0;
  await ground.pass(20 * MINUTE);
  return ground.sent.filter(({ name }) => name === "a").length;
}

describe("two aggregators with different prefixes", () => {
  const startBoth = async (): Promise<void> => {
    await ground.start({ prefix: "first.example/" }, SOLE, { name: "first", sinceMs: ground.clock.now() });
    await ground.pass(MINUTE);
    expect(await keys("a")).toEqual(under("first.example/"));
    await ground.start({ prefix: "second.example/" }, SOLE, { name: "second", sinceMs: ground.clock.now() });
    await ground.pass(MINUTE);
  };

  test("the one that began last stays, the other one says whom it leaves the objects to", async () => {
    await startBoth();
    expect(await keys("a")).toEqual(under("second.example/"));
    expect(await writesWithin20Minutes()).toBeLessThanOrEqual(3);
    expect(await keys("a")).toEqual(under("second.example/"));
    expect(await ground.metric(YIELDED, { kind: "node" })).toBe(2);
    const said = ground.logger.lines.filter(({ event }) => event.startsWith("another installation's"));
    expect(said.map(({ fields }) => fields)).toEqual([
      {
        other: "second",
        otherSince: new Date(ground.clock.now() - 21 * MINUTE).toISOString(),
        self: "first",
        kind: "node",
        example: "a",
      },
    ]);
  });

  test("the one that waits goes on when the other one has been silent until its figures were stale", async () => {
    await startBoth();
    await ground.stopLastWriters();
    await ground.pass(24 * MINUTE);
    expect(await keys("a")).toEqual(under("second.example/"));
    await ground.pass(2 * MINUTE);
    expect(await keys("a")).toEqual(under("first.example/"));
    expect(await ground.metric(YIELDED, { kind: "node" })).toBe(0);
  });

  test("a restart of the first makes it the last", async () => {
    await startBoth();
    await ground.start({ prefix: "first.example/" }, SOLE, { name: "first-2", sinceMs: ground.clock.now() });
    await ground.pass(MINUTE);
    expect(await writesWithin20Minutes()).toBeLessThanOrEqual(3);
    expect(await keys("a")).toEqual(under("first.example/"));
  });
});

test("one that annotates and one that is told not to: the annotations are taken away once, then they stay", async () => {
  await ground.start({}, SOLE, { name: "writes", sinceMs: ground.clock.now() });
  await ground.pass(MINUTE);
  await ground.start({ nodes: false }, SOLE, { name: "removes", sinceMs: ground.clock.now() });
  await ground.pass(5 * MINUTE);
  expect(await keys("a")).toEqual(under("isochrone.dev/"));
  expect(await writesWithin20Minutes()).toBeLessThanOrEqual(3);
  expect(await keys("a")).toEqual(under("isochrone.dev/"));
});

test("one that is switched off takes away what its predecessor left", async () => {
  await ground.start({}, SOLE, { name: "before", sinceMs: ground.clock.now() });
  await ground.pass(MINUTE);
  await ground.stopWriters();
  await ground.start({ nodes: false }, SOLE, { name: "after", sinceMs: ground.clock.now() });
  await ground.pass(10_000);
  expect(await keys("a")).toEqual([]);
});

test("workloads that one annotates and the other one does not stay annotated", async () => {
  await ground.store.create({ ...KINDS.deployment, metadata: { namespace: "shop", name: "web" }, spec: {} });
  const web = {
    name: "web",
    namespace: "shop",
    kind: "Deployment",
    cpuMillicores: 100,
    memoryBytes: 1e8,
    pods: [],
  };
  const flow = {
    version: 1,
    observedAt: "",
    namespace: "shop",
    name: "flow",
    workloads: [web],
    channels: [],
  };
  ground.workflows = [flow];
  const options = { workloads: true, nodes: false };
  await ground.start(options, SOLE, { name: "workloads", sinceMs: ground.clock.now() });
  await ground.pass(MINUTE);
  await ground.start({}, SOLE, { name: "nodes", sinceMs: ground.clock.now() });
  await ground.pass(15 * MINUTE);
  const annotated = [
    ANNOTATED_BY,
    "isochrone.dev/cpu-usage",
    "isochrone.dev/memory-usage",
    "isochrone.dev/observed-at",
  ];
  expect(await keys("web", "deployment")).toEqual(annotated);
  ground.sent.length = 0;
  await ground.pass(20 * MINUTE);
  expect(ground.sent.filter(({ name }) => name === "web").length).toBeLessThanOrEqual(3);
  expect(await keys("web", "deployment")).toEqual(annotated);
});

test("replicas that agree by Leases are one writer, whichever began last", async () => {
  const name = "isochrone/isochrone-aggregator";
  const leader = { of: "first" };
  const replica = (of: string) => soleOwner({ isLeader: () => leader.of === of });
  await ground.start({}, replica("first"), { name, sinceMs: ground.clock.now() - MINUTE });
  await ground.start({}, replica("second"), { name, sinceMs: ground.clock.now() });
  await ground.pass(MINUTE);
  leader.of = "second";
  ground.links = [measuredLink("a", "b", 80)];
  await ground.pass(MINUTE);
  leader.of = "first";
  ground.links = [measuredLink("a", "b", 20)];
  await ground.pass(MINUTE);
  expect((await ground.annotations("a"))["isochrone.dev/network-cost-b"]).toBe("20.000");
  expect(await ground.metric(YIELDED, { kind: "node" })).toBe(0);
});

test.each([
  ["nonsense"],
  ["somebody since 2999-01-01T00:00:00.000Z at 2023-11-14T22:13:20.000Z"],
  ["somebody since 2023-11-14T22:13:20.000Z at 2999-01-01T00:00:00.000Z"],
  ["somebody since 2023-11-14T21:00:00.000Z at 2023-11-14T21:40:00.000Z"],
])("a mark of nobody who can be writing now keeps nobody from it: %s", async (mark) => {
  await ground.store.patch(
    { ...KINDS.node, name: "a" },
    { metadata: { annotations: { [ANNOTATED_BY]: mark } } },
  );
  await ground.start({}, SOLE, { name: "aggregator", sinceMs: Date.parse("2023-11-14T20:00:00Z") });
  await ground.pass(MINUTE);
  expect(await keys("a")).toContain("isochrone.dev/network-cost-b");
});

describe("two aggregators with the same annotations", () => {
  const startBoth = async (
    first: Readonly<Record<string, unknown>>,
    second: Readonly<Record<string, unknown>>,
  ): Promise<void> => {
    await ground.start(first, SOLE, { name: "first", sinceMs: ground.clock.now() });
    await ground.pass(MINUTE);
    await ground.start(second, SOLE, { name: "second", sinceMs: ground.clock.now() });
    await ground.pass(MINUTE);
  };

  test("the one that waits goes on with the next change that the other one lets pass", async () => {
    await startBoth({}, {});
    await ground.stopLastWriters();
    ground.links = [measuredLink("a", "b", 90), measuredLink("b", "a", 90)];
    await ground.pass(5 * MINUTE);
    expect((await ground.annotations("a"))[ANNOTATED_BY]).toMatch(/^first /);
  });

  const rtt = (ms: number) => [measuredLink("a", "b", ms), measuredLink("b", "a", ms)];
  const writer = async (): Promise<string | undefined> =>
    (await ground.annotations("a"))[ANNOTATED_BY]?.split(" ")[0];

  /** The second one writes more often, so it takes over the objects as its figures change. */
  const secondTakes = async (): Promise<void> => {
    await ground.start({}, SOLE, { name: "second", sinceMs: ground.clock.now() });
    for (let ms = 50; ms < 1_000 && (await writer()) !== "second"; ms += 20) {
      ground.links = rtt(ms);
      await ground.pass(10_000);
    }
    expect(await writer()).toBe("second");
  };

  test("changes after a quiet time are left to the other one while it writes them", async () => {
    await ground.start({ minIntervalMs: 60_000 }, SOLE, { name: "first", sinceMs: ground.clock.now() });
    await ground.pass(MINUTE);
    await secondTakes();
    for (const ms of [90, 30, 120, 60]) {
      await ground.pass(8 * MINUTE);
      ground.links = rtt(ms);
      for (let step = 0; step < 12; step++) {
        await ground.pass(10_000);
        expect(await writer()).toBe("second");
      }
      expect((await ground.annotations("a"))["isochrone.dev/network-cost-b"]).toBe(`${ms}.000`);
    }
  });

  test("who was not gone gets more time with each object that it takes back", async () => {
    await ground.start({ minIntervalMs: 60_000 }, SOLE, { name: "first", sinceMs: ground.clock.now() });
    await ground.pass(MINUTE);
    const waits: number[] = [];
    for (let time = 0; time < 3; time++) {
      await secondTakes();
      await ground.stopLastWriters();
      const fromMs = ground.clock.now();
      ground.links = rtt(10);
      for (let step = 0; step < 1_200 && (await writer()) === "second"; step++) await ground.pass(1_000);
      expect(await writer()).toBe("first");
      waits.push(ground.clock.now() - fromMs);
    }
    expect(waits[1]! / waits[0]!).toBeCloseTo(2, 0);
    expect(waits[2]! / waits[1]!).toBeCloseTo(2, 0);
  });
});
