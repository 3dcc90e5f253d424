// The common fixture as extender requests, and the sums that every implementation must produce.
import { commonFixture, fixtureWorkflow } from "@isochrone/placement/testing";
import type { GraphSource } from "@isochrone/scheduler-plugin/testing";
import type { WorkflowGraph } from "@isochrone/topology";

/** Milliseconds for filter, score and normalise; in process, and over HTTP with both verbs. */
export const LIMITS = [
  { nodes: 1_000, inProcessMs: 0.3, overHttpMs: 3 },
  { nodes: 5_000, inProcessMs: 0.8, overHttpMs: 8 },
  { nodes: 10_000, inProcessMs: 1.5, overHttpMs: 16 },
] as const;

export interface Fixture {
  readonly problem: ReturnType<typeof commonFixture>;
  /** A workflow graph without cached results. */
  readonly freshWorkflow: () => WorkflowGraph;
}

export function fixtureOf(nodeCount: number): Fixture {
  return { problem: commonFixture(nodeCount), freshWorkflow: () => fixtureWorkflow(nodeCount) };
}

/** The workflow is a new object for each pod, so that caches by identity don't apply. */
export function coldGraphs({ problem, freshWorkflow }: Fixture): GraphSource & { next(): void } {
  let workflow = freshWorkflow();
  return {
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    cluster: () => problem.cluster.graph,
    workflow: () => workflow,
    ready: () => true,
    next: () => {
      workflow = freshWorkflow();
    },
  };
}

/** ExtenderArgs for pod number `pod` of the tested workload. */
export function overheadBody(names: readonly string[], pod: number): Buffer {
  return Buffer.from(
    JSON.stringify({
      Pod: {
        metadata: {
          name: `wt-${pod}`,
          namespace: "default",
          uid: "7c1f0f2e-0d7e-4b3c-9f0e-2d3a4b5c6d7e",
          labels: {
            "appgroup.diktyo.x-k8s.io": "fixture",
            "appgroup.diktyo.x-k8s.io.workload": "wt",
          },
        },
        spec: { containers: [{ name: "main", image: "registry.example/wt:1", resources: {} }] },
        status: { phase: "Pending" },
      },
      Nodes: null,
      NodeNames: names,
    }),
  );
}
