import { readFileSync } from "node:fs";
import { join } from "node:path";
import { seededRandom } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import { FillingCluster } from "./filling-cluster.ts";
import { feasibleNodes } from "./filters.ts";
import { rank, scheduleAll, topNodes, UnschedulableError } from "./imitation.ts";
import type { SchedulableNode, WaitingPod } from "./port.ts";
import { pluginScores } from "./scores.ts";

const GI = 1024 ** 3;

/**
 * As `node tools/node24.mjs test/experiments/kube-scheduler-record.ts` writes it; its comments say what
 * stands where.
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

interface Agreement {
  decisions: number;
  feasible: number;
  onTop: number;
  choices: number;
  scores: number;
  /** Of nodes that could have been chosen, those that share the highest score. */
  candidates: number;
  best: number;
  readonly disagreements: string[];
}

/** Each decision is asked of the cluster as the real one found it: earlier pods are where that put them. */
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
    const pod = (workload: number, pin: number): WaitingPod => {
      const [cpuMillicores, memoryBytes] = workloads[workload]!;
      const pinnedTo = pin < 0 ? null : `n${pin}`;
      return { name: "pod", workload: `w${workload}`, cpuMillicores, memoryBytes, pinnedTo };
    };
    const cluster = new FillingCluster(
      nodes.map(([cpuMillicores, memoryBytes, maxPods, zone], index): SchedulableNode => {
        return { name: `n${index}`, zone, region: "r0", cpuMillicores, memoryBytes, maxPods };
      }),
      placed.map(([workload, node]) => [pod(workload, -1), `n${node}`]),
    );
    for (const [index, [workload, pin, feasible, choice, scores]] of decisions.entries()) {
      const asked = pod(workload, pin);
      const name = `cluster ${at}, decision ${index}`;
      agreement.decisions++;
      const ours = feasibleNodes(asked, cluster);
      const isEqual = ours.map(({ node }) => node.name).join() === feasible.map((node) => `n${node}`).join();
      if (isEqual) agreement.feasible++;
      else agreement.disagreements.push(`${name}: feasible`);
      if (choice < 0) continue;
      agreement.choices++;
      const ranked = rank(asked, cluster);
      const best = "ranking" in ranked ? topNodes(ranked.ranking) : [];
      agreement.candidates += feasible.length;
      agreement.best += best.length;
      if (best.includes(`n${choice}`)) agreement.onTop++;
      else agreement.disagreements.push(`${name}: choice`);
      const made = pluginScores(asked, ours, cluster);
      const same = recording.plugins.every((plugin, row) => {
        const real = scores[row] ?? [];
        return real.length === 0 || real.join() === made[plugin].join();
      });
      if (same) agreement.scores++;
      else agreement.disagreements.push(`${name}: scores`);
      cluster.add(asked, `n${choice}`);
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
    // Guessing would seldom do.
    expect(agreement.best / agreement.candidates).toBeLessThan(0.3);
  });

  test("were made among the same feasible nodes, all of them", () => {
    expect(agreement.disagreements.filter((text) => text.endsWith("feasible"))).toEqual([]);
    expect(agreement.feasible).toBe(agreement.decisions);
  });

  test("are among the imitation's best in 95 % at least", () => {
    expect(agreement.onTop / agreement.choices).toBeGreaterThanOrEqual(0.95);
  });

  test("rest on the same score of each plugin for each node in 95 % at least", () => {
    expect(agreement.scores / agreement.choices).toBeGreaterThanOrEqual(0.95);
  });
});

const node = (name: string, fields: Partial<SchedulableNode> = {}): SchedulableNode => {
  const size = { cpuMillicores: 4_000, memoryBytes: 8 * GI, maxPods: 110 };
  return { name, zone: `z-${name}`, region: "r", ...size, ...fields };
};
const pod = (name: string, fields: Partial<WaitingPod> = {}): WaitingPod => {
  const requests = { cpuMillicores: 1_000, memoryBytes: 2 * GI };
  return { name, workload: name.replace(/-\d+$/, ""), ...requests, pinnedTo: null, ...fields };
};

describe("scores by hand", () => {
  test("free CPU and memory are averaged, and imbalance is taken from 100", () => {
    const cluster = new FillingCluster([node("a"), node("b", { cpuMillicores: 2_000 })]);
    const { NodeResourcesFit, NodeResourcesBalancedAllocation } = pluginScores(
      pod("web-0"),
      cluster.nodes,
      cluster,
    );
    // a: 75 % of both stay free; b: half of its CPU, 75 % of its memory.
    expect([...NodeResourcesFit]).toEqual([75, 62]);
    // b: 0.5 and 0.25 are 0.125 from their mean.
    expect([...NodeResourcesBalancedAllocation]).toEqual([100, 87]);
  });

  test("a pod without requests counts as 100m and 200Mi for what is free, and isn't scored by balance", () => {
    const cluster = new FillingCluster([node("a"), node("b", { cpuMillicores: 1_000 })]);
    const scores = pluginScores(pod("web-0", { cpuMillicores: 0, memoryBytes: 0 }), cluster.nodes, cluster);
    // Of memory 97.56 % stay free, of CPU 97.5 % and 90 %.
    expect([...scores.NodeResourcesFit]).toEqual([97, 93]);
    expect([...scores.NodeResourcesBalancedAllocation]).toEqual([0, 0]);
  });

  test("replicas on the node and in its zone speak against it", () => {
    const nodes = [node("a", { zone: "z1" }), node("b", { zone: "z1" }), node("c", { zone: "z2" })];
    const cluster = new FillingCluster(nodes, [[pod("web-0"), "a"]]);
    const { PodTopologySpread } = pluginScores(pod("web-1"), cluster.nodes, cluster);
    // a: ln 5 + 2 + ln 4 + 4 = 9, b: 2 + ln 4 + 4 = 7, c: 6; then 100 * (9 + 6 - score) / 9.
    expect([...PodTopologySpread]).toEqual([66, 88, 100]);
  });
});

describe("a run of pods", () => {
  test("breaks ties at random, and by the seed alone", () => {
    const request = { nodes: [node("a"), node("b"), node("c")], pods: [pod("web-0")], placed: [] };
    const chosen = (seed: number): string => scheduleAll(request, seededRandom(seed)).get("web-0")!;
    expect(new Set(Array.from({ length: 50 }, (_, seed) => chosen(seed)))).toEqual(new Set(["a", "b", "c"]));
    expect(chosen(7)).toBe(chosen(7));
  });

  test("ends with kube-scheduler's words when no node is left", () => {
    const nodes = [
      node("a", { cpuMillicores: 500 }),
      node("b", { maxPods: 1 }),
      node("c", { memoryBytes: GI }),
    ];
    const request = { nodes, pods: [pod("db-0")], placed: [[pod("web-0"), "b"]] } as const;
    expect(() => scheduleAll(request, seededRandom(1))).toThrow(UnschedulableError);
    expect(() => scheduleAll(request, seededRandom(1))).toThrow(
      "0/3 nodes are available: 1 Insufficient cpu, 1 Too many pods, 1 Insufficient memory.",
    );
  });
});
