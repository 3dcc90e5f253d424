import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ApiObject } from "../objects/json.ts";
import { aModel, aNode, aPod, HOST, spreadOver, ZONE, type PodFields } from "../testing/objects.ts";
import { DefaultScores, type ScorePlugin, type SelectingObjects } from "./default-scores.ts";

/**
 * Written by `node tools/node24.mjs test/experiments/kube-scheduler-record.ts`, which documents the fields.
 */
interface Recording {
  readonly kubernetes: string;
  readonly plugins: readonly ("NodeResourcesFit" | "NodeResourcesBalancedAllocation" | "PodTopologySpread")[];
  readonly clusters: readonly {
    readonly nodes: readonly (readonly [cpu: number, memory: number, maxPods: number, zone: string])[];
    readonly workloads: readonly (readonly [cpu: number, memory: number])[];
    readonly placed: readonly (readonly [workload: number, node: number])[];
    readonly decisions: readonly (readonly [
      workload: number,
      pin: number,
      feasible: readonly number[],
      choice: number,
      scores: readonly (readonly number[])[],
    ])[];
  }[];
}

const recording = JSON.parse(
  readFileSync(join(import.meta.dirname, "testing/decisions.json"), "utf8"),
) as Recording;

const service = (app: string): ApiObject => ({ metadata: { name: app }, spec: { selector: { app } } });

interface Agreement {
  decisions: number;
  feasible: number;
  onTop: number;
  choices: number;
  scores: number;
  /** Number of eligible nodes, and of those that share the highest score. */
  candidates: number;
  best: number;
  readonly disagreements: string[];
}

function replay(): Agreement {
  const agreement: Agreement = {
    decisions: 0,
    feasible: 0,
    onTop: 0,
    choices: 0,
    scores: 0,
    candidates: 0,
    best: 0,
    disagreements: [],
  };
  for (const [at, { nodes, workloads, placed, decisions }] of recording.clusters.entries()) {
    const pod = (name: string, workload: number, pin: number, node?: number): ApiObject => {
      const [cpu, memory] = workloads[workload]!;
      return aPod(name, {
        labels: { app: `w${workload}` },
        requests: {
          ...(cpu === 0 ? {} : { cpu: `${cpu}m` }),
          ...(memory === 0 ? {} : { memory: `${memory}` }),
        },
        spec: pin < 0 ? {} : { nodeSelector: { [HOST]: `n${pin}` } },
        ...(node === undefined ? {} : { node: `n${node}` }),
      });
    };
    const model = aModel(
      nodes.map(([cpu, memory, maxPods, zone], index) => {
        const allocatable = { cpu: `${cpu}m`, memory: String(memory), pods: String(maxPods) };
        return aNode(`n${index}`, zone === "" ? null : zone, { allocatable });
      }),
      placed.map(([workload, node], index) => pod(`placed-${index}`, workload, -1, node)),
    );
    const profile = new DefaultScores(model, { services: workloads.map((_, index) => service(`w${index}`)) });
    for (const [index, [workload, pin, feasible, choice, scores]] of decisions.entries()) {
      const asked = pod(`pod-${index}`, workload, pin);
      const name = `cluster ${at}, decision ${index}`;
      agreement.decisions++;
      const ours = model.nodes.map(({ name }) => name).filter((node) => model.verdict(asked, node) === null);
      const isEqual = ours.join() === feasible.map((node) => `n${node}`).join();
      if (isEqual) agreement.feasible++;
      else agreement.disagreements.push(`${name}: feasible`);
      if (choice < 0) continue;
      agreement.choices++;
      const totals = profile.totals(asked, ours);
      const most = Math.max(...totals);
      // kube-scheduler doesn't score a single feasible node.
      const best = ours.length === 1 ? ours : ours.filter((_, row) => totals[row] === most);
      agreement.candidates += feasible.length;
      agreement.best += best.length;
      if (best.includes(`n${choice}`)) agreement.onTop++;
      else agreement.disagreements.push(`${name}: choice`);
      const made = profile.byPlugin(asked, ours);
      const same = recording.plugins.every((plugin, row) => {
        const real = scores[row] ?? [];
        return real.length === 0 || real.join() === made[plugin].join();
      });
      if (same) agreement.scores++;
      else agreement.disagreements.push(`${name}: scores`);
      model.place(asked, `n${choice}`);
    }
  }
  return agreement;
}

describe(`500 decisions of a real kube-scheduler ${recording.kubernetes}`, () => {
  const agreement = replay();

  test("are as many, and tell something: pods have a choice, and some have none", () => {
    expect(agreement.decisions).toBe(500);
    const all = recording.clusters.flatMap(({ decisions }) => decisions);
    expect(all.filter(([, , feasible]) => feasible.length > 2).length).toBeGreaterThan(300);
    expect(all.filter(([, , , choice]) => choice < 0).length).toBeGreaterThan(5);
    expect(agreement.best / agreement.candidates).toBeLessThan(0.3);
  });

  test("were made among the same feasible nodes, all of them", () => {
    expect(agreement.disagreements.filter((text) => text.endsWith("feasible"))).toEqual([]);
    expect(agreement.feasible).toBe(agreement.decisions);
  });

  test("are among the model's best, and rest on the same score of each plugin for each node", () => {
    expect(agreement.disagreements).toEqual([]);
    expect(agreement.choices).toBe(482);
    expect(agreement.onTop).toBe(agreement.choices);
    expect(agreement.scores).toBe(agreement.choices);
  });
});

