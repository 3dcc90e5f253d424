import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { ClusterGraphSnapshot, WorkflowGraphSnapshot } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { channel, link, node, workload } from "../../testing/index.ts";
import type { ApiObject } from "../objects/json.ts";
import { SchedulingModel } from "../scheduling-model.ts";
import { workflowPlan } from "./workflow-plan.ts";
import type { WorkflowPlanReport } from "./plan-report.ts";

const AT = "2026-01-01T00:00:00.000Z";
const NODES = ["east-0", "east-1", "west-0", "west-1"];

function cluster(): ClusterGraph {
  const nodes = NODES.map((name) => node(name, null, null));
  const far = (a: string, b: string): number => (a.slice(0, 4) === b.slice(0, 4) ? 1 : 50);
  const links = NODES.flatMap((a) => NODES.filter((b) => b !== a).map((b) => link(a, b, far(a, b))));
  return new ClusterGraph({
    version: 1,
    observedAt: AT,
    windowSeconds: 30,
    nodes,
    links,
  } satisfies ClusterGraphSnapshot);
}

function workflow(
  pods: Readonly<Record<string, Readonly<Record<string, string>>>>,
  namespaceOf: (workload: string) => string,
): WorkflowGraph {
  return new WorkflowGraph({
    version: 1,
    observedAt: AT,
    namespace: "shop",
    name: "flow",
    workloads: Object.entries(pods).map(([name, nodes]) => ({
      ...workload(name, { cpu: null, memory: null }, nodes),
      namespace: namespaceOf(name),
    })),
    channels: [channel("web", "db", 1_000)],
  } satisfies WorkflowGraphSnapshot);
}

function report(
  placed: Readonly<Record<string, Readonly<Record<string, string>>>>,
  change: (pod: ApiObject) => ApiObject = (pod) => pod,
  namespaceOf: (workload: string) => string = () => "shop",
): WorkflowPlanReport | null {
  const nodes = NODES.map((name) => ({
    metadata: { name, labels: { "kubernetes.io/hostname": name } },
    status: {
      allocatable: { cpu: "4", memory: "8Gi", pods: "10" },
      conditions: [{ type: "Ready", status: "True" }],
    },
  }));
  const pods = Object.entries(placed).flatMap(([workload, nodesOf]) =>
    Object.entries(nodesOf).map(([name, nodeName]) =>
      change({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { namespace: namespaceOf(workload), name, uid: name, labels: { app: workload } },
        spec: { nodeName, containers: [{ resources: { requests: { cpu: "100m" } } }] },
        status: { phase: "Running" },
      } as ApiObject),
    ),
  );
  return workflowPlan({
    model: SchedulingModel.of({ nodes, pods }),
    pods,
    cluster: cluster(),
    workflow: workflow(placed, namespaceOf),
    seed: 1,
    budgetMs: 200,
    now: () => performance.now(),
  });
}

describe("the plan of a workflow that runs", () => {
  test("moves none of another namespace's pods, to which its channels lead", () => {
    const placed = { web: { "web-1": "east-0" }, db: { "db-1": "west-0", "db-2": "west-1" } };
    const found = report(placed, undefined, (name) => (name === "db" ? "evil" : "shop"))!;
    expect(found.pods).toBe(1);
    expect(found.moves.map(({ pod }) => pod)).toEqual(["web-1"]);
  });

  test("says what would move where, and what that saves", () => {
    const found = report({ web: { "web-1": "east-0" }, db: { "db-1": "west-0" } })!;
    expect(found.today.network).toBe(50_000);
    expect(found.best.network).toBeLessThan(1_001);
    expect(found.moves).toHaveLength(1);
    expect(found.moves[0]!.gain).toBeGreaterThan(40_000);
    expect(found.moves[0]!.obstacle).toBeNull();
    expect(found.savedRatio).toBe(1 - found.best.network / found.today.network);
  });

  test("has no moves where nothing is to be gained", () => {
    const found = report({ web: { "web-1": "east-0" }, db: { "db-1": "east-0" } })!;
    expect(found.moves).toEqual([]);
    expect(found.best).toEqual(found.today);
  });

  test("replicas don't change places with each other", () => {
    const placed = {
      web: { "web-1": "east-0", "web-2": "east-1", "web-3": "west-1" },
      db: { "db-1": "east-0" },
    };
    const found = report(placed)!;
    for (const { pod, to } of found.moves) {
      const others = Object.entries(placed.web).filter(([name]) => name !== pod);
      const stays = others.filter(([name]) => found.moves.every((move) => move.pod !== name));
      expect(stays.length).toBeGreaterThan(0);
      expect(NODES).toContain(to);
    }
    expect(found.moves.map(({ pod }) => pod)).not.toContain("web-1");
  });

  test("leaves pods that can't be moved where they are", () => {
    const daemon = (pod: ApiObject): ApiObject => ({
      ...pod,
      metadata: {
        ...pod.metadata,
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "DaemonSet", name: "d", uid: "d", controller: true },
        ],
      } as ApiObject["metadata"],
    });
    const found = report({ web: { "web-1": "east-0" }, db: { "db-1": "west-0" } }, (pod) =>
      pod.metadata.name === "db-1" ? daemon(pod) : pod,
    )!;
    expect(found.kept).toEqual([{ pod: "db-1", reason: "it is a DaemonSet's" }]);
    expect(found.moves).toMatchObject([{ pod: "web-1", from: "east-0", to: "west-0" }]);
  });

  test("is none without pods", () => {
    expect(report({ web: {}, db: {} })).toBeNull();
  });
});
