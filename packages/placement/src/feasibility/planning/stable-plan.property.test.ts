// The file is longer than 400 lines because all of its tests share the worlds that it generates.
import { seeded, type Draw } from "@isochrone/primitives";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { Link } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { channel, link, node, workload } from "../../testing/index.ts";
import type { ApiObject } from "../objects/json.ts";
import { SchedulingModel } from "../scheduling-model.ts";
import { plan } from "../../planner/search/plan.ts";
import { planVerdict } from "./plan-words.ts";
import { nextShown, NOTHING_SHOWN, type ShownPlan } from "./shown-plan.ts";
import { openProblem, runningWorkflow, workflowPlan } from "./workflow-plan.ts";
import type { PreviousMoves, WorkflowPlanReport } from "./plan-report.ts";
import { searchSettings, WorkflowSteps } from "./workflow-steps.ts";

const AT = "2026-01-01T00:00:00.000Z";
interface Truth {
  readonly nodes: readonly string[];
  readonly rttMs: (a: string, b: string) => number;
  readonly placed: Readonly<Record<string, string>>;
  readonly channels: readonly (readonly [source: string, target: string, bytesPerSecond: number])[];
}

const REGIONS = ["west", "east", "north"];

function truthOf(seed: number): Truth {
  const draw = seeded(seed);
  const nodes = REGIONS.flatMap((region) => [1, 2, 3].map((at) => `${region}-${at}`));
  const rtts = new Map<string, number>();
  const regionOf = (name: string): string => name.split("-")[0]!;
  // Regions differ little, so many plans cost nearly the same.
  for (const [index, a] of nodes.entries())
    for (const b of nodes.slice(index + 1))
      rtts.set([a, b].sort().join(" "), regionOf(a) === regionOf(b) ? 1 + draw() : 60 + 30 * draw());
  const workloads = Array.from({ length: 8 }, (_, at) => `w${at}`);
  const placed = Object.fromEntries(
    workloads.map((name) => [name, nodes[Math.floor(draw() * nodes.length)]!]),
  );
  const channels = workloads.slice(1).map((name, at) => {
    const caller = workloads[Math.floor(draw() * (at + 1))]!;
    return [caller, name, 2_000 + 20_000 * draw()] as const;
  });
  return { nodes, rttMs: (a, b) => rtts.get([a, b].sort().join(" "))!, placed, channels };
}

const SAMPLES = 60;

function measured(source: string, target: string, rttMs: number, draw: Draw): Link {
  const spread = 0.05 * rttMs + 0.3;
  const deviationMs = (1.25 * spread) / Math.sqrt(SAMPLES);
  const p50 = rttMs + deviationMs * normal(draw);
  const p90 = p50 + 1.28 * spread;
  const rtt = { p50, p90, p99: null, mean: p50, count: SAMPLES };
  return link(source, target, p50, { rttMs: rtt, errorMs: 2 * deviationMs });
}

function normal(draw: Draw): number {
  return Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
}

/** Relative error of some hundred requests per window. */
const RATE_SPREAD = 0.05;

function graphsOf(truth: Truth, draw: Draw): { cluster: ClusterGraph; workflow: WorkflowGraph } {
  const { nodes, placed } = truth;
  const links = nodes.flatMap((a) =>
    nodes.filter((b) => b !== a).map((b) => measured(a, b, truth.rttMs(a, b), draw)),
  );
  const all = nodes.map((name) => node(name, null, null, { region: name.split("-")[0]! }));
  return {
    cluster: new ClusterGraph({ version: 1, observedAt: AT, windowSeconds: 30, nodes: all, links }),
    workflow: new WorkflowGraph({
      version: 1,
      observedAt: AT,
      namespace: "shop",
      name: "flow",
      workloads: Object.entries(placed).map(([name, on]) =>
        workload(name, { cpu: null, memory: null }, { [`${name}-1`]: on }),
      ),
      channels: truth.channels.map(([source, target, rate]) =>
        channel(source, target, rate * (1 + RATE_SPREAD * normal(draw))),
      ),
    }),
  };
}

