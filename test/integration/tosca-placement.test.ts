// From the template to the placement of [001], section 5.
import { join } from "node:path";
import { looseFields, looseList, parseBytes } from "@isochrone/primitives";
import { allCandidates, CommunicationAffinity } from "@isochrone/placement";
import { links, node } from "@isochrone/placement/testing";
import { manifestsOf, readTosca, workflowGraphOf } from "@isochrone/tosca";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { beforeAll, describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const AT = "2026-01-01T00:00:00.000Z";
const NODES = ["node0", "node1", "node2", "node3"];
/** Figure 3, milliseconds. */
const LATENCIES: readonly (readonly [string, string, number])[] = [
  ["node0", "node2", 20],
  ["node1", "node2", 20],
  ["node0", "node1", 40],
  ["node2", "node3", 100],
  ["node0", "node3", 120],
  ["node1", "node3", 120],
];
const NODE_BYTES = 4 * 1024 ** 3;
/** In queue order: the pod, the nodes with the highest score, and the paper's choice. */
const STEPS: readonly (readonly [string, readonly string[], string])[] = [
  ["rabbitmq", NODES, "node3"],
  ["mongodb", ["node0", "node1", "node2"], "node2"],
  ["message-notifier", ["node2"], "node2"],
  ["message-reader", ["node0", "node1"], "node1"],
  ["message-publisher", ["node0", "node1"], "node0"],
  ["api-gateway", ["node0", "node1"], "node1"],
];

describe.each(["docs/examples/messaging.yaml", "test/data/tosca/messaging.clout.json"])(
  "the use case of section 5, from %s",
  (file) => {
    let graph: ReturnType<typeof workflowGraphOf>;
    const memory = new Map<string, number>();

    beforeAll(async () => {
      graph = workflowGraphOf(await readTosca(join(ROOT, file)), AT);
      // Puccini's profile has no requests, so use those of the template.
      const { objects } = manifestsOf(await readTosca(join(ROOT, "docs/examples/messaging.yaml")));
      for (const { kind, metadata, spec } of objects) {
        if (kind !== "Deployment") continue;
        const [container] = looseList(looseFields(looseFields(spec?.["template"])["spec"])["containers"]);
        const requests = looseFields(looseFields(container?.["resources"])["requests"]);
        memory.set(metadata.name, parseBytes(requests["memory"])!);
      }
    });

    test("is placed as figure 5 shows it", () => {
      const placed = new Map<string, string>();
      for (const [pod, highest, to] of STEPS) {
        expect([pod, best(pod, placed)]).toEqual([pod, highest]);
        placed.set(pod, to);
      }
    });

    function best(pod: string, placed: ReadonlyMap<string, string>): string[] {
      const workflow = new WorkflowGraph({
        ...graph,
        workloads: graph.workloads.map((workload) => ({
          ...workload,
          pods: [{ name: `${workload.name}-1`, node: placed.get(workload.name) ?? null }],
        })),
      });
      const used = (node: string): number =>
        [...placed].reduce((sum, [name, on]) => (on === node ? sum + memory.get(name)! : sum), 0);
      const table = new CommunicationAffinity("raw").score({
        pod: { namespace: "default", name: `${pod}-1`, workload: pod },
        candidates: NODES.filter((node) => used(node) + memory.get(pod)! <= NODE_BYTES),
        cluster: { graph: CLUSTER, ageSeconds: 1 },
        workflow: { graph: workflow, ageSeconds: 1 },
      });
      const scores = allCandidates(table);
      const most = Math.max(...scores.map(({ score }) => score));
      return scores.filter(({ score }) => score === most).map(({ name }) => name);
    }
  },
);

const CLUSTER = new ClusterGraph({
  version: 1,
  observedAt: AT,
  windowSeconds: 30,
  nodes: NODES.map((name) =>
    node(name, null, null, { allocatableCpuMillicores: null, allocatableMemoryBytes: NODE_BYTES }),
  ),
  links: links(...LATENCIES),
});
