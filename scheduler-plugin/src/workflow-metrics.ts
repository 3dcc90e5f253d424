// Gauges of traffic by workflow: the heaviest by name, the rest as a count.
import { workflowLatency, workflowTraffic } from "@isochrone/placement";
import { Gauge, type Registry } from "prom-client";
import type { WorkflowGraph } from "@isochrone/topology";
import type { GraphSource } from "./ports/ports.ts";

export const MAX_WORKFLOW_SERIES = 200;

/** Computed at scrape, and latency only for shown workflows: thousands would delay scoring. */
export function createWorkflowMetrics(
  registry: Registry,
  graphs: GraphSource,
  bytesPerRequest: number,
): void {
  const labelNames = ["namespace", "workflow"] as const;
  const registers = [registry];
  const followed: Gauge<"shown"> = new Gauge({
    name: "isochrone_workflows",
    help: "Workflows that are followed, with and without series of their own.",
    labelNames: ["shown"],
    registers,
    // Registered first, so collected first: computes all figures.
    collect(): void {
      const cluster = graphs.cluster();
      const workflows = [...(graphs.workflows?.() ?? [])];
      for (const gauge of [bytes, unknown, latency]) gauge.reset();
      const shown = cluster === null ? [] : heaviest(workflows, bytesPerRequest);
      for (const workflow of shown) {
        const figures = workflowLatency(cluster!, workflow, bytesPerRequest);
        const labels = { namespace: workflow.namespace, workflow: workflow.name };
        bytes.set(labels, figures.bytesPerSecond);
        unknown.set(labels, figures.unknownBytesPerSecond);
        if (figures.ms !== null) latency.set(labels, figures.ms / 1000);
      }
      followed.set({ shown: "true" }, shown.length);
      followed.set({ shown: "false" }, workflows.length - shown.length);
    },
  });
  const bytes = new Gauge({
    name: "isochrone_workflow_traffic_bytes_per_second",
    help: `Traffic between the placed pods of a workflow, the ${MAX_WORKFLOW_SERIES} heaviest workflows.`,
    labelNames,
    registers,
  });
  const unknown = new Gauge({
    name: "isochrone_workflow_unknown_traffic_bytes_per_second",
    help: "Traffic of a workflow whose cost isn't known, or whose ends aren't both placed.",
    labelNames,
    registers,
  });
  const latency = new Gauge({
    name: "isochrone_workflow_network_latency_seconds",
    help: "Mean round trip over a workflow's traffic, between the nodes that its pods are on.",
    labelNames,
    registers,
  });
}

function heaviest(workflows: readonly WorkflowGraph[], bytesPerRequest: number): WorkflowGraph[] {
  return workflows
    .map((workflow) => ({ workflow, traffic: workflowTraffic(workflow, bytesPerRequest) }))
    .filter(({ traffic }) => traffic > 0)
    .sort((a, b) => b.traffic - a.traffic)
    .slice(0, MAX_WORKFLOW_SERIES)
    .map(({ workflow }) => workflow);
}