/** @param cpuOf determines how many pods fit on a node */
function objectsOf(
  { nodes, placed }: Truth,
  cpuOf: (node: string) => string,
): { model: SchedulingModel; pods: ApiObject[] } {
  const pods = Object.entries(placed).map(
    ([name, nodeName]): ApiObject =>
      ({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { namespace: "shop", name: `${name}-1`, uid: name, labels: { app: name } },
        spec: { nodeName, containers: [{ resources: { requests: { cpu: "1" } } }] },
        status: { phase: "Running" },
      }) as ApiObject,
  );
  const objects = nodes.map((name) => ({
    metadata: { name, labels: { "kubernetes.io/hostname": name } },
    status: {
      allocatable: { cpu: cpuOf(name), memory: "8Gi", pods: "20" },
      conditions: [{ type: "Ready", status: "True" }],
    },
  }));
  return { model: SchedulingModel.of({ nodes: objects, pods }), pods };
}

const EFFORT_MS = 15;

interface Asked {
  readonly seed?: number;
  readonly previous?: PreviousMoves;
  readonly cpuOf?: (node: string) => string;
  readonly obstacleOf?: (pod: ApiObject) => string | null;
}

function planOf(
  truth: Truth,
  draw: Draw,
  { seed = 1, previous, cpuOf = () => "8", obstacleOf }: Asked = {},
): WorkflowPlanReport {
  let now = 0;
  return workflowPlan({
    ...objectsOf(truth, cpuOf),
    ...graphsOf(truth, draw),
    seed,
    budgetMs: EFFORT_MS,
    now: () => (now += 0.01),
    obstacleOf,
    ...(previous === undefined ? {} : { previous }),
  })!;
}

const movesOf = ({ moves }: WorkflowPlanReport): PreviousMoves => [
  ...Map.groupBy(moves, ({ step }) => step).values(),
];
const textOf = ({ moves }: WorkflowPlanReport): string =>
  moves
    .map(({ pod, to }) => `${pod} ${to}`)
    .sort((a, b) => (a < b ? -1 : 1))
    .join();

const WINDOWS = 12;

/** Number of windows in which the plan changes. */
function flipsOf(seed: number, remembers: boolean): number {
  const truth = truthOf(seed);
  const draw = seeded(1_000 + seed);
  let flips = 0;
  let before: WorkflowPlanReport | null = null;
  for (let window = 0; window < WINDOWS; window++) {
    const previous = remembers && before !== null ? movesOf(before) : undefined;
    const found = planOf(truth, draw, { seed: window, ...(previous === undefined ? {} : { previous }) });
    if (before !== null && textOf(before) !== textOf(found)) flips++;
    before = found;
  }
  return flips;
}

const SEEDS = Array.from({ length: 6 }, (_, seed) => seed + 1);

describe("the plan of a workflow that runs, while nothing changes", () => {
  test("stays the same one in windows that are measured with noise", () => {
    const kept = SEEDS.map((seed) => flipsOf(seed, true));
    const forgotten = SEEDS.map((seed) => flipsOf(seed, false));
    const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);
    console.log(
      `plans that became others in ${SEEDS.length * (WINDOWS - 1)} windows: ${sum(kept)}, without memory ${sum(forgotten)}`,
    );
    // A search from scratch keeps finding different plans of nearly equal cost.
    expect(sum(forgotten)).toBeGreaterThan(5);
    expect(sum(kept)).toBeLessThanOrEqual(1);
  });
});

const QUIET: Draw = () => 0.75;