const web = (name: string, fields: PodFields = {}): ApiObject =>
  aPod(name, { labels: { app: "web" }, requests: { cpu: "1", memory: "2Gi" }, ...fields });
const scoresOf = (
  pod: ApiObject,
  nodes: readonly ApiObject[],
  { placed = [], ...others }: Partial<SelectingObjects> & { readonly placed?: readonly ApiObject[] } = {},
): Record<ScorePlugin, number[]> => {
  const scores = new DefaultScores(aModel(nodes, placed), { services: [service("web")], ...others });
  const byPlugin = scores.byPlugin(
    pod,
    nodes.map(({ metadata }) => metadata.name),
  );
  return {
    NodeResourcesFit: [...byPlugin.NodeResourcesFit],
    NodeResourcesBalancedAllocation: [...byPlugin.NodeResourcesBalancedAllocation],
    PodTopologySpread: [...byPlugin.PodTopologySpread],
    NodeAffinity: [...byPlugin.NodeAffinity],
  };
};

describe("scores by hand", () => {
  test("free CPU and memory are averaged, and imbalance is taken from 100", () => {
    const scores = scoresOf(web("web-0"), [aNode("a"), aNode("b", null, { allocatable: { cpu: "2" } })]);
    // a: 75 % of both stay free; b: 50 % of CPU, 75 % of memory.
    expect(scores.NodeResourcesFit).toEqual([75, 62]);
    expect(scores.NodeResourcesBalancedAllocation).toEqual([100, 87]);
  });

  test("a pod without requests counts as 100m and 200Mi for what is free, and isn't scored by balance", () => {
    const nodes = [aNode("a"), aNode("b", null, { allocatable: { cpu: "1" } })];
    const scores = scoresOf(web("web-0", { requests: {} }), nodes);
    // 97.56 % of memory stays free, 97.5 % and 90 % of CPU.
    expect(scores.NodeResourcesFit).toEqual([97, 93]);
    expect(scores.NodeResourcesBalancedAllocation).toEqual([0, 0]);
  });

  const zones = [aNode("a", "z1"), aNode("b", "z1"), aNode("c", "z2")];
  const placed = [web("web-0", { node: "a" })];

  test("replicas on the node and in its zone speak against it", () => {
    // a: ln 5 + 2 + ln 4 + 4 = 9, b: 2 + ln 4 + 4 = 7, c: 6; then 100 * (9 + 6 - score) / 9.
    expect(scoresOf(web("web-1"), zones, { placed }).PodTopologySpread).toEqual([66, 88, 100]);
  });

  test("the selector of a pod's ReplicaSet counts beside its Services", () => {
    const other = web("web-9", { node: "c", labels: { app: "web", hash: "old" } });
    const owned = web("web-1", { owner: "web", labels: { app: "web", hash: "new" } });
    const replicaSets = [{ metadata: { name: "web" }, spec: { selector: { matchLabels: { hash: "new" } } } }];
    const counted = scoresOf(owned, zones, { placed: [other], services: [], replicaSets });
    expect(counted.PodTopologySpread).toEqual([100, 100, 100]);
    expect(scoresOf(owned, zones, { placed: [other] }).PodTopologySpread).toEqual([100, 100, 66]);
  });

  test("a pod that nothing selects is not spread", () => {
    expect(scoresOf(web("web-1"), zones, { placed, services: [] }).PodTopologySpread).toEqual([0, 0, 0]);
  });

  test("constraints of the pod itself take the place of the default ones", () => {
    const soft = spreadOver(HOST, 1, { app: "web" }, { whenUnsatisfiable: "ScheduleAnyway" });
    const pod = web("web-1", { spec: { topologySpreadConstraints: [soft] } });
    const unnamed = aNode("d", "z2", { metadata: { labels: {} } });
    // a: ln 5 = 1.6 is 2, others 0; d has no host name.
    const scores = scoresOf(pod, [...zones, unnamed], { placed });
    expect(scores.PodTopologySpread).toEqual([0, 100, 100, 0]);
  });

  test("preferences of the pod count by their weights, of the most that a node meets", () => {
    const named = (name: string): object => ({
      matchFields: [{ key: "metadata.name", operator: "In", values: [name] }],
    });
    const inZone = { matchExpressions: [{ key: ZONE, operator: "In", values: ["z1"] }] };
    const preferring = (terms: readonly object[]): ApiObject =>
      web("web-1", {
        spec: { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: terms } } },
      });
    const pod = preferring([
      { weight: 10, preference: named("a") },
      { weight: 20, preference: inZone },
      // An empty term selects nothing.
      { weight: 100, preference: {} },
    ]);
    expect(scoresOf(pod, zones).NodeAffinity).toEqual([100, 66, 0]);
    expect(scoresOf(web("web-1"), zones).NodeAffinity).toEqual([0, 0, 0]);
    // With default weights, a plan's preference outweighs spreading.
    const planned = preferring([{ weight: 100, preference: named("a") }]);
    const scores = new DefaultScores(aModel(zones, placed), { services: [service("web")] });
    const [first, ...others] = scores.totals(planned, ["a", "b", "c"]);
    expect(first).toBeGreaterThan(Math.max(...others));
  });
});
