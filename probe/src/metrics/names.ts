// Metric names of the probe's /metrics page: a public contract (base units, `_total` only on counters).

/** Labels of everything that is about a pair of nodes. Never an address, a pod's name or a port. */
export const PAIR_LABELS = [
  "source_node",
  "destination_node",
  "source_zone",
  "destination_zone",
  "ip_family",
] as const;

export const METRIC_NAMES = {
  rrLatency: "isochrone_rr_latency_seconds",
  rrTransactions: "isochrone_rr_transactions_total",
  rrErrors: "isochrone_rr_errors_total",
  rrQuantile: "isochrone_rr_latency_quantile_seconds",
  rrLossRatio: "isochrone_rr_loss_ratio",
  udpJitter: "isochrone_udp_jitter_seconds",
  icmpRtt: "isochrone_icmp_rtt_seconds",
  icmpSent: "isochrone_icmp_packets_sent_total",
  icmpReceived: "isochrone_icmp_packets_received_total",
  icmpLate: "isochrone_icmp_packets_late_total",
  icmpDuplicate: "isochrone_icmp_packets_duplicate_total",
  icmpCorrupt: "isochrone_icmp_packets_corrupt_total",
  icmpSendErrors: "isochrone_icmp_packets_send_errors_total",
  icmpLossRatio: "isochrone_icmp_packet_loss_ratio",
  lastSuccess: "isochrone_probe_last_success_timestamp_seconds",
  peers: "isochrone_probe_peers",
  interval: "isochrone_probe_interval_seconds",
  loopDelay: "isochrone_probe_event_loop_delay_seconds",
  stalls: "isochrone_probe_thread_stalls_total",
  sendLateness: "isochrone_probe_send_lateness_seconds",
  discarded: "isochrone_probe_samples_discarded_total",
  timestampSource: "isochrone_timestamp_source_info",
  zeroCheck: "isochrone_probe_zero_check_seconds",
  threadRestarts: "isochrone_probe_thread_restarts_total",
  responderAnswered: "isochrone_probe_responder_answers_total",
  responderRefused: "isochrone_probe_responder_refused_total",
  planRefused: "isochrone_probe_plan_refused_total",
  planErrors: "isochrone_probe_plan_fetch_errors_total",
  planAge: "isochrone_probe_plan_age_seconds",
  recordsDropped: "isochrone_probe_records_dropped_total",
} as const;

/** 25 us to 1.6 s, doubling. Seconds. */
export const RTT_BOUNDS: readonly number[] = Array.from({ length: 17 }, (_, i) =>
  Number((25e-6 * 2 ** i).toPrecision(12)),
);

/** What the instrument adds by itself: 1 us to 0.5 s. Seconds. */
export const SELF_BOUNDS: readonly number[] = [
  1e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.5,
];

export const QUANTILES = ["0.5", "0.9", "0.99"] as const;