function truth(
  placed: Readonly<Record<string, string>>,
  channels: Truth["channels"],
  farMs: (a: string, b: string) => number = () => 70,
): Truth {
  const nodes = REGIONS.flatMap((region) => [1, 2].map((at) => `${region}-${at}`));
  const regionOf = (name: string): string => name.split("-")[0]!;
  return {
    nodes,
    rttMs: (a, b) => (regionOf(a) === regionOf(b) ? 2 : farMs(regionOf(a), regionOf(b))),
    placed,
    channels,
  };
}

const FIVE = { w0: "west-1", w1: "west-1", w2: "west-1", w3: "east-1", w4: "east-1" };
const CHAIN = [
  ["w0", "w1", 9_000],
  ["w1", "w2", 9_000],
  ["w2", "w3", 9_000],
  ["w3", "w4", 9_000],
] as const;

describe("the moves of a plan", () => {
  test("are two where two do, though five others would save a trifle more", () => {
    const given = truth(FIVE, CHAIN);
    // Idle nodes in another region attract all five if a move costs nothing.
    const cpuOf = (name: string): string => (name.startsWith("north") ? "66" : "64");
    const found = planOf(given, QUIET, { cpuOf });
    expect(textOf(found)).toBe("w3-1 west-1,w4-1 west-1");
    const { model, pods } = objectsOf(given, cpuOf);
    const byKey = new Map(pods.map((pod) => [`shop/${pod.metadata.name}`, pod]));
    const running = runningWorkflow({ model, podOf: (key) => byKey.get(key), ...graphsOf(given, QUIET) })!;
    const free = plan(running.problem, { seed: 1, now: () => 0, deadlineMs: 1, effort: 50_000 });
    expect(free.assignment.filter((at, pod) => at !== running.problem.pods[pod]!.current)).toHaveLength(5);
    expect(free.cost.total).toBeLessThan(found.best.total);
  });

  test("are none among nodes that are as good as each other", () => {
    const found = planOf(truth({ w0: "west-1", w1: "west-1" }, [["w0", "w1", 9_000]]), QUIET);
    expect(found.moves).toEqual([]);
    expect(found.best).toEqual(found.today);
    expect(planVerdict(found)).toBe("No move would be worth an eviction.");
  });

  test("are none for what measuring alone may have made", () => {
    // Each node has room for one pod, so w0 can only go to east-1.
    const movesAt = (westMs: number): number => {
      const given = truth({ w0: "west-1", w1: "north-1" }, [["w0", "w1", 9_000]], (a, b) => {
        const ends = new Set([a, b]);
        return ends.has("north") ? (ends.has("west") ? westMs : 20) : 70;
      });
      const nodes = ["west-1", "east-1", "north-1"];
      return planOf({ ...given, nodes }, QUIET, { cpuOf: () => "1" }).moves.length;
    };
    expect(movesAt(20.2)).toBe(0);
    expect(movesAt(30)).toBe(1);
  });

  test("come with what each saves after those before it, the most first, and can be made in that order", () => {
    const placed = { w0: "west-1", w1: "east-1", w2: "north-1" };
    const found = planOf(
      truth(placed, [
        ["w0", "w1", 30_000],
        ["w0", "w2", 3_000],
      ]),
      QUIET,
    );
    const gains = found.moves.map(({ gain }) => gain);
    expect(found.moves.length).toBe(2);
    expect(gains).toEqual(gains.toSorted((a, b) => b - a));
    for (const gain of gains) expect(gain).toBeGreaterThan(1_000);
    expect(found.moves.map(({ obstacle }) => obstacle)).toEqual([null, null]);
    expect(found.savedRatio).toBe(1 - found.best.network / found.today.network);
    expect(planVerdict(found)).toBe("2 moves: 70 -> 0.18 ms per request (+- 7.2).");
  });

  test("that wait for each other say what stands in the way", () => {
    // Two separated pairs on full nodes must exchange places.
    const placed = { a0: "west-1", a1: "east-1", b0: "east-1", b1: "west-1" };
    const given = {
      ...truth(placed, [
        ["a0", "a1", 30_000],
        ["b0", "b1", 30_000],
      ]),
      nodes: ["west-1", "east-1"],
    };
    const found = planOf(given, QUIET, { cpuOf: () => "2" });
    expect(found.moves).toHaveLength(2);
    expect(found.moves[0]!.obstacle).toMatch(
      /^(west|east)-1 has too little cpu until other pods have left it$/,
    );
  });

  test("follow the network when it really changes, and are forgotten when they don't pay any more", () => {
    const placed = { w0: "west-1", w1: "west-2" };
    const channels = [["w0", "w1", 9_000]] as const;
    const near = truth(placed, channels);
    const slow = {
      ...near,
      rttMs: (a: string, b: string) =>
        a.startsWith("west") && b.startsWith("west") ? 120 : near.rttMs(a, b),
    };
    const pinned = { cpuOf: (name: string) => (name.startsWith("west") ? "1" : "8") };
    const before = planOf(slow, QUIET, pinned);
    expect(before.moves.length).toBeGreaterThan(0);
    const again = planOf(slow, QUIET, { ...pinned, seed: 2, previous: movesOf(before) });
    expect(textOf(again)).toBe(textOf(before));
    // The plan costs more than staying.
    const healed = {
      ...near,
      rttMs: (a: string, b: string) => (a.startsWith("west") && b.startsWith("west") ? 0.1 : 300),
    };
    const pods = { cpuOf: () => "1" };
    const after = planOf(healed, QUIET, { ...pods, previous: [[{ pod: "w0-1", to: "east-1" }]] });
    expect(after.moves).toEqual([]);
  });
});

