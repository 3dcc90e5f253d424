import { billRow } from "./bill.ts";
import type { Dashboard } from "./grafana.ts";

const CHOSEN = 'namespace=~"$namespace", workflow=~"$workflow"';
const LEGEND = "{{namespace}}/{{workflow}}";

export const workflows: Dashboard = {
  uid: "isochrone-workflows",
  title: "Isochrone / Workflows",
  description:
    "What workflows say to each other, and how far that is. The heaviest 200 have series; the graph API has all.",
  variables: [
    {
      name: "namespace",
      label: "Namespace",
      query: "label_values(isochrone_workflow_traffic_bytes_per_second, namespace)",
    },
    {
      name: "workflow",
      label: "Workflow",
      query: 'label_values(isochrone_workflow_traffic_bytes_per_second{namespace=~"$namespace"}, workflow)',
    },
  ],
  rows: [
    {
      title: "Now",
      panels: [
        {
          title: "Workflows",
          description: "All that are followed.",
          kind: "stat",
          unit: "short",
          width: 6,
          queries: [{ expr: "sum(max by (shown) (isochrone_workflows))" }],
        },
        {
          title: "Channels",
          description: "Pairs of workloads that talk.",
          kind: "stat",
          unit: "short",
          width: 6,
          queries: [{ expr: "max(isochrone_aggregator_channels)" }],
        },
        {
          title: "Mean round trip of all traffic",
          description: "Over every byte between placed pods. What placement is to lower.",
          kind: "stat",
          unit: "s",
          width: 6,
          queries: [
            {
              expr: "sum(max by (namespace, workflow) (isochrone_workflow_network_latency_seconds * isochrone_workflow_traffic_bytes_per_second)) / sum(max by (namespace, workflow) (isochrone_workflow_traffic_bytes_per_second))",
            },
          ],
        },
        {
          title: "Traffic of unknown cost",
          description: "Share of the traffic whose path nobody measures or whose ends aren't placed.",
          kind: "stat",
          unit: "percentunit",
          width: 6,
          thresholds: [0.05, 0.25],
          queries: [
            {
              expr: "sum(max by (namespace, workflow) (isochrone_workflow_unknown_traffic_bytes_per_second)) / sum(max by (namespace, workflow) (isochrone_workflow_traffic_bytes_per_second + isochrone_workflow_unknown_traffic_bytes_per_second))",
            },
          ],
        },
      ],
    },
    {
      title: "Chosen workflows",
      panels: [
        {
          title: "Mean round trip by workflow",
          description:
            "Rate x cost over rate, between the nodes that the pods are on. A step up: a link got slower, or pods moved apart.",
          kind: "timeseries",
          unit: "s",
          width: 12,
          log: true,
          queries: [
            {
              expr: `topk(15, max by (namespace, workflow) (isochrone_workflow_network_latency_seconds{${CHOSEN}}))`,
              legend: LEGEND,
            },
          ],
        },
        {
          title: "Traffic by workflow",
          description: "Bytes between placed pods; requests are valued where nobody counts bytes.",
          kind: "timeseries",
          unit: "Bps",
          width: 12,
          queries: [
            {
              expr: `topk(15, max by (namespace, workflow) (isochrone_workflow_traffic_bytes_per_second{${CHOSEN}}))`,
              legend: LEGEND,
            },
          ],
        },
        {
          title: "Network cost by workflow",
          description: "Bytes per second x milliseconds: where moving pays most.",
          kind: "bargauge",
          unit: "short",
          width: 12,
          queries: [
            {
              expr: `topk(15, max by (namespace, workflow) (1000 * isochrone_workflow_network_latency_seconds{${CHOSEN}} * isochrone_workflow_traffic_bytes_per_second{${CHOSEN}}))`,
              legend: LEGEND,
            },
          ],
        },
        {
          title: "Unknown by workflow",
          description: "Traffic whose cost is not known: a coverage gap, or pods without a node.",
          kind: "timeseries",
          unit: "Bps",
          width: 12,
          queries: [
            {
              expr: `topk(15, max by (namespace, workflow) (isochrone_workflow_unknown_traffic_bytes_per_second{${CHOSEN}}))`,
              legend: LEGEND,
            },
          ],
        },
      ],
    },
    billRow,
  ],
};
