import type { EndToEnd } from "@isochrone/lab";
import { ManualClock } from "@isochrone/runtime/testing";
import type { ClusterGraphSnapshot, WorkflowGraphSnapshot } from "@isochrone/topology";
import { expect, test } from "vitest";
import { jsonReporter } from "../output/reporters.ts";
import { doubtOf, ACTS, actsMistake, type Act } from "./acts.ts";
import { rehearse, type Rehearsed } from "./rehearsal.ts";

const AT = "2026-01-01T00:00:00.000Z";
const END_TO_END: EndToEnd = {
  count: 50,
  errors: 0,
  p10Ms: 17,
  p50Ms: 20,
  p50RangeMs: [18, 22],
  p95RangeMs: [36, 44],
  p90Ms: 30,
  p95Ms: 40,
  requestsPerSecond: 5,
  sendLateMs: 1,
  failure: null,
};
const MOVE = { workload: "a", from: "n1", to: "n2" };
const CLUSTER: ClusterGraphSnapshot = {
  version: 1,
  observedAt: AT,
  windowSeconds: 30,
  nodes: [],
  links: [],
};
const WORKFLOW: WorkflowGraphSnapshot = {
  version: 1,
  observedAt: AT,
  namespace: "default",
  name: "sample",
  workloads: [],
  channels: [],
};

const SOUND: Rehearsed = {
  graphs: {
    cluster: async () => ({ value: CLUSTER }),
    workflows: async () => ({
      value: { workflows: [{ namespace: "default", name: "sample", channels: 1 }] },
    }),
    workflow: async () => ({ value: WORKFLOW }),
  },
  cluster: { pods: () => [], endToEnd: async () => END_TO_END },
  placeByScore: async () => [MOVE],
  placeByPlan: async () => [MOVE],
};

interface Told {
  readonly event: string;
  readonly what?: string;
  readonly doubt?: string | null;
  readonly acts?: readonly { act: string; doubt: string | null; savedShare: Record<string, number | null> }[];
}

async function play(
  embedded: Partial<Rehearsed>,
  acts: readonly Act[] = ACTS,
  isLate: (nowMs: number) => boolean = () => false,
): Promise<Told[]> {
  const clock = new ManualClock();
  const told: Told[] = [];
  const reporter = jsonReporter((line) => void told.push(JSON.parse(line) as Told));
  const { signal } = new AbortController();
  const options = { windowMs: 6_000, acts, reporter, clock, signal, isLate: () => isLate(clock.monotonic()) };
  const done = rehearse({ ...SOUND, ...embedded }, options);
  await clock.advance(300_000);
  await done;
  return told;
}

const names = (told: readonly Told[]): string[] =>
  told.map(({ event, what }) => (what === undefined ? event : `${event}: ${what}`));

test("plays the acts in order, each measured, and ends with a verdict", async () => {
  expect(names(await play({}))).toEqual([
    "warm",
    "placed",
    "replacing",
    "replaced",
    "replacing",
    "replaced",
    "verdict",
  ]);
  expect(names(await play({}, ["spread", "score"]))).toEqual([
    "warm",
    "placed",
    "replacing",
    "replaced",
    "verdict",
  ]);
  expect(names(await play({}, ["score", "live"]))).toEqual(["warm", "placed", "verdict"]);
});

test("the verdict says what each act saves against the first one", async () => {
  let p95Ms = 800;
  const load = async () => ({ ...END_TO_END, p95Ms, p95RangeMs: [0.9 * p95Ms, 1.1 * p95Ms] as const });
  const cluster = { ...SOUND.cluster, endToEnd: load };
  const halve = async () => {
    p95Ms /= 2;
    return [MOVE];
  };
  const { acts } = (await play({ cluster, placeByScore: halve, placeByPlan: halve })).at(-1)!;
  expect(acts!.map(({ act, savedShare }) => [act, savedShare["p95"]])).toEqual([
    ["spread", null],
    ["score", 0.5],
    ["plan", 0.75],
  ]);
});

test("one slow read ends nothing: it is said once, and read again", async () => {
  let reads = 0;
  const slow = async (): Promise<never> => {
    throw new Error("no answer within 5000 ms");
  };
  const graphs = {
    ...SOUND.graphs,
    cluster: () => (++reads === 1 ? slow() : SOUND.graphs.cluster()),
  };
  let reports = 0;
  const cluster = {
    ...SOUND.cluster,
    endToEnd: () => (++reports <= 3 ? slow() : SOUND.cluster.endToEnd({ lastMs: 1 })),
  };
  expect(names(await play({ graphs, cluster }, ["spread"]))).toEqual([
    "trouble: the graphs can't be read, trying again",
    "warm",
    "trouble: the load's latencies can't be read, trying again",
    "placed",
    "verdict",
  ]);
});

test("pods that could not be placed anew are said, and the next act follows", async () => {
  const placeByScore = async (): Promise<never> => {
    throw new Error("the replacement of default/a-1 must be ready within 60000 ms and was not");
  };
  expect(names(await play({ placeByScore }))).toEqual([
    "warm",
    "placed",
    "replacing",
    "trouble: the workflow was not placed anew",
    "replacing",
    "replaced",
    "verdict",
  ]);
});

