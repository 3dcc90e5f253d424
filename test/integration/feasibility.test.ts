// Our model of kube-scheduler's filters against a real kube-scheduler, case by case: a case is a pod and a
// cluster, each node is tried.
//
// kube-scheduler judges all nodes in one attempt; an extender hears which ones its filters let through and
// refuses them, so nothing is bound and the next pod finds the cluster as it was. Clusters come one after the
// other with nothing else in them, so no selector has to keep them apart, which would take part in the
// verdict itself.
//
// CI runs 200 cases. ISOCHRONE_TEST_FEASIBILITY_CASES=1000 runs as many; ISOCHRONE_TEST_SEED gives others.
import type { KubernetesObject } from "@isochrone/kubernetes";
import { inQueueOrder, plan, planProblem, SchedulingModel } from "@isochrone/placement";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { setTimeout as sleep } from "node:timers/promises";
import { FILTER_PLUGINS, type FilterPlugin } from "@isochrone/placement/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";
import { generateCluster } from "./feasibility/cases.ts";
import { Testbed, type Asked } from "./feasibility/testbed.ts";
import { Judge, SCHEDULER_CONFIG } from "./feasibility/judge.ts";
import { Landing } from "./feasibility/landing.ts";
import { sharedObjects } from "./feasibility/shared.ts";
import { isAgreed, Tally } from "./feasibility/tally.ts";
import { generateWorkloads } from "./feasibility/workloads.ts";

const CASES = Number(process.env["ISOCHRONE_TEST_FEASIBILITY_CASES"] ?? 200);
const SEED = Number(process.env["ISOCHRONE_TEST_SEED"] ?? 7);
const PODS_PER_CLUSTER = 20;
const NOT_MET: readonly FilterPlugin[] = ["Unsupported", "NodeName"];

const PLANS = Math.max(12, Math.round(CASES / 20));
const OBSERVED = { version: 1, observedAt: "2026-01-01T00:00:00.000Z" };
const EMPTY_GRAPHS = {
  cluster: new ClusterGraph({ ...OBSERVED, windowSeconds: 30, nodes: [], links: [] }),
  workflow: new WorkflowGraph({ ...OBSERVED, namespace: "front", name: "flow", workloads: [], channels: [] }),
};

const support = controlPlaneSupport(["scheduler"]);
if (!support.supported) console.warn(`feasibility is not tested on a real kube-scheduler: ${support.reason}`);

describe.runIf(support.supported)("the model of kube-scheduler's filters", () => {
  let plane: ControlPlane;
  let judge: Judge;
  let testbed: Testbed;

  beforeAll(async () => {
    judge = await Judge.start();
    plane = await startControlPlane({
      components: ["scheduler"],
      schedulerConfig: SCHEDULER_CONFIG(judge.url),
    });
    testbed = new Testbed(plane, judge);
    await plane.create(sharedObjects());
  }, 120_000);
  afterEach(() => testbed.clear());
  afterAll(async () => {
    await plane?.close();
    await judge?.close();
  });

  test(`says what a real one says, node by node, in ${CASES} cases`, { timeout: 900_000 }, async () => {
    const tally = new Tally();
    for (let round = 0; round * PODS_PER_CLUSTER < CASES; round++) {
      const name = `c${round}`;
      const generated = generateCluster(SEED * 100_000 + round, name, PODS_PER_CLUSTER);
      await testbed.build(generated);
      const asked = await testbed.ask(generated.asked, name);
      const model = SchedulingModel.of(await testbed.objects());
      for (const [index, one] of asked.entries()) {
        if (isAgreed(one, model)) tally.add(one, model);
        else tally.add(await askAgain(generated.asked[index]!, name), model);
      }
      await testbed.clear();
    }
    console.log(tally.summary);
    expect(tally.wrongYes).toEqual([]);
    // The requirement is less than 1 %.
    expect(tally.wrongNo).toEqual([]);
    expect(tally.otherWords).toEqual([]);
    // Each filter decided on some nodes, and passed others that it had to check.
    for (const plugin of FILTER_PLUGINS.filter((plugin) => !NOT_MET.includes(plugin))) {
      expect(tally.rejections.get(plugin) ?? 0, `${plugin} says no`).toBeGreaterThan(0);
      expect(tally.passes.get(plugin) ?? 0, `${plugin} says yes`).toBeGreaterThan(0);
    }
  });

  /** kube-scheduler may not know a node or volume yet, because it watches them separately from pods. */
  const askAgain = async (pod: KubernetesObject, label: string): Promise<Asked> => {
    await sleep(500);
    const again = { ...pod, metadata: { ...pod.metadata, name: `${pod.metadata.name}-again` } };
    return (await testbed.ask([again], label))[0]!;
  };

  test(`foretells what becomes of ${PLANS} plans, pod by pod`, { timeout: 600_000 }, async () => {
    const fates = { landed: 0, refused: 0, before: 0, unplaced: 0 };
    for (let round = 0; round < PLANS; round++) {
      const name = `p${round}`;
      const { nodes, csiNodes, placed } = generateCluster(SEED * 200_000 + round, name, 0);
      await testbed.build({ nodes, csiNodes, placed: placed.slice(0, 8), nominated: [], asked: [] });
      const pods: KubernetesObject[] = [];
      for (const pod of generateWorkloads(SEED * 300_000 + round, name)) pods.push(await testbed.create(pod));
      const model = SchedulingModel.of(await testbed.objects());
      const problem = planProblem({ model, pods, ...EMPTY_GRAPHS });
      const { assignment } = plan(problem, { seed: 1, now: () => 0, deadlineMs: 1, partial: true });
      const { steps } = inQueueOrder({ model, pods, assignment });
      fates.unplaced += pods.length - steps.length;
      fates.before += steps.filter(({ before }) => before).length;
      // Every second plan lands step by step; the others are nominated as a whole.
      const landing = new Landing({ testbed, judge, model, pods, steps, atOnce: round % 2 === 1 });
      for await (const { said, got, target, foretold } of landing.run()) {
        expect(got, `to ${target}: ${said}`).toBe(foretold === null ? target : null);
        fates[foretold === null ? "landed" : "refused"]++;
      }
      await testbed.clear();
    }
    console.log(fates);
    expect(fates.landed).toBeGreaterThan(PLANS * 3);
    expect(fates.before).toBeGreaterThan(0);
  });
});
