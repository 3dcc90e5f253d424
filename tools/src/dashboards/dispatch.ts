import type { Dashboard } from "./grafana.ts";

export const dispatchRow: Dashboard["rows"][number] = {
  title: "Requests over zones",
  collapsed: true,
  panels: [
    {
      title: "Services with zone weights",
      description:
        "By lever and state. `refused`: kubectl describe service says why; `stale`: the demand of zones is old, and everything was taken back.",
      kind: "timeseries",
      unit: "short",
      width: 8,
      needs: "dispatch",
      queries: [
        {
          expr: "max by (lever, state) (isochrone_dispatch_services) > 0",
          legend: "{{lever}} {{state}}",
        },
      ],
    },
    {
      title: "Writes of weights",
      description: "By lever and result. Weights that nobody needs to move cause none.",
      kind: "timeseries",
      unit: "short",
      width: 8,
      needs: "dispatch",
      queries: [
        {
          expr: "sum by (lever, result) (increase(isochrone_dispatch_writes_total[5m]))",
          legend: "{{lever}} {{result}}",
        },
      ],
    },
    {
      title: "EndpointSlices by the webhook",
      description: "What it did with them: it puts hints in each time that Kubernetes writes one.",
      kind: "timeseries",
      unit: "short",
      width: 8,
      needs: "dispatch",
      queries: [
        {
          expr: "sum by (outcome) (increase(isochrone_dispatch_slices_total[5m]))",
          legend: "{{outcome}}",
        },
      ],
    },
    {
      title: "Services with replicas by zone",
      description:
        "By mode and state. `waiting`: others are wanted, but not yet; `refused`: kubectl describe service says why.",
      kind: "timeseries",
      unit: "short",
      width: 8,
      needs: "dispatch",
      queries: [
        {
          expr: "max by (mode, state) (isochrone_orchestration_services) > 0",
          legend: "{{mode}} {{state}}",
        },
      ],
    },
    {
      title: "Replicas added and removed",
      description: "By the leader, in mode scale.",
      kind: "timeseries",
      unit: "short",
      width: 8,
      needs: "dispatch",
      queries: [
        {
          expr: "sum by (kind, result) (increase(isochrone_orchestration_changes_total[5m]))",
          legend: "{{kind}} {{result}}",
        },
      ],
    },
    {
      title: "Requests through dispatchers",
      description: "By outcome. `late`: answered after the deadline.",
      kind: "timeseries",
      unit: "reqps",
      width: 8,
      needs: "dispatcher",
      queries: [
        {
          expr: "sum by (outcome) (rate(isochrone_dispatcher_requests_total[$__rate_interval]))",
          legend: "{{outcome}}",
        },
      ],
    },
    {
      title: "Where dispatchers send",
      description: "By the zone of the endpoint, all Services together; tries again count, too.",
      kind: "timeseries",
      unit: "reqps",
      width: 8,
      needs: "dispatcher",
      queries: [
        {
          expr: "sum by (zone) (rate(isochrone_dispatcher_sent_total[$__rate_interval]))",
          legend: "{{zone}}",
        },
      ],
    },
    {
      title: "Time to choose an endpoint",
      description: "Beyond a millisecond the dispatcher is short of CPU.",
      kind: "timeseries",
      unit: "s",
      width: 8,
      log: true,
      needs: "dispatcher",
      queries: [
        {
          expr: "histogram_quantile(0.99, sum by (le) (rate(isochrone_dispatcher_decision_seconds_bucket[$__rate_interval])))",
          legend: "p99",
        },
      ],
    },
    {
      title: "Refused by dispatchers",
      description: "Requests that a dispatcher answered itself, by reason.",
      kind: "timeseries",
      unit: "reqps",
      width: 8,
      needs: "dispatcher",
      queries: [
        {
          expr: "sum by (reason) (rate(isochrone_dispatcher_refused_total[$__rate_interval]))",
          legend: "{{reason}}",
        },
      ],
    },
  ],
};
