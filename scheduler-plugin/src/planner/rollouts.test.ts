// Rolling updates of running workflows, with the whole planner.
import { describe, expect, test } from "vitest";
import { NODES } from "../testing/rollout-objects.ts";
import { rolloutRig } from "../testing/rollout-rig.ts";

const CHANNELS = [
  ["web", "cart", 9_000],
  ["web", "search", 4_000],
  ["cart", "db", 12_000],
  ["cart", "pay", 2_000],
  ["pay", "db", 3_000],
  ["search", "index", 8_000],
  ["web", "auth", 1_000],
] as const;
const ALL = ["web", "cart", "search", "db", "pay", "index", "auth"];
const scattered = (workload: string, replica: number): string =>
  NODES[(4 * ALL.indexOf(workload) + 5 * replica) % NODES.length]!;
const far = (workload: string, replica: number): string =>
  NODES[6 + ((ALL.indexOf(workload) + replica) % 3)]!;

async function wellPlaced(replicas: number) {
  const rig = await rolloutRig({ channels: CHANNELS, replicas, at: scattered });
  await rig.restart(...ALL);
  await rig.settled();
  return rig;
}

function expectBest({ network, total }: { readonly network: number; readonly total: number }): void {
  expect(network).toBeLessThan(1.05);
  expect(total).toBeLessThan(1.05);
}

const RESTARTS = [["cart"], ["web", "db", "index"], ALL];
const CASES = [1, 3].flatMap((replicas) =>
  RESTARTS.map((restarted): [number, number, readonly string[]] => [replicas, restarted.length, restarted]),
);

describe("a restart ends within 5 % of the best plan", () => {
  describe.each([
    ["scattered", scattered],
    ["in a far region", far],
  ])("from pods that are %s", (_, at) => {
    test.each(CASES)("%i replicas, %i Deployments", async (replicas, __, restarted) => {
      const rig = await rolloutRig({ channels: CHANNELS, replicas, at });
      await rig.restart(...restarted);
      await rig.settled();
      expectBest(await rig.overBest(...restarted));
    });
  });

  test.each(CASES)("from the best placement: %i replicas, %i Deployments", async (replicas, _, restarted) => {
    const rig = await wellPlaced(replicas);
    expectBest(await rig.overBest());
    await rig.restart(...restarted);
    await rig.settled();
    expectBest(await rig.overBest());
  });

  test("where nodes have room for few pods beside those that go", async () => {
    const rig = await rolloutRig({ channels: CHANNELS, replicas: 3, at: scattered, nodeCpu: "4" });
    await rig.restart(...ALL);
    await rig.settled();
    expect((await rig.overBest()).total).toBeLessThan(1.05);
  });

  test("begun while another one is under way, and once more", async () => {
    const rig = await rolloutRig({ channels: CHANNELS, replicas: 3, at: scattered });
    await rig.restart("web", "cart");
    await rig.steps(6);
    await rig.restart("db", "pay", "search");
    await rig.steps(6);
    await rig.restart(...ALL);
    await rig.settled();
    // Pods of the other two came before this second rollout was known.
    expectBest(await rig.overBest("web", "cart", "search", "db", "pay"));
  });

  test.each([0, 15])("with graphs that are %i steps late", async (steps) => {
    const rig = await rolloutRig({ channels: CHANNELS, replicas: 3, at: scattered, graphSteps: steps + 1 });
    await rig.restart(...ALL);
    await rig.settled();
    expectBest(await rig.overBest());
  });
});

test("pods of a drained node come back where the others will be, not beside those that go with them", async () => {
  const rig = await wellPlaced(1);
  const [node] = (await rig.placement())["db"]!;
  await rig.drain(node!);
  await rig.settled();
  expect(Object.values(await rig.placement()).flat()).not.toContain(node);
  expectBest(await rig.overBest());
});

describe("pods of a rollout that goes no further count again:", () => {
  test.each<[string, (rig: Awaited<ReturnType<typeof rolloutRig>>) => Promise<unknown>]>([
    ["it is paused", (rig) => rig.patch("cart", { spec: { paused: true } })],
    ["its deadline has passed", (rig) => rig.gaveUp("cart")],
    ["it has made no step for ten minutes", (rig) => rig.clock.advance(601_000)],
  ])("%s", async (_, fails) => {
    const rig = await rolloutRig({ channels: CHANNELS, replicas: 1, at: far });
    rig.breaks("cart");
    await rig.restart("cart");
    await rig.steps(30);
    await fails(rig);
    const carts = (await rig.placement())["cart"]!;
    expect(carts).toHaveLength(2);
    await rig.restart("db");
    await rig.steps(60);
    expect((await rig.placement())["cart"]).toEqual(carts);
    expectBest(await rig.overBest("db"));
  });
});