const loadOf = (ms: number): EndToEnd => ({
  ...END_TO_END,
  p10Ms: 0.9 * ms,
  p50Ms: ms,
  p50RangeMs: [0.95 * ms, 1.05 * ms],
  p95Ms: 2 * ms,
  p95RangeMs: [1.8 * ms, 2.2 * ms],
});

function halving(asked: number[] = [], add: () => number = () => 0): Partial<Rehearsed> {
  let ms = 400;
  const place = async () => {
    ms /= 2;
    return [MOVE];
  };
  const endToEnd = async ({ lastMs }: { readonly lastMs: number }): Promise<EndToEnd> => {
    asked.push(lastMs);
    return loadOf(ms + add());
  };
  return { cluster: { ...SOUND.cluster, endToEnd }, placeByScore: place, placeByPlan: place };
}

const savedOf = (told: readonly Told[], figure: string): (number | null)[] =>
  told.at(-1)!.acts!.map(({ savedShare }) => savedShare[figure] ?? null);
const doubtsOf = (told: readonly Told[]): (string | null)[] => told.at(-1)!.acts!.map(({ doubt }) => doubt);

test("on a quiet machine each act is measured once", async () => {
  const asked: number[] = [];
  const told = await play(halving(asked));
  expect(doubtsOf(told)).toEqual([null, null, null]);
  expect(savedOf(told, "p50")).toEqual([null, 0.5, 0.75]);
  expect(savedOf(told, "p95")).toEqual([null, 0.5, 0.75]);
  expect(Math.max(...asked)).toBe(6_000);
});

test.each([4_000, 6_500, 8_500])(
  "a machine that is late for %i ms costs time and no figure: what counts began afterwards",
  async (lateMs) => {
    const asked: number[] = [];
    const told = await play(halving(asked), ["spread"], (nowMs) => nowMs < lateMs);
    expect(told[1]).toMatchObject({ event: "placed", doubt: null });
    expect(asked.at(-1)).toBeLessThan(8_000);
  },
);

test.each([0.1, 0.5, 0.9])(
  "late times now and then, %d of the most, delay the verdict of three acts",
  async (share) => {
    const told = await play(halving(), ACTS, (nowMs) => nowMs % 10_000 < share * 2_000);
    expect(doubtsOf(told)).toEqual([null, null, null]);
    expect(savedOf(told, "p50")).toEqual([null, 0.5, 0.75]);
  },
);

test("on a machine that stays busy the three acts are compared all the same, as far as their errors allow", async () => {
  const asked: number[] = [];
  const told = await play(halving(asked), ACTS, () => true);
  expect(doubtsOf(told)).toEqual(Array(3).fill("the machine was busy"));
  expect(savedOf(told, "p50")).toEqual([null, 0.5, 0.75]);
  expect(savedOf(told, "p95")).toEqual([null, null, null]);
  expect(Math.max(...asked)).toBeGreaterThanOrEqual(2 * 6_000);
});

test("what the machine adds is no loss and no gain of a placement", async () => {
  // Only the first act was slowed, by more than placements differ: its fastest requests tell.
  const slowed = { ...loadOf(400), p10Ms: 90 };
  let acts = 0;
  const place = async () => {
    acts++;
    return [MOVE];
  };
  const endToEnd = async () => (acts === 0 ? slowed : loadOf(100));
  const world = { cluster: { ...SOUND.cluster, endToEnd }, placeByScore: place, placeByPlan: place };
  expect(savedOf(await play(world, ACTS, () => true), "p50")).toEqual([null, null, null]);
});

test("requests that aren't answered end the run, too, and nothing is claimed of their times", async () => {
  const endToEnd = async () => ({ ...loadOf(100), count: 12, errors: 60, failure: "no answer within 10 s" });
  const told = await play({ cluster: { ...SOUND.cluster, endToEnd } }, ACTS, () => true);
  expect(doubtsOf(told)[2]).toMatch(/^only 12 requests were answered, 60 failed: .*; the machine was busy$/);
  expect(savedOf(told, "p50")).toEqual([null, null, null]);
});

test.each([
  [{}, null],
  [
    { count: 0, errors: 76, failure: "no answer within 10 s" },
    "none of 76 requests was answered: no answer within 10 s",
  ],
  [{ count: 0 }, "only 0 requests were answered, 0 failed"],
  [{ errors: 10, failure: "status 503" }, "10 of 60 requests failed: status 503"],
  [{ sendLateMs: 400 }, "requests left 400 ms late: the machine was busy"],
])("figures %j are doubted: %s", (change, doubt) => {
  expect(doubtOf({ ...END_TO_END, ...change }, false)).toBe(doubt);
});

test.each([
  [["spread", "score", "plan", "live"], null],
  [["score", "live"], null],
  [["plan"], "--acts must begin with spread or score, got plan"],
  [[], "--acts must begin with spread or score, got "],
  [["score", "spread"], "--acts must be in the order spread score plan live, each once, got score spread"],
  [["spread", "spread"], "--acts must be in the order spread score plan live, each once, got spread spread"],
] as const)("acts %j: %s", (acts, mistake) => {
  expect(actsMistake(acts)).toBe(mistake);
});