class Rounds {
  readonly #draw: Draw;
  memory: ShownPlan = NOTHING_SHOWN;
  #nowMs = 0;

  constructor(draw: Draw) {
    this.#draw = draw;
  }

  next(given: Truth): WorkflowPlanReport {
    const { model, pods } = objectsOf(given, () => "8");
    const byKey = new Map(pods.map((pod) => [`shop/${pod.metadata.name}`, pod]));
    const running = runningWorkflow({
      model,
      podOf: (key) => byKey.get(key),
      ...graphsOf(given, this.#draw),
    })!;
    const settings = { seed: this.#nowMs, now: () => 0, deadlineMs: 1, effort: 3_000 };
    const open = plan(openProblem(running), { ...settings, ...searchSettings(running.problem, {}) });
    const found = { open, blocked: null };
    const steps = new WorkflowSteps(running, {});
    const moved = steps.fresh(found).steps.flatMap(({ moves }) => moves.map(({ pod }) => pod));
    if (new Set(moved).size < moved.length) throw new Error(`a pod moves twice: ${moved.join(" ")}`);
    const { shown, memory } = nextShown(steps, this.memory, { found, nowMs: this.#nowMs, windowMs: 60_000 });
    this.memory = memory;
    this.#nowMs += 30_000;
    return steps.report(shown, found);
  }
}

const HOUR_ROUNDS = 120;
const FIVE_MINUTES = 10;

describe("a plan that is shown round after round", () => {
  test("isn't withdrawn within five minutes while the network only seems to change", () => {
    const withdrawn: string[] = [];
    /** Collects moves withdrawn within five minutes. */
    const shownFor = (rounds: Rounds, given: Truth): string => {
      const since = new Map<string, number>();
      let last = "";
      for (let round = 0; round < HOUR_ROUNDS / 4; round++) {
        last = textOf(rounds.next(given));
        const moves = new Set(last === "" ? [] : last.split(","));
        for (const [move, first] of since) {
          if (moves.has(move)) continue;
          if (round - first < FIVE_MINUTES) withdrawn.push(move);
          since.delete(move);
        }
        for (const move of moves) if (!since.has(move)) since.set(move, round);
      }
      return last;
    };
    for (const seed of SEEDS.slice(0, 4)) {
      const given = truthOf(seed);
      const shown = shownFor(new Rounds(seeded(7_000 + seed)), given);
      expect(shown).not.toBe("");
      const moved = Object.fromEntries(shown.split(",").map((move) => move.split(" ")));
      const made = { ...given, placed: { ...given.placed, ...renamed(moved) } };
      shownFor(new Rounds(seeded(8_000 + seed)), made);
    }
    expect(withdrawn).toEqual([]);
  });

  test("comes after three rounds and a window, and goes after five minutes in which it gains too little", () => {
    const far = truth({ w0: "west-1", w1: "east-1" }, [["w0", "w1", 9_000]]);
    const near = { ...far, rttMs: () => 0.02 };
    const rounds = new Rounds(QUIET);
    const counts = [...Array.from({ length: 3 }, () => far), ...Array.from({ length: 12 }, () => near)].map(
      (given) => rounds.next(given).moves.length,
    );
    expect(counts).toEqual([0, 0, ...Array.from({ length: 11 }, () => 1), 0, 0]);
  });
});

function renamed(moved: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(moved).map(([pod, node]) => [pod.replace(/-1$/, ""), node]));
}

describe("nodes that are alike", () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])(
    "never change places, whatever measuring makes of them (%i)",
    (seed) => {
      const draw = seeded(50 + seed);
      const nodes = REGIONS.slice(0, 2).flatMap((region) => [1, 2, 3, 4].map((at) => `${region}-${at}`));
      const workloads = Array.from({ length: 4 }, (_, at) => `w${at}`);
      const channels = workloads.slice(1).map((name) => ["w0", name, 5_000 + 10_000 * draw()] as const);
      // All permutations, and the mirror image in the other region, are equally good.
      const placed = Object.fromEntries(workloads.map((name, at) => [name, nodes[at]!]));
      const rttMs = (a: string, b: string): number => (a[0] === b[0] ? 2 : 40);
      for (let window = 0; window < 5; window++)
        expect(
          textOf(planOf({ nodes, rttMs, placed, channels }, draw, { seed: window, cpuOf: () => "1" })),
        ).toBe("");
    },
  );
});

