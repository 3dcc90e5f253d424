import type { EndToEnd } from "@isochrone/lab";
import { ManualClock } from "@isochrone/runtime/testing";
import type { ClusterGraphSnapshot, WorkflowGraphSnapshot } from "@isochrone/topology";
import { expect, test } from "vitest";
import { jsonReporter } from "../output/reporters.ts";
import { ACTS, actsMistake, type Act } from "./acts.ts";
import { doubtOf } from "./doubt.ts";
import { rehearse, type Rehearsed } from "./rehearsal.ts";

const AT = "2026-01-01T00:00:00.000Z";
const END_TO_END: EndToEnd = {
  count: 50,
  errors: 0,
  p50Ms: 20,
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
  isBusy: (nowMs: number) => boolean = () => false,
): Promise<Told[]> {
  const clock = new ManualClock();
  const told: Told[] = [];
  const reporter = jsonReporter((line) => void told.push(JSON.parse(line) as Told));
  const { signal } = new AbortController();
  const options = { windowMs: 6_000, acts, reporter, clock, signal, isBusy: () => isBusy(clock.monotonic()) };
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
  const cluster = { ...SOUND.cluster, endToEnd: async () => ({ ...END_TO_END, p95Ms }) };
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

test("what was measured while the machine was busy is measured again, and counts when it has time", async () => {
  const told = await play({}, ["spread"], (nowMs) => nowMs < 8_500);
  expect(told[1]).toMatchObject({ event: "placed", doubt: null });
});

test("on a machine that stays busy the run ends, and no saving is claimed of doubtful figures", async () => {
  const { acts } = (await play({}, ACTS, () => true)).at(-1)!;
  expect(acts!.map(({ doubt }) => doubt)).toEqual(Array(3).fill("the machine was busy"));
  expect(acts![2]!.savedShare).toMatchObject({ p50: null, p95: null });
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
