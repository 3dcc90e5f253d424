import type { Dashboard } from "./grafana.ts";

const rate = (metric: string, by: string): string => `sum by (${by}) (rate(${metric}[$__rate_interval]))`;
const quantile = (q: number, histogram: string, by = "le"): string =>
  `histogram_quantile(${q}, sum by (${by}) (rate(${histogram}_bucket[$__rate_interval])))`;

export const health: Dashboard = {
  uid: "isochrone-health",
  title: "Isochrone / Health",
  description: "Isochrone itself: freshness, what was dropped, refused or discarded, sick instruments.",
  variables: [],
  rows: [
    {
      title: "Now",
      panels: [
        {
          title: "Age of the graph",
          description: "Since the newest graph was built.",
          kind: "stat",
          unit: "s",
          width: 4,
          thresholds: [15, 60],
          queries: [{ expr: "max(isochrone_aggregator_graph_age_seconds)" }],
        },
        {
          title: "Sample to graph, p99",
          description: "From the end of a sample until a graph shows it.",
          kind: "stat",
          unit: "s",
          width: 4,
          thresholds: [20, 60],
          queries: [
            {
              expr: "histogram_quantile(0.99, sum by (le) (rate(isochrone_aggregator_sample_age_seconds_bucket[10m])))",
            },
          ],
        },
        {
          title: "Missing records",
          description: "Numbered by a publisher, never arrived, not reported as dropped. Must be 0.",
          kind: "stat",
          unit: "short",
          width: 4,
          thresholds: [1, 1],
          queries: [{ expr: "max(isochrone_records_missing_total)" }],
        },
        {
          title: "Dropped by publishers",
          description: "Records of the last hour that did not fit the buffers while the bus was away.",
          kind: "stat",
          unit: "short",
          width: 4,
          thresholds: [1, 100],
          queries: [
            {
              expr: "(sum(increase(isochrone_probe_records_dropped_total[1h])) or vector(0)) + (sum(increase(isochrone_collector_records_dropped_total[1h])) or vector(0))",
            },
          ],
        },
        {
          title: "Failing targets",
          description: "Pages that collectors can't read now.",
          kind: "stat",
          unit: "short",
          width: 4,
          thresholds: [1, 10],
          queries: [{ expr: "sum(isochrone_collector_targets_failing)" }],
        },
        {
          title: "Unverified TLS",
          description: "Collectors that were told to skip verification.",
          kind: "stat",
          unit: "short",
          width: 4,
          thresholds: [1, 1],
          queries: [{ expr: "sum(isochrone_collector_tls_unverified)" }],
        },
      ],
    },
    {
      title: "Aggregator",
      panels: [
        {
          title: "Points",
          description: "In time and new, by second.",
          kind: "timeseries",
          unit: "short",
          width: 8,
          queries: [{ expr: rate("isochrone_aggregator_points_total", "instance"), legend: "{{instance}}" }],
        },
        {
          title: "Not taken",
          description:
            "Late, repeated, refused or unused points. Refused ones: the log names source and reason.",
          kind: "timeseries",
          unit: "short",
          width: 8,
          queries: [
            {
              expr: "max by (reason) (rate(isochrone_aggregator_refused_total[$__rate_interval]))",
              legend: "refused {{reason}}",
            },
            { expr: "max(rate(isochrone_aggregator_too_late_total[$__rate_interval]))", legend: "too late" },
            {
              expr: "max(rate(isochrone_aggregator_duplicate_records_total[$__rate_interval]))",
              legend: "repeated records",
            },
          ],
        },
        {
          title: "Lag",
          description: "Records not yet read, by topic. It is to come back to 0.",
          kind: "timeseries",
          unit: "short",
          width: 8,
          queries: [{ expr: "sum by (topic) (isochrone_consumer_lag_records)", legend: "{{topic}}" }],
        },
        {
          title: "In memory",
          description: "What windows hold.",
          kind: "timeseries",
          unit: "short",
          width: 8,
          log: true,
          queries: [
            { expr: "sum(isochrone_aggregator_series)", legend: "series" },
            { expr: "max(isochrone_aggregator_links)", legend: "links" },
            { expr: "max(isochrone_aggregator_channels)", legend: "channels" },
            { expr: "max(isochrone_aggregator_pods)", legend: "pods" },
          ],
        },
        {
          title: "Time to build the graphs",
          description: "Both graphs, both windows.",
          kind: "timeseries",
          unit: "s",
          width: 8,
          queries: [
            { expr: quantile(0.5, "isochrone_aggregator_build_duration_seconds"), legend: "p50" },
            { expr: quantile(0.99, "isochrone_aggregator_build_duration_seconds"), legend: "p99" },
          ],
        },
        {
          title: "Clock skew of sources",
          description: "Arrival minus sent-at: far from 0, a node's clock is wrong (its data still counts).",
          kind: "timeseries",
          unit: "s",
          width: 8,
          queries: [
            { expr: "topk(5, abs(isochrone_aggregator_source_clock_skew_seconds))", legend: "{{source}}" },
          ],
        },
      ],
    },
    {
      title: "Probes",
      panels: [
        {
          title: "Echo to the own address",
          description:
            "What the instrument reads when the network adds nothing, median by node. High: the node is overloaded.",
          kind: "timeseries",
          unit: "s",
          width: 8,
          thresholds: [0.0005, 0.001],
          log: true,
          queries: [
            {
              expr: "topk(10, histogram_quantile(0.5, sum by (source_node, le) (rate(isochrone_probe_zero_check_seconds_bucket[$__rate_interval]))))",
              legend: "{{source_node}}",
            },
          ],
        },
        {
          title: "Late sends",
          description: "Actual minus planned send time, p99.",
          kind: "timeseries",
          unit: "s",
          width: 8,
          log: true,
          queries: [
            {
              expr: "topk(10, histogram_quantile(0.99, sum by (source_node, le) (rate(isochrone_probe_send_lateness_seconds_bucket[$__rate_interval]))))",
              legend: "{{source_node}}",
            },
          ],
        },
        {
          title: "Discarded samples",
          description: "By reason: figures that the probe does not trust.",
          kind: "timeseries",
          unit: "short",
          width: 8,
          queries: [{ expr: rate("isochrone_samples_discarded_total", "reason"), legend: "{{reason}}" }],
        },
        {
          title: "Age of the plan",
          description: "A probe that can't read its plan goes on with the one it has.",
          kind: "timeseries",
          unit: "s",
          width: 8,
          thresholds: [300, 900],
          queries: [{ expr: "topk(5, isochrone_probe_plan_age_seconds)", legend: "{{source_node}}" }],
        },
        {
          title: "Waiting for the bus",
          description: "Records in the probes' buffers.",
          kind: "timeseries",
          unit: "short",
          width: 8,
          queries: [
            { expr: "sum(isochrone_probe_records_pending)", legend: "probes" },
            { expr: "sum(isochrone_collector_records_pending)", legend: "collectors" },
          ],
        },
        {
          title: "Throttled",
          description: "By a CPU limit, a share of the time. Ship probes without one.",
          kind: "timeseries",
          unit: "percentunit",
          width: 8,
          queries: [
            {
              expr: "topk(5, rate(isochrone_cpu_throttled_seconds_total[$__rate_interval]))",
              legend: "{{source_node}}",
            },
          ],
        },
      ],
    },
    {
      title: "Collectors",
      panels: [
        {
          title: "Scrapes",
          description: "By kind of page and result.",
          kind: "timeseries",
          unit: "short",
          width: 8,
          queries: [
            {
              expr: rate("isochrone_collector_scrapes_total", "kind, result"),
              legend: "{{kind}} {{result}}",
            },
          ],
        },
        {
          title: "Time of a scrape, p90",
          description: "One slow page delays no other.",
          kind: "timeseries",
          unit: "s",
          width: 8,
          queries: [
            {
              expr: quantile(0.9, "isochrone_collector_scrape_duration_seconds", "kind, le"),
              legend: "{{kind}}",
            },
          ],
        },
        {
          title: "Pages read",
          description: "Uncompressed.",
          kind: "timeseries",
          unit: "Bps",
          width: 8,
          queries: [{ expr: rate("isochrone_collector_page_bytes_total", "kind"), legend: "{{kind}}" }],
        },
      ],
    },
    {
      title: "Kafka, API server, certificates",
      collapsed: true,
      panels: [
        {
          title: "Records not read yet",
          description: "By replica: each reads all partitions.",
          kind: "timeseries",
          unit: "short",
          width: 8,
          queries: [{ expr: "sum by (instance) (isochrone_consumer_lag_records)", legend: "{{instance}}" }],
        },
        {
          title: "Topic settings that endanger data",
          description: "The log names each of them.",
          kind: "timeseries",
          unit: "short",
          width: 8,
          needs: "kafka",
          queries: [
            {
              expr: "max by (topic, setting) (isochrone_kafka_topic_deviations)",
              legend: "{{topic}} {{setting}}",
            },
          ],
        },
        {
          title: "Who leads",
          description: "Exactly one, by Lease.",
          kind: "timeseries",
          unit: "short",
          width: 8,
          needs: "kubernetes",
          queries: [{ expr: "sum(isochrone_aggregator_leader)", legend: "aggregators that lead" }],
        },
        {
          title: "Requests to the API server",
          description: "By verb and code; `none`: no answer.",
          kind: "timeseries",
          unit: "reqps",
          width: 8,
          needs: "kubernetes",
          queries: [
            { expr: rate("isochrone_kubernetes_requests_total", "verb, code"), legend: "{{verb}} {{code}}" },
          ],
        },
        {
          title: "Oldest node annotation",
          description: "Rewritten after 10 minutes at the latest; stale after 25.",
          kind: "timeseries",
          unit: "s",
          width: 8,
          thresholds: [660, 1500],
          needs: "kubernetes",
          queries: [{ expr: "max(isochrone_aggregator_annotations_oldest_age_seconds)", legend: "oldest" }],
        },
        {
          title: "Certificates end in",
          description: "Of servers and of the webhook.",
          kind: "timeseries",
          unit: "s",
          width: 8,
          needs: "tls",
          queries: [
            {
              expr: "min by (job) (isochrone_tls_certificate_not_after_seconds) - time()",
              legend: "{{job}}",
            },
            {
              expr: "min by (certificate) (isochrone_webhook_certificate_expiry_seconds) - time()",
              legend: "webhook {{certificate}}",
            },
          ],
        },
      ],
    },
  ],
};
