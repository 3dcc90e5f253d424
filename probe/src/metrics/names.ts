// Metric names of the /metrics page: a public contract (base units, `_total` only on counters).

/** Labels of a pair of nodes. Never an address, a pod name or a port. */
const PAIR_LABELS = [
  "source_node",
  "destination_node",
  "source_zone",
  "destination_zone",
  "ip_family",
] as const;

export const METRIC_NAMES = {
  icmpRtt: "isochrone_icmp_rtt_seconds",
  icmpQuantile: "isochrone_icmp_rtt_quantile_seconds",
  icmpSent: "isochrone_icmp_packets_sent_total",
  icmpReceived: "isochrone_icmp_packets_received_total",
  icmpLost: "isochrone_icmp_packets_lost_total",
  icmpLate: "isochrone_icmp_packets_late_total",
  icmpDuplicate: "isochrone_icmp_packets_duplicate_total",
  icmpCorrupt: "isochrone_icmp_packets_corrupt_total",
  icmpSendErrors: "isochrone_icmp_packets_send_errors_total",
  icmpLossRatio: "isochrone_icmp_packet_loss_ratio",
  rrLatency: "isochrone_rr_latency_seconds",
  rrQuantile: "isochrone_rr_latency_quantile_seconds",
  rrApplicationQuantile: "isochrone_rr_application_latency_quantile_seconds",
  rrPlannedQuantile: "isochrone_rr_planned_latency_quantile_seconds",
  rrRequests: "isochrone_rr_requests_total",
  rrTransactions: "isochrone_rr_transactions_total",
  rrErrors: "isochrone_rr_errors_total",
  rrLossRatio: "isochrone_rr_loss_ratio",
  udpJitter: "isochrone_udp_jitter_seconds",
  connectLatency: "isochrone_tcp_connect_latency_seconds",
  connectQuantile: "isochrone_tcp_connect_latency_quantile_seconds",
  connectErrors: "isochrone_tcp_connect_errors_total",
  connectLossRatio: "isochrone_tcp_connect_loss_ratio",
  hops: "isochrone_hops",
  bandwidth: "isochrone_bandwidth_bytes_per_second",
  bandwidthCapacity: "isochrone_bandwidth_capacity_bytes_per_second",
  bandwidthProbeBytes: "isochrone_bandwidth_probe_bytes_total",
  bandwidthProbes: "isochrone_bandwidth_probes_total",
  bandwidthLeaseErrors: "isochrone_bandwidth_lease_errors_total",
  bandwidthTaken: "isochrone_bandwidth_tests_taken_total",
  bandwidthTakenBytes: "isochrone_bandwidth_received_bytes_total",
  bandwidthStrangePackets: "isochrone_bandwidth_strange_packets_total",
  lastSuccess: "isochrone_probe_last_success_timestamp_seconds",
  peers: "isochrone_peers",
  unreachablePeers: "isochrone_unreachable_peers",
  pairSeries: "isochrone_probe_pair_detail_info",
  interval: "isochrone_probe_interval_seconds",
  loopDelay: "isochrone_event_loop_delay_seconds",
  stalls: "isochrone_probe_thread_stalls_total",
  sendLateness: "isochrone_probe_send_lateness_seconds",
  discarded: "isochrone_samples_discarded_total",
  renewals: "isochrone_probe_socket_renewals_total",
  timestampSource: "isochrone_timestamp_source_info",
  zeroCheck: "isochrone_probe_zero_check_seconds",
  throttledPeriods: "isochrone_cpu_throttled_periods_total",
  throttledSeconds: "isochrone_cpu_throttled_seconds_total",
  threadRestarts: "isochrone_probe_thread_restarts_total",
  incomingProbes: "isochrone_incoming_probes",
  responderAnswered: "isochrone_probe_responder_answers_total",
  responderRefused: "isochrone_probe_responder_refused_total",
  planRefused: "isochrone_probe_plan_refused_total",
  planErrors: "isochrone_probe_plan_fetch_errors_total",
  planAge: "isochrone_probe_plan_age_seconds",
  keyErrors: "isochrone_probe_key_errors_total",
  signingKey: "isochrone_probe_signing_key_info",
  recordsPending: "isochrone_probe_records_pending",
  recordsOldestAge: "isochrone_probe_records_oldest_age_seconds",
  catchingUp: "isochrone_probe_records_catching_up",
  recordsDropped: "isochrone_probe_records_dropped_total",
} as const;

