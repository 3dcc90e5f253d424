import { array, assert, boolean, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import type { ApiObject } from "../objects/json.ts";
import type { SchedulingModel } from "../scheduling-model.ts";
import {
  aModel,
  aNode,
  aPod,
  HOST,
  near,
  required,
  type Fields,
  type PodFields,
} from "../testing/objects.ts";
import { problemOf } from "../testing/plans.ts";

const WEB = { app: "web" };
const SPECS: Readonly<Record<string, Fields>> = {
  plain: {},
  narrow: { nodeSelector: { disk: "ssd" } },
  port: { containers: [{ name: "main", ports: [{ hostPort: 80 }] }] },
  loner: required("podAntiAffinity", near(HOST, WEB)),
  important: { priority: 10 },
};
const NODES = [
  aNode("n0", "z1", { labels: { disk: "ssd" } }),
  aNode("n1", "z1"),
  aNode("n2", "z2", { labels: { disk: "ssd" }, allocatable: { cpu: "1" } }),
  aNode("n3", null),
  aNode("n4", "z2", { spec: { unschedulable: true } }),
];

const OTHER_NODES: Readonly<Record<string, readonly ApiObject[]>> = {
  relabelled: [
    ...NODES.slice(0, 2),
    aNode("n2", "z1", { allocatable: { cpu: "8" } }),
    aNode("n3", "z3", { labels: { disk: "ssd" } }),
    NODES[4]!,
  ],
  fewer: [NODES[1]!, NODES[0]!, NODES[3]!],
  all: NODES,
};

const changes = array(
  record({
    name: constantFrom("a", "b", "c", "d"),
    act: constantFrom("place", "nominate", "remove"),
    node: integer({ min: 0, max: NODES.length - 1 }),
    spec: constantFrom(...Object.keys(SPECS)),
    cpu: constantFrom("100m", "2"),
    terminating: boolean(),
    planned: constantFrom(...Object.keys(SPECS)),
    plannedCpu: constantFrom("100m", "2"),
    runsAlready: boolean(),
    nodes: constantFrom(null, null, "relabelled", "fewer", "all"),
  }),
  { minLength: 2, maxLength: 8 },
);

describe("a problem of a model that has lived through changes", () => {
  test("is the one of a new model of the same cluster", () => {
    let closed = 0;
    let renewed = 0;
    assert(
      property(changes, (all) => {
        let lived = aModel(NODES);
        let nodes: readonly ApiObject[] = NODES;
        const there = new Map<string, ApiObject>();
        for (const change of all) {
          if (change.nodes !== null) {
            nodes = OTHER_NODES[change.nodes]!;
            lived = lived.on({ nodes });
            for (const [name, pod] of there) if (!lived.nodeOf(`default/${name}`)) lived.observe(pod);
            renewed++;
          }
          apply(lived, there, change);
          const planned = { labels: WEB, owner: "web", requests: { cpu: change.plannedCpu } };
          const pods = ["p", "q", "r", "s"].map((name) =>
            aPod(name, { ...planned, spec: SPECS[change.planned]! }),
          );
          const running = there.get(change.name);
          if (change.runsAlready && running !== undefined) pods.push(running);
          const { cluster: _1, workflow: _2, ...kept } = problemOf(lived, pods);
          const { cluster: _3, workflow: _4, ...made } = problemOf(aModel(nodes, [...there.values()]), pods);
          expect(kept).toEqual(made);
          if (kept.pods[0]!.allowed !== null) closed++;
        }
      }),
      { numRuns: 200, seed: 3 },
    );
    expect(closed).toBeGreaterThan(100);
    expect(renewed).toBeGreaterThan(100);
  });

  test("doesn't change when the cluster does", () => {
    const model = aModel(NODES);
    const pods = [aPod("p", { requests: { cpu: "1" } })];
    const problem = problemOf(model, pods);
    const before = structuredClone(problem.nodes);
    model.place(aPod("late", { requests: { cpu: "3" } }), "n0");
    expect(problem.nodes).toEqual(before);
    expect(problemOf(model, pods).nodes).not.toEqual(before);
  });
});

function apply(
  model: SchedulingModel,
  there: Map<string, ApiObject>,
  { name, act, node, spec, cpu, terminating }: Change,
): void {
  const fields: PodFields = {
    owner: "web",
    labels: WEB,
    requests: { cpu },
    spec: SPECS[spec]!,
    metadata: terminating ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {},
  };
  const target = NODES[node]!.metadata.name;
  there.delete(name);
  // Removed nodes send no events.
  if (act !== "remove" && model.node(target) === undefined) return void model.remove(`default/${name}`);
  if (act === "remove") model.remove(`default/${name}`);
  else if (act === "place") {
    const pod = aPod(name, { ...fields, node: target });
    there.set(name, pod);
    model.place(pod, target);
  } else {
    const pod = aPod(name, { ...fields, metadata: {}, status: { nominatedNodeName: target } });
    there.set(name, pod);
    model.nominate(pod, target);
  }
}

interface Change {
  readonly name: string;
  readonly act: string;
  readonly node: number;
  readonly spec: string;
  readonly cpu: string;
  readonly terminating: boolean;
}
