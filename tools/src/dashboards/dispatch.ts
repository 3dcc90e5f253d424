import type { Dashboard } from "./grafana.ts";

/** What spreads the requests of Services. */
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
  ],
};