/** Names of KEP-260's netperf component: microseconds, labels `origin` and `destination`. Opt-in. */
export const KEP_QUANTILE_NAMES = {
  p50: "netperf_p50_latency_microseconds",
  p90: "netperf_p90_latency_microseconds",
  p99: "netperf_p99_latency_microseconds",
} as const;

const OF_PAIRS = [...PAIR_LABELS, "protocol"];

/** Labels by metric name; all others have only `source_node`. */
const LABELS: Readonly<Record<string, readonly string[]>> = {
  // Histograms are kept per source, or optionally per pair.
  [METRIC_NAMES.icmpRtt]: PAIR_LABELS,
  [METRIC_NAMES.rrLatency]: OF_PAIRS,
  [METRIC_NAMES.connectLatency]: PAIR_LABELS,
  [METRIC_NAMES.icmpQuantile]: [...PAIR_LABELS, "quantile"],
  [METRIC_NAMES.connectQuantile]: [...PAIR_LABELS, "quantile"],
  [METRIC_NAMES.rrQuantile]: [...OF_PAIRS, "quantile"],
  [METRIC_NAMES.rrApplicationQuantile]: ["source_node", "protocol", "quantile"],
  [METRIC_NAMES.rrPlannedQuantile]: ["source_node", "protocol", "quantile"],
  [METRIC_NAMES.icmpSent]: PAIR_LABELS,
  [METRIC_NAMES.icmpReceived]: PAIR_LABELS,
  [METRIC_NAMES.icmpLossRatio]: PAIR_LABELS,
  [METRIC_NAMES.connectLossRatio]: PAIR_LABELS,
  [METRIC_NAMES.udpJitter]: PAIR_LABELS,
  [METRIC_NAMES.hops]: PAIR_LABELS,
  [METRIC_NAMES.lastSuccess]: PAIR_LABELS,
  [METRIC_NAMES.rrRequests]: OF_PAIRS,
  [METRIC_NAMES.rrTransactions]: OF_PAIRS,
  [METRIC_NAMES.rrLossRatio]: OF_PAIRS,
  [METRIC_NAMES.bandwidth]: PAIR_LABELS.filter((label) => label !== "ip_family"),
  [METRIC_NAMES.bandwidthProbes]: ["source_node", "result"],
  [METRIC_NAMES.bandwidthTaken]: ["source_node", "end"],
  [METRIC_NAMES.rrErrors]: ["source_node", "protocol", "reason"],
  [METRIC_NAMES.connectErrors]: ["source_node", "reason"],
  [METRIC_NAMES.discarded]: ["source_node", "reason"],
  [METRIC_NAMES.renewals]: ["source_node", "protocol"],
  [METRIC_NAMES.responderRefused]: ["source_node", "reason"],
  [METRIC_NAMES.planRefused]: ["source_node", "reason"],
  [METRIC_NAMES.keyErrors]: ["source_node", "reason"],
  [METRIC_NAMES.recordsDropped]: ["source_node", "reason"],
  [METRIC_NAMES.peers]: ["source_node", "state"],
  [METRIC_NAMES.pairSeries]: ["source_node", "detail"],
  [METRIC_NAMES.timestampSource]: ["source_node", "method", "source", "prober"],
  [METRIC_NAMES.signingKey]: ["source_node", "key_id"],
  [KEP_QUANTILE_NAMES.p50]: ["origin", "destination"],
  [KEP_QUANTILE_NAMES.p90]: ["origin", "destination"],
  [KEP_QUANTILE_NAMES.p99]: ["origin", "destination"],
};

export function labelsOf(name: string): readonly string[] {
  return LABELS[name] ?? ["source_node"];
}

/** 25 us to 1.6 s, doubling. Seconds. */
export const RTT_BOUNDS: readonly number[] = Array.from({ length: 17 }, (_, i) =>
  Number((25e-6 * 2 ** i).toPrecision(12)),
);

/** Errors of the instrument: 5 us to 0.1 s. Seconds. */
export const SELF_BOUNDS: readonly number[] = [5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 0.02, 0.1];

export const QUANTILES = ["0.5", "0.9", "0.99"] as const;
