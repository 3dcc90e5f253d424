// Proposals for running workflows, by a whole plugin on test objects and graphs.
import { PLACEMENT_GATE } from "@isochrone/kubernetes";
import type { ClusterStore } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom } from "@isochrone/runtime";
import type { Clock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import type { ManualClock } from "@isochrone/runtime/testing";
import { WorkflowGraph } from "@isochrone/topology";
import { expect, onTestFinished, test, vi } from "vitest";
import { deschedulerSettings } from "../descheduler/decision/settings.ts";
import { plannerSettings } from "../planner/settings.ts";
import { createSchedulerPlugin } from "../service.ts";
import { MemoryGraphs, workflowSnapshot } from "../testing/graphs.ts";
import { configOf, NAMES, rigClock } from "../testing/rig.ts";
import type { ProposalsConfig } from "./config.ts";

const CONFIG = { intervalMs: 5_000, planMs: 50, maxPairs: 1_000, seed: 1 };
const PODS = { p: { "p-1": "n3" }, q: { "q-1": "n1" }, r: { "r-1": "n3" } };

type Placements = Readonly<Record<string, Readonly<Record<string, string>>>>;
interface Asked {
  readonly proposals?: ProposalsConfig;
  readonly planner?: Readonly<Record<string, unknown>>;
  readonly pods?: Placements;
  readonly specs?: Readonly<Record<string, object>>;
  readonly descheduler?: Readonly<Record<string, unknown>>;
}

const ANY_POD = { minPodAgeMs: 0, allowSingleReplicas: true };

async function storeOf(clock: Clock, { pods = PODS, specs = {} }: Asked): Promise<ClusterStore> {
  const store = createMemoryStore({ clock });
  for (const name of NAMES)
    await store.create({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name, labels: { "kubernetes.io/hostname": name } },
      status: {
        allocatable: { cpu: "4", memory: "8Gi", pods: "10" },
        conditions: [{ type: "Ready", status: "True" }],
      },
    });
  for (const [workload, placed] of Object.entries(pods)) {
    const replicas = Object.keys(placed).length;
    const { metadata } = await store.create({
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { namespace: "shop", name: workload },
      spec: { replicas, template: { spec: { schedulingGates: [{ name: PLACEMENT_GATE }] } } },
      status: { replicas, readyReplicas: replicas },
    });
    for (const [name, nodeName] of Object.entries(placed))
      await store.create({
        apiVersion: "v1",
        kind: "Pod",
        metadata: {
          namespace: "shop",
          name,
          labels: { app: workload },
          ownerReferences: [
            {
              apiVersion: "apps/v1",
              kind: "ReplicaSet",
              name: workload,
              uid: metadata.uid!,
              controller: true,
            },
          ],
        },
        spec: {
          nodeName,
          containers: [{ name: "main", resources: { requests: { cpu: "100m" } } }],
          ...specs[name],
        },
        status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
      });
  }
  return store;
}

async function start(asked: Asked = { proposals: CONFIG }) {
  const clock = rigClock();
  const store = await storeOf(clock, asked);
  const graphs = new MemoryGraphs();
  graphs.setWorkflow(workflowSnapshot(asked.pods ?? PODS));
  const replica = await startReplica(asked, { clock, store, graphs, name: "a" });
  return { clock, graphs, store, ...replica };
}

async function startReplica(
  { proposals, planner, descheduler = {} }: Asked,
  shared: { clock: ManualClock; store: ClusterStore; graphs: MemoryGraphs; name: string },
) {
  const registry = createRegistry();
  const { name, ...deps } = shared;
  const plugin = createSchedulerPlugin(configOf({ replicaName: name, podEvents: false }), {
    ...deps,
    random: seededRandom(1),
    logger: new MemoryLogger(),
    registry,
    ...(proposals === undefined ? {} : { proposals }),
    descheduler: loadSettings([deschedulerSettings], {
      env: {},
      overrides: { descheduler: { ...ANY_POD, ...descheduler } },
    }).descheduler,
    ...(planner === undefined
      ? {}
      : {
          planner: loadSettings([plannerSettings], {
            env: {},
            overrides: { planner: { enabled: true, ...planner } },
          }).planner,
        }),
  });
  await plugin.start();
  onTestFinished(async () => {
    const stopped = plugin.stop();
    await deps.clock.advance(20_000);
    await stopped;
  });
  const plans = async (query: string) => {
    const response = await fetch(`${plugin.address().url}/api/v1/plans${query}`);
    return (await response.json()) as { plans: any[] }; // oxlint-disable-line typescript/no-explicit-any
  };
  /** Waits: the planner's thread starts in real time. */
  const proposed = () =>
    vi.waitFor(
      async () => {
        const { plans: found } = await plans("?kind=proposal");
        if (found.length === 0) throw new Error("nothing is proposed");
        return found;
      },
      { timeout: 90_000, interval: 20 },
    );
  /** Advances rounds until there is a move: a plan must persist before it is shown. */
  const moving = () =>
    vi.waitFor(
      async () => {
        await deps.clock.advance(1_000);
        const [proposal] = (await plans("?kind=proposal")).plans;
        if (proposal === undefined || proposal.pods.length === 0) throw new Error("nobody would move");
        return proposal;
      },
      { timeout: 90_000, interval: 100 },
    );
  const metric = async (line: string): Promise<number> => {
    const found = (await registry.metrics()).split("\n").find((each) => each.startsWith(line));
    return Number(found?.split(" ").at(-1) ?? 0);
  };
  return { plans, proposed, moving, metric };
}

