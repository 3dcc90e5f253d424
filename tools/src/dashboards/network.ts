import type { Dashboard } from "./grafana.ts";

const P50 = 'isochrone_rr_latency_quantile_seconds{quantile="0.5", protocol="udp"}';
const CHOSEN = 'source_node=~"$source", destination_node=~"$destination"';

export const network: Dashboard = {
  uid: "isochrone-network",
  title: "Isochrone / Network",
  description: "Round-trip times, loss and jitter between nodes, as the probes measure them.",
  variables: [
    {
      name: "source",
      label: "From node",
      query: "label_values(isochrone_probe_last_success_timestamp_seconds, source_node)",
    },
    {
      name: "destination",
      label: "To node",
      query: "label_values(isochrone_probe_last_success_timestamp_seconds, destination_node)",
    },
  ],
  rows: [
    {
      title: "Now",
      panels: [
        {
          title: "Probing nodes",
          description: "Nodes whose probe has peers.",
          kind: "stat",
          unit: "short",
          width: 4,
          queries: [{ expr: 'count(isochrone_peers{state="known"} > 0)' }],
        },
        {
          title: "Measured pairs",
          description: "Ordered pairs of nodes that probes have series of.",
          kind: "stat",
          unit: "short",
          width: 4,
          queries: [{ expr: "count(isochrone_probe_last_success_timestamp_seconds)" }],
        },
        {
          title: "Slowest median",
          description: "The pair with the highest median round trip.",
          kind: "stat",
          unit: "s",
          width: 4,
          queries: [{ expr: `max(${P50})` }],
        },
        {
          title: "Silent peers",
          description: "Peers in a plan that do not answer. Ratios can't see them: look here first.",
          kind: "stat",
          unit: "short",
          width: 4,
          thresholds: [1, 5],
          queries: [{ expr: "sum(isochrone_unreachable_peers)" }],
        },
        {
          title: "Pairs with loss",
          description: "Pairs that lost anything in the last publish interval.",
          kind: "stat",
          unit: "short",
          width: 4,
          thresholds: [1, 10],
          queries: [{ expr: "count(isochrone_rr_loss_ratio > 0) or vector(0)" }],
        },
        {
          title: "Error of estimates",
          description: "Relative error of the network coordinates on pairs that they were not shown.",
          kind: "stat",
          unit: "percentunit",
          width: 4,
          thresholds: [0.3, 0.6],
          queries: [{ expr: "max(isochrone_coordinate_error)" }],
        },
      ],
    },
    {
      title: "Between zones",
      panels: [
        {
          title: "Median round trip, zone to zone",
          description:
            "Mean of the pairs' medians. Pairs differ by orders of magnitude: the axis is logarithmic.",
          kind: "timeseries",
          unit: "s",
          width: 12,
          log: true,
          queries: [
            {
              expr: `avg by (source_zone, destination_zone) (${P50})`,
              legend: "{{source_zone}} → {{destination_zone}}",
            },
          ],
        },
        {
          title: "Zone to zone, now",
          description: "The same as a table.",
          kind: "table",
          unit: "s",
          width: 12,
          thresholds: [0.02, 0.1],
          queries: [{ expr: `avg by (source_zone, destination_zone) (${P50})` }],
        },
      ],
    },
    {
      title: "Worst pairs",
      panels: [
        {
          title: "Slowest, median",
          description: "Ten pairs with the highest median.",
          kind: "timeseries",
          unit: "s",
          width: 12,
          log: true,
          queries: [{ expr: `topk(10, ${P50})`, legend: "{{source_node}} → {{destination_node}}" }],
        },
        {
          title: "Longest tails",
          description: "p90 over the median: what a median hides.",
          kind: "timeseries",
          unit: "x",
          width: 12,
          queries: [
            {
              expr: `topk(10, isochrone_rr_latency_quantile_seconds{quantile="0.9", protocol="udp"} / ignoring (quantile) ${P50})`,
              legend: "{{source_node}} → {{destination_node}}",
            },
          ],
        },
        {
          title: "Loss",
          description: "Lost and not sendable of what was decided, last publish interval.",
          kind: "timeseries",
          unit: "percentunit",
          width: 12,
          thresholds: [0.01, 0.05],
          queries: [
            {
              expr: "topk(10, isochrone_rr_loss_ratio)",
              legend: "{{source_node}} → {{destination_node}} {{protocol}}",
            },
          ],
        },
        {
          title: "Jitter",
          description: "Mean difference of neighbouring round trips.",
          kind: "timeseries",
          unit: "s",
          width: 12,
          queries: [
            {
              expr: "topk(10, isochrone_udp_jitter_seconds)",
              legend: "{{source_node}} → {{destination_node}}",
            },
          ],
        },
      ],
    },
    {
      title: "Chosen pairs",
      panels: [
        {
          title: "Quantiles of the chosen pairs",
          description: "Choose nodes above. p90 needs 20 samples, p99 100.",
          kind: "timeseries",
          unit: "s",
          width: 16,
          log: true,
          queries: [
            {
              expr: `isochrone_rr_latency_quantile_seconds{${CHOSEN}}`,
              legend: "{{source_node}} → {{destination_node}} {{protocol}} p{{quantile}}",
            },
          ],
        },
        {
          title: "Since the last answer",
          description: "Of the chosen pairs; a pair that went silent has no other series.",
          kind: "timeseries",
          unit: "s",
          width: 8,
          thresholds: [30, 120],
          queries: [
            {
              expr: `time() - isochrone_probe_last_success_timestamp_seconds{${CHOSEN}}`,
              legend: "{{source_node}} → {{destination_node}}",
            },
          ],
        },
        {
          title: "Distribution from the chosen nodes",
          description: "All round trips of a source, not only those of the chosen pairs.",
          kind: "heatmap",
          unit: "s",
          width: 24,
          queries: [
            {
              expr: 'sum by (le) (rate(isochrone_rr_latency_seconds_bucket{source_node=~"$source"}[$__rate_interval]))',
              legend: "{{le}}",
            },
          ],
        },
      ],
    },
    {
      title: "ICMP, handshakes, bandwidth",
      collapsed: true,
      panels: [
        {
          title: "ICMP median",
          description: "Ten slowest pairs. Routers may put echoes off: compare with UDP.",
          kind: "timeseries",
          unit: "s",
          width: 8,
          needs: "icmp",
          queries: [
            {
              expr: 'topk(10, isochrone_icmp_rtt_quantile_seconds{quantile="0.5"})',
              legend: "{{source_node}} → {{destination_node}}",
            },
          ],
        },
        {
          title: "TCP handshake",
          description: "Ten slowest pairs.",
          kind: "timeseries",
          unit: "s",
          width: 8,
          needs: "handshakes",
          queries: [
            {
              expr: 'topk(10, isochrone_tcp_connect_latency_quantile_seconds{quantile="0.5"})',
              legend: "{{source_node}} → {{destination_node}}",
            },
          ],
        },
        {
          title: "Bandwidth",
          description: "What the last test of a pair achieved on the wire.",
          kind: "timeseries",
          unit: "Bps",
          width: 8,
          needs: "bandwidth",
          queries: [
            {
              expr: "bottomk(10, isochrone_bandwidth_bytes_per_second)",
              legend: "{{source_node}} → {{destination_node}}",
            },
          ],
        },
      ],
    },
  ],
};
