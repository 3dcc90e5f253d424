// Plans of workflows that run, from a whole plugin on objects and graphs that the test holds.
import type { ClusterStore } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom } from "@isochrone/runtime";
import type { Clock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import type { ManualClock } from "@isochrone/runtime/testing";
import { WorkflowGraph } from "@isochrone/topology";
import { expect, onTestFinished, test, vi } from "vitest";
import { plannerSettings } from "../planner/settings.ts";
import { createSchedulerPlugin } from "../service.ts";
import { MemoryGraphs, workflowSnapshot } from "../testing/graphs.ts";
import { configOf, NAMES, rigClock } from "../testing/rig.ts";
import type { ProposalsConfig } from "./config.ts";

const CONFIG = { intervalMs: 5_000, planMs: 50, maxPairs: 1_000, seed: 1 };
/** p and q are two zones apart from each other. */
const PODS = { p: { "p-1": "n3" }, q: { "q-1": "n1" }, r: { "r-1": "n3" } };

type Placements = Readonly<Record<string, Readonly<Record<string, string>>>>;
interface Asked {
  readonly proposals?: ProposalsConfig;
  /** Settings of the planner, which is on then. */
  readonly planner?: Readonly<Record<string, unknown>>;
  readonly pods?: Placements;
  /** By pod. */
  readonly specs?: Readonly<Record<string, object>>;
}

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
  for (const [workload, placed] of Object.entries(pods))
    for (const [name, nodeName] of Object.entries(placed))
      await store.create({
        apiVersion: "v1",
        kind: "Pod",
        metadata: {
          namespace: "shop",
          name,
          labels: { app: workload },
          ownerReferences: [
            { apiVersion: "apps/v1", kind: "ReplicaSet", name: workload, uid: workload, controller: true },
          ],
        },
        spec: {
          nodeName,
          containers: [{ name: "main", resources: { requests: { cpu: "100m" } } }],
          ...specs[name],
        },
        status: { phase: "Running" },
      });
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
  { proposals, planner }: Asked,
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
  /** Once there are any: the planner's thread starts in its own time. */
  const proposed = () =>
    vi.waitFor(
      async () => {
        const { plans: found } = await plans("?kind=proposal");
        if (found.length === 0) throw new Error("nothing is proposed");
        return found;
      },
      { timeout: 90_000, interval: 20 },
    );
  const metric = async (line: string): Promise<number> => {
    const found = (await registry.metrics()).split("\n").find((each) => each.startsWith(line));
    return Number(found?.split(" ").at(-1) ?? 0);
  };
  return { plans, proposed, metric };
}

test("a workflow that runs has a proposal: what it costs today, what it could, and who would move", async () => {
  const { clock, plans, store } = await start();
  await clock.advance(6_000);
  const { plans: proposals } = await plans("?kind=proposal&namespace=shop");
  expect(proposals).toHaveLength(1);
  const [{ workflow, today, cost, pods, explanation }] = proposals as [(typeof proposals)[0]];
  expect(workflow).toBe("shop/flow");
  // p -> q: 1,000 B/s over 40 ms; r is where p is.
  expect(today.network).toBe(40_000);
  expect(cost.total).toBeLessThan(today.total);
  expect(pods.length).toBeGreaterThan(0);
  for (const { name, from, node, gain, obstacle, decision } of pods) {
    expect(gain).toBeGreaterThan(0);
    expect(obstacle).toBeNull();
    expect(from).toBe(Object.assign({}, ...Object.values(PODS))[name]);
    expect(node).not.toBe(from);
    expect(decision).toBeNull();
  }
  const { savedRatio } = proposals[0]!;
  expect(savedRatio).toBe(1 - cost.network / today.network);
  const percent = (100 * savedRatio).toFixed(1).replace(/\.0$/, "");
  expect(explanation[0]).toBe(
    `${pods.length} of 3 pods would move; that saves ${percent} % of what the network costs.`,
  );
  // Proposals are no plans, and nobody is moved by them.
  expect((await plans("")).plans).toEqual([]);
  const pod = await store.get({ apiVersion: "v1", kind: "Pod", namespace: "shop", name: "p-1" });
  expect(pod!.spec!["nodeName"]).toBe("n3");
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
    const { clock, proposed } = await start({ planner: { ...planner, proposalsIntervalMs: 1_000 }, pods });
    await clock.advance(2_000);
    const at: Record<string, string> = { ...pods.p };
    for (const { name, node } of (await proposed())[0].pods) at[name] = node;
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