test("a workflow that runs has a proposal: what it costs today, what it could, and who would move", async () => {
  const { clock, plans, moving, store } = await start();
  await clock.advance(6_000);
  const [first] = (await plans("?kind=proposal&namespace=shop")).plans;
  expect(first).toMatchObject({ workflow: "shop/flow", pods: [], savedRatio: 0, gain: 0, gainError: 0 });
  const { today, cost, pods, explanation, gain, gainError, perRequest, savedRatio } = await moving();
  // Not before three rounds and a window of the graphs.
  expect(clock.now() - Date.parse("2026-01-01T00:00:10.000Z")).toBeGreaterThanOrEqual(35_000);
  expect(today.network).toBe(40_000);
  expect(cost.network).toBeLessThan(today.network);
  for (const [index, { name, from, node, step, obstacle, decision }] of pods.entries()) {
    expect(step).toBe(index + 1);
    expect(obstacle).toBeNull();
    expect(from).toBe(Object.assign({}, ...Object.values(PODS))[name]);
    expect(node).not.toBe(from);
    expect(decision).toBeNull();
  }
  expect(pods.reduce((sum: number, each: { gain: number }) => sum + each.gain, 0)).toBeCloseTo(gain, 6);
  expect(gain).toBeGreaterThan(gainError);
  expect(savedRatio).toBe(1 - cost.network / today.network);
  expect(perRequest.todayMs).toBeCloseTo(40_000 / 1_500, 6);
  expect(explanation[0]).toMatch(/^\d moves?: 27 -> \d+(\.\d)? ms per request \(\+- \d+(\.\d)?\)\.$/);
  expect((await plans("")).plans).toEqual([]);
  const pod = await store.get({ apiVersion: "v1", kind: "Pod", namespace: "shop", name: "p-1" });
  expect(pod!.spec!["nodeName"]).toBe("n3");
});

const budgetOf = (app: string, disruptionsAllowed: number) => ({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { namespace: "shop", name: app },
  spec: { selector: { matchLabels: { app } } },
  status: { disruptionsAllowed },
});

test.each([
  ["single replicas", { descheduler: { allowSingleReplicas: false } }, [], /\(single_replica\)$/],
  ["young pods", { descheduler: { minPodAgeMs: 600_000 } }, [], /\(too_young\)$/],
  [
    "pods of PodDisruptionBudgets that allow nothing",
    {},
    ["p", "q", "r"].map((app) => budgetOf(app, 0)),
    /^the PodDisruptionBudget [pqr] allows 0 disruptions now \(disruption_budget\)$/,
  ],
] as const)(
  "%s are no promise: they come with what they would gain",
  async (_, asked, budgets, obstacles) => {
    const { store, moving, plans } = await start({ proposals: CONFIG, ...asked });
    for (const budget of budgets) await store.create(budget);
    const { today, cost, pods, explanation, ...rest } = await moving();
    for (const { obstacle } of pods) expect(obstacle).toMatch(obstacles);
    expect(pods[0].gain).toBeGreaterThan(pods[0].gainError);
    expect(cost).toEqual(today);
    expect(rest).toMatchObject({ savedRatio: 0, gain: 0 });
    expect(explanation[0]).toMatch(/^No move can be made now; /);
    expect((await plans("?kind=proposal")) as unknown).toMatchObject({
      rules: { allowSingleReplicas: !("descheduler" in asked && "allowSingleReplicas" in asked.descheduler) },
    });
  },
);

test("where one pod may not be moved, the others are planned around it", async () => {
  const { store, moving } = await start();
  await store.create(budgetOf("p", 0));
  const { pods, savedRatio } = await moving();
  expect(pods[0]).toMatchObject({ name: "q-1", obstacle: null });
  const blocked = pods.filter(({ name }: { name: string }) => name === "p-1");
  for (const { obstacle } of blocked) expect(obstacle).toMatch(/disruption_budget/);
  expect(savedRatio).toBeGreaterThan(0.5);
});

