// Plans of workflows that run, from a whole plugin on objects and graphs that the test holds.
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, seededRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { expect, onTestFinished, test } from "vitest";
import { createSchedulerPlugin } from "../service.ts";
import { MemoryGraphs, workflowSnapshot } from "../testing/graphs.ts";
import { configOf, NAMES, rigClock } from "../testing/rig.ts";

const CONFIG = { intervalMs: 5_000, planMs: 50, maxPairs: 1_000, seed: 1 };
/** p and q are two zones apart from each other. */
const PODS = { p: { "p-1": "n3" }, q: { "q-1": "n1" }, r: { "r-1": "n3" } };

async function start(config = CONFIG) {
  const clock = rigClock();
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
  for (const [workload, pods] of Object.entries(PODS))
    for (const [name, nodeName] of Object.entries(pods))
      await store.create({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { namespace: "shop", name, labels: { app: workload } },
        spec: { nodeName, containers: [{ name: "main", resources: { requests: { cpu: "100m" } } }] },
        status: { phase: "Running" },
      });
  const graphs = new MemoryGraphs();
  graphs.setWorkflow(workflowSnapshot(PODS));
  const plugin = createSchedulerPlugin(configOf(), {
    clock,
    random: seededRandom(1),
    logger: new MemoryLogger(),
    registry: createRegistry(),
    graphs,
    store,
    proposals: config,
  });
  await plugin.start();
  onTestFinished(() => plugin.stop());
  const plans = async (query: string) => {
    const response = await fetch(`${plugin.address().url}/api/v1/plans${query}`);
    return (await response.json()) as { plans: any[] }; // oxlint-disable-line typescript/no-explicit-any
  };
  return { clock, graphs, store, plans };
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
  for (const { name, from, node, decision } of pods) {
    expect(from).toBe(Object.assign({}, ...Object.values(PODS))[name]);
    expect(node).not.toBe(from);
    expect(decision).toBeNull();
  }
  expect(explanation[0]).toMatch(/^\d of 3 pods would move; that saves \d+ %/);
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
  const small = await start({ ...CONFIG, maxPairs: 8 });
  await small.clock.advance(6_000);
  expect((await small.plans("?kind=proposal")).plans).toEqual([]);
});
