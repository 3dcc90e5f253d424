import type { Dashboard } from "./grafana.ts";

export const billRow: Dashboard["rows"][number] = {
  title: "Bill",
  collapsed: true,
  panels: [
    {
      title: "Cost per month by namespace",
      description:
        "Money for 730 hours of the traffic of now, by namespace of the callers. isochrone bill says which channels it is.",
      kind: "timeseries",
      unit: "short",
      width: 6,
      needs: "prices",
      queries: [
        {
          expr: "topk(15, max by (namespace, currency) (730 * isochrone_traffic_cost_per_hour))",
          legend: "{{namespace}} ({{currency}})",
        },
      ],
    },
    {
      title: "Cost per month by destination outside",
      description:
        "Of it, traffic with the outside of the cluster. Names of destinations: the value outside.",
      kind: "timeseries",
      unit: "short",
      width: 6,
      needs: "outside",
      queries: [
        {
          expr: "topk(15, max by (destination, currency) (730 * isochrone_traffic_outside_cost_per_hour))",
          legend: "{{destination}} ({{currency}})",
        },
      ],
    },
    {
      title: "Channels that are not in the bill",
      description:
        "By reason. no_bytes: no source counts their bytes; no_price: no row of the prices is for their zones.",
      kind: "timeseries",
      unit: "short",
      width: 6,
      queries: [
        {
          expr: "max by (reason) (isochrone_traffic_cost_unknown_channels)",
          legend: "{{reason}}",
        },
      ],
    },
    {
      title: "Bytes without a price",
      description: "Traffic that the bill is without.",
      kind: "timeseries",
      unit: "Bps",
      width: 6,
      queries: [{ expr: "max(isochrone_traffic_cost_unknown_bytes_per_second)", legend: "without price" }],
    },
  ],
};