test("a workflow that is gone, or too large, has none", async () => {
  const { clock, graphs, plans } = await start();
  await clock.advance(6_000);
  graphs.setWorkflow(workflowSnapshot({}));
  await clock.advance(6_000);
  expect((await plans("?kind=proposal")).plans).toEqual([]);
  const small = await start({ proposals: { ...CONFIG, maxPairs: 8 } });
  await small.clock.advance(6_000);
  expect((await small.plans("?kind=proposal")).plans).toEqual([]);
  expect(await small.metric('isochrone_proposals_left_out{reason="too_large"}')).toBe(1);
});

test("those with the most traffic come first, as many as there is room and time for; the others are counted", async () => {
  const names = async (config: Partial<ProposalsConfig>) => {
    const { clock, graphs, plans, metric } = await start({
      proposals: { ...CONFIG, roundMs: 60_000, ...config },
    });
    const snapshot = workflowSnapshot(PODS);
    const of = (name: string, times: number) => {
      const channels = snapshot.channels.map((channel) => {
        return { ...channel, bytesPerSecond: (channel.bytesPerSecond ?? 0) * times };
      });
      return new WorkflowGraph({ ...snapshot, name, channels });
    };
    const all = [of("light", 1), of("heavy", 9), of("middle", 3)];
    graphs.workflows = () => all;
    graphs.workflow = (_, name) => all.find((each) => each.name === name) ?? null;
    await clock.advance(6_000);
    expect(await metric('isochrone_proposals_rounds_total{outcome="done"}')).toBe(1);
    const left = (reason: string) => metric(`isochrone_proposals_left_out{reason="${reason}"}`);
    const found = (await plans("?kind=proposal")).plans.map(({ workflow }) => workflow);
    expect(await metric("isochrone_proposals ")).toBe(found.length);
    return [...found, await left("too_many"), await left("no_time")];
  };
  expect(await names({})).toEqual(["shop/heavy", "shop/middle", "shop/light", 0, 0]);
  expect(await names({ perRound: 2 })).toEqual(["shop/heavy", "shop/middle", 1, 0]);
  expect(await names({ perRound: 2, roundMs: 0 })).toEqual(["shop/heavy", 1, 1]);
});

test("graphs that are too old propose nothing", async () => {
  const { clock, plans, metric } = await start();
  await clock.advance(6_000);
  expect((await plans("?kind=proposal")).plans).toHaveLength(1);
  await clock.advance(120_000);
  expect((await plans("?kind=proposal")).plans).toEqual([]);
  expect(await metric('isochrone_proposals_rounds_total{outcome="no_graph"}')).toBeGreaterThan(0);
});

test("with the planner every replica answers, whether it leads or not; without, none", async () => {
  const { clock, store, graphs, proposed, metric } = await start({ planner: {} });
  const other = await startReplica({ planner: {} }, { clock, store, graphs, name: "b" });
  const alone = await startReplica({ planner: { enabled: false } }, { clock, store, graphs, name: "d" });
  await clock.advance(61_000);
  const moves = (await proposed()).map(({ pods }) => pods);
  expect(moves).toHaveLength(1);
  expect((await other.proposed()).map(({ pods }) => pods)).toEqual(moves);
  expect((await alone.plans("?kind=proposal")).plans).toEqual([]);
  const leading = [
    await metric("isochrone_planner_leading"),
    await other.metric("isochrone_planner_leading"),
  ];
  expect(leading.toSorted((a, b) => a - b)).toEqual([0, 1]);
});

test("the planner's limits hold: how many nodes a workload is on", async () => {
  const pods = { p: { "p-1": "n3", "p-2": "n2" }, q: { "q-1": "n1" }, r: { "r-1": "n1" } };
  const nodesOf = async (planner: Readonly<Record<string, unknown>>) => {
    const { clock, proposed, moving } = await start({
      planner: { ...planner, proposalsIntervalMs: 1_000 },
      pods,
    });
    await clock.advance(2_000);
    await proposed();
    const at: Record<string, string> = { ...pods.p };
    for (const { name, node } of (await moving()).pods) at[name] = node;
    return new Set([at["p-1"], at["p-2"]]).size;
  };
  expect(await nodesOf({})).toBe(2);
  expect(await nodesOf({ hostnameMaxSkew: 0, minNodes: 1, minZones: 1 })).toBe(1);
});

test("pods stay where they alone may be", async () => {
  const only = { nodeSelector: { "kubernetes.io/hostname": "n3" } };
  const gpu = [{ name: "gpu", resourceClaimName: "gpu" }];
  const specs = { "p-1": only, "r-1": only, "q-1": { resourceClaims: gpu } };
  const { clock, proposed } = await start({ planner: { proposalsIntervalMs: 1_000 }, specs });
  await clock.advance(2_000);
  const [{ pods, explanation }] = (await proposed()) as [any]; // oxlint-disable-line typescript/no-explicit-any
  expect(pods).toEqual([]);
  expect(explanation).toContain("q-1 stays: it has resourceClaims (dynamic resource allocation).");
});
