import { channel } from "@isochrone/placement/testing";
import { createRegistry } from "@isochrone/runtime";
import { WorkflowGraph } from "@isochrone/topology";
import { expect, test } from "vitest";
import { MemoryGraphs, workflowSnapshot } from "./testing/graphs.ts";
import { MAX_WORKFLOW_SERIES, createWorkflowMetrics } from "./workflow-metrics.ts";

class ManyGraphs extends MemoryGraphs {
  readonly all: WorkflowGraph[];

  constructor(count: number) {
    super();
    const placed = workflowSnapshot({ p: { "p-1": "n1" }, q: { "q-1": "n2" } });
    this.all = Array.from({ length: count }, (_, index) => {
      return new WorkflowGraph({ ...placed, name: `flow-${index}`, channels: [channel("p", "q", index)] });
    });
  }

  override workflows(): Iterable<WorkflowGraph> {
    return this.all;
  }
}

test("a workflow's traffic, the round trip that it takes, and what isn't known of it", async () => {
  const registry = createRegistry();
  createWorkflowMetrics(registry, new MemoryGraphs(), 0);
  const page = await registry.metrics();
  // p has no pod, so its channels count nothing.
  expect(page).toContain('isochrone_workflow_traffic_bytes_per_second{namespace="shop",workflow="flow"} 0');
  expect(page).toContain(
    'isochrone_workflow_unknown_traffic_bytes_per_second{namespace="shop",workflow="flow"} 1500',
  );
  expect(page).not.toMatch(/isochrone_workflow_network_latency_seconds\{/);

  const graphs = new MemoryGraphs();
  graphs.setWorkflow(workflowSnapshot({ p: { "p-1": "n1" }, q: { "q-1": "n2" }, r: { "r-1": "n3" } }));
  const next = createRegistry();
  createWorkflowMetrics(next, graphs, 0);
  // 1,000 B/s over 10 ms, 500 over 40 ms.
  expect(await next.metrics()).toContain(
    'isochrone_workflow_network_latency_seconds{namespace="shop",workflow="flow"} 0.02',
  );
  graphs.clear();
  expect(await next.metrics()).toContain('isochrone_workflows{shown="true"} 0');
});

test("the heaviest have series, the others are counted", async () => {
  const graphs = new ManyGraphs(MAX_WORKFLOW_SERIES + 50);
  const registry = createRegistry();
  createWorkflowMetrics(registry, graphs, 0);
  const page = await registry.metrics();
  expect(page).toContain(`isochrone_workflows{shown="true"} ${MAX_WORKFLOW_SERIES}`);
  expect(page).toContain('isochrone_workflows{shown="false"} 50');
  expect(page.match(/isochrone_workflow_network_latency_seconds\{/g)).toHaveLength(MAX_WORKFLOW_SERIES);
  expect(page).toContain(`workflow="flow-${MAX_WORKFLOW_SERIES + 49}"`);
  expect(page).not.toContain('workflow="flow-49"');
});