describe("moves that can't be carried out now", () => {
  const placed = { w0: "west-1", w1: "east-1", w2: "north-1" };
  const given = truth(placed, [
    ["w0", "w1", 30_000],
    ["w0", "w2", 3_000],
  ]);
  const blockedBy =
    (...names: readonly string[]) =>
    (pod: ApiObject) =>
      names.includes(pod.metadata.name) ? "single_replica: nothing would serve while it moves" : null;

  test("don't count in what is saved, and come last with what they would gain", () => {
    const found = planOf(given, QUIET, { obstacleOf: blockedBy("w2-1", "w0-1") });
    const [first, second] = found.moves;
    expect(first).toMatchObject({ pod: "w1-1", to: "west-1", step: 1, obstacle: null });
    expect(second).toMatchObject({
      pod: "w2-1",
      to: expect.stringMatching(/^west/),
      step: 2,
      obstacle: expect.stringMatching(/single_replica/),
    });
    expect(second!.gain).toBeGreaterThan(100_000);
    expect(found.gain).toBe(first!.gain);
    expect(found.today.network - found.best.network).toBeCloseTo(first!.gain, -4);
    expect(planVerdict(found)).toMatch(
      /^1 move: 70 -> 6\.\d ms per request \(\+- \d\.\d\)\. 1 move more can't be made now\.$/,
    );
  });

  test("save nothing where there are no others", () => {
    const found = planOf(given, QUIET, { obstacleOf: blockedBy("w0-1", "w1-1", "w2-1") });
    expect(found.moves.length).toBeGreaterThan(0);
    expect(found.best).toEqual(found.today);
    expect(found).toMatchObject({ gain: 0, savedRatio: 0 });
    expect(planVerdict(found)).toMatch(/^No move can be made now; \d moves? would gain\.$/);
  });
});
