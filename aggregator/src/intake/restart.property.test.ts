// A replica's state is a function of the bus: one that starts at any moment equals one that has run for long.
import { seededRandom } from "@isochrone/runtime";
import { afterEach, expect, test } from "vitest";
import { dumpTables, firstDifference } from "../testing/dump-tables.ts";
import { ReplicaSet, type Replica } from "../testing/replicas.ts";
import { STEADY_NODES, STEADY_WORKLOADS, SteadyRecords } from "../testing/steady-records.ts";

const SHAPE = { windowMs: 120_000, paneMs: 4000, panes: 30, fastPanes: 3 };
const ROUNDS = 50;
const RESTARTS = 6;
const PODS = STEADY_WORKLOADS.map((name) => `shop/${name}`);

let set: ReplicaSet;
afterEach(async () => set.close());

function shown({ tables }: Replica): unknown {
  return dumpTables(tables, set.clock.now(), PODS, STEADY_NODES);
}

/** Lists the restarts whose windows differ from the long-running replica's. */
async function differencesOf(seed: number, counterHorizonMs: number): Promise<string[]> {
  set = new ReplicaSet(seed);
  const random = seededRandom(seed);
  const records = new SteadyRecords(random, set.clock.now()).make(ROUNDS);
  const moments = Array.from({ length: RESTARTS }, () => Math.floor(random.next() * records.length));
  const options = { shape: SHAPE, counterHorizonMs };
  const whole = await set.start(options);
  const differences: string[] = [];
  for (const [i, { topic, record, arrivesMs }] of records.entries()) {
    if (arrivesMs > set.clock.now()) await set.clock.advance(arrivesMs - set.clock.now());
    await set.publish(topic, record);
    if (!moments.includes(i) && i !== records.length - 1) continue;
    const late = await set.start(options);
    while (late.intake.pending().length > 0 || lag(whole) > 0) await set.clock.advance(0);
    const difference = firstDifference(shown(whole), shown(late));
    if (difference !== "") differences.push(difference);
    await late.stop();
  }
  return differences;
}

function lag({ intake }: Replica): number {
  const published = set.bus.inspect().filter(({ topic }) => !topic.includes("graph"));
  return published.reduce((sum, { endOffset }) => sum + endOffset, 0) - intake.counts.records;
}

test.each([11, 12, 13, 14, 15, 16, 17, 18])(
  "windows after a restart are those without one (seed %i)",
  async (seed) => {
    expect(await differencesOf(seed, 60_000)).toEqual([]);
  },
);

test("without a horizon for counters they are not, which the comparison finds", async () => {
  expect((await differencesOf(21, 0)).length).toBeGreaterThan(0);
});
