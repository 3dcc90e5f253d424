import type { Registry } from "prom-client";
import {
  CounterFamily,
  GaugeFamily,
  HistogramFamily,
  QuantileFamily,
  familyIn,
  type Family,
  type Labels,
} from "./family.ts";
import { KEP_QUANTILE_NAMES, METRIC_NAMES as N, RTT_BOUNDS, SELF_BOUNDS } from "./names.ts";

export function createFamilies(registry: Registry) {
  const make = makerIn(registry);
  return { ...networkFamilies(make), ...instrumentFamilies(make) };
}

export type Families = ReturnType<typeof createFamilies>;

export function removeFrom(families: Families, labels: Labels): void {
  for (const family of Object.values(families) as Family<unknown>[]) family.removeWhere(labels);
}

type Make = ReturnType<typeof makerIn>;

function makerIn(registry: Registry) {
  return {
    counter: (name: string, help: string): CounterFamily =>
      familyIn(registry, name, () => new CounterFamily(name, help)),
    gauge: (name: string, help: string): GaugeFamily =>
      familyIn(registry, name, () => new GaugeFamily(name, help)),
    quantiles: (name: string, help: string): QuantileFamily =>
      familyIn(registry, name, () => new QuantileFamily(name, help)),
    histogram: (name: string, help: string, bounds: readonly number[]): HistogramFamily =>
      familyIn(registry, name, () => new HistogramFamily(name, help, bounds)),
  };
}

function networkFamilies({ counter, gauge, quantiles, histogram }: Make) {
  const lossHelp =
    "Lost or unsendable share of what was decided in the last publish interval, late answers not lost:";
  const quantileHelp = "over the last 30 publish intervals; absent with too few samples";
  return {
    icmpRtt: histogram(N.icmpRtt, "Round-trip time of ICMP echoes", RTT_BOUNDS),
    icmpQuantile: quantiles(N.icmpQuantile, `Quantiles of the ICMP round-trip time ${quantileHelp}`),
    icmpSent: counter(N.icmpSent, "ICMP echo requests sent"),
    icmpReceived: counter(N.icmpReceived, "ICMP echo replies received in time"),
    icmpLost: counter(N.icmpLost, "ICMP echo requests without a reply in time"),
    icmpLate: counter(N.icmpLate, "ICMP echo replies received after the timeout"),
    icmpDuplicate: counter(N.icmpDuplicate, "ICMP echo replies received again"),
    icmpCorrupt: counter(N.icmpCorrupt, "ICMP echo replies that aren't what was sent"),
    icmpSendErrors: counter(N.icmpSendErrors, "ICMP echo requests that the own kernel refused"),
    icmpLossRatio: gauge(N.icmpLossRatio, `${lossHelp} ICMP echoes`),
    rrLatency: histogram(N.rrLatency, "Network round-trip time of request/response transactions", RTT_BOUNDS),
    rrQuantile: quantiles(
      N.rrQuantile,
      `Quantiles of the network round-trip time (the responder's own time subtracted) ${quantileHelp}`,
    ),
    rrApplicationQuantile: quantiles(
      N.rrApplicationQuantile,
      "Quantiles of the round-trip time as a program sees it, over all peers of the last publish interval",
    ),
    rrPlannedQuantile: quantiles(
      N.rrPlannedQuantile,
      "As the application's, but from the planned send time: no coordinated omission",
    ),
    rrRequests: counter(N.rrRequests, "Requests sent"),
    rrTransactions: counter(N.rrTransactions, "Transactions answered in time"),
    rrErrors: counter(N.rrErrors, "Transactions lost, late, duplicate, corrupt or not sent, by reason"),
    rrLossRatio: gauge(N.rrLossRatio, `${lossHelp} transactions`),
    udpJitter: gauge(
      N.udpJitter,
      "Mean |RTT_i - RTT_(i-1)| of UDP transactions in the last publish interval",
    ),
    connectLatency: histogram(N.connectLatency, "Time of TCP handshakes", RTT_BOUNDS),
    connectQuantile: quantiles(N.connectQuantile, `Quantiles of the time of TCP handshakes ${quantileHelp}`),
    connectErrors: counter(N.connectErrors, "TCP handshakes that failed, by reason"),
    connectLossRatio: gauge(N.connectLossRatio, `${lossHelp} TCP handshakes`),
    hops: gauge(N.hops, "Routers that ICMP replies passed, as their hop limit tells"),
    bandwidth: gauge(N.bandwidth, "Rate on the wire that the last bandwidth test achieved"),
    bandwidthCapacity: gauge(N.bandwidthCapacity, "Rate of the node's own interface, as its driver tells"),
    bandwidthProbeBytes: counter(N.bandwidthProbeBytes, "Bytes that bandwidth tests put on the wire"),
    bandwidthProbes: counter(N.bandwidthProbes, "Bandwidth tests by result"),
    kepP50: gauge(KEP_QUANTILE_NAMES.p50, "Median round-trip time (name of KEP-260)"),
    kepP90: gauge(KEP_QUANTILE_NAMES.p90, "90th percentile of the round-trip time (name of KEP-260)"),
    kepP99: gauge(KEP_QUANTILE_NAMES.p99, "99th percentile of the round-trip time (name of KEP-260)"),
  };
}

function instrumentFamilies({ counter, gauge, histogram }: Make) {
  return {
    bandwidthLeaseErrors: counter(
      N.bandwidthLeaseErrors,
      "Times that nobody could be asked for a bandwidth test",
    ),
    bandwidthTaken: counter(N.bandwidthTaken, "Bandwidth tests of peers that ended here, by how"),
    bandwidthTakenBytes: counter(N.bandwidthTakenBytes, "Bytes of peers' bandwidth tests that arrived"),
    bandwidthStrangePackets: counter(
      N.bandwidthStrangePackets,
      "UDP packets on the bandwidth port that belong to no test",
    ),
    lastSuccess: gauge(
      N.lastSuccess,
      "When the peer last answered in time by any method, seconds since the epoch",
    ),
    peers: gauge(
      N.peers,
      "Peers in the plan (known); in the last publish interval, peers that answered (probed) and peers that were sent too few packets to tell (untried): the probe lacks CPU or has just begun",
    ),
    unreachablePeers: gauge(
      N.unreachablePeers,
      "Peers that were sent enough packets in the last publish interval and answered none, by any method",
    ),
    pairSeries: gauge(N.pairSeries, "1 for how much detail each pair of nodes has on this page"),
    interval: gauge(N.interval, "Time between two packets to one peer by one method"),
    loopDelay: histogram(
      N.loopDelay,
      "How much later than due the measuring thread's timer ran",
      SELF_BOUNDS,
    ),
    stalls: counter(N.stalls, "Times the measuring thread stood still for longer than the bound"),
    sendLateness: histogram(N.sendLateness, "Actual minus planned send time", SELF_BOUNDS),
    discarded: counter(
      N.discarded,
      "Round-trip times, or planned sends, left out because they can't be trusted, by reason",
    ),
    renewals: counter(N.renewals, "Sockets that lost everything and were replaced by one with another port"),
    timestampSource: gauge(
      N.timestampSource,
      "1 for where a method's timestamps come from (kernel, user or none), and for what sends ICMP",
    ),
    zeroCheck: histogram(
      N.zeroCheck,
      "Round-trip time of ICMP echoes to the own loopback address",
      SELF_BOUNDS,
    ),
    throttledPeriods: counter(
      N.throttledPeriods,
      "Scheduling periods in which the probe's CPU limit stopped it",
    ),
    throttledSeconds: counter(N.throttledSeconds, "Time for which the probe's CPU limit stopped it"),
    threadRestarts: counter(N.threadRestarts, "Times the measuring thread died and was started anew"),
    incomingProbes: gauge(N.incomingProbes, "Requests of peers answered in the last publish interval"),
    responderAnswered: counter(N.responderAnswered, "Requests of peers that the echo responder answered"),
    responderRefused: counter(
      N.responderRefused,
      "Packets that the echo responder gave no answer, by reason",
    ),
    planRefused: counter(N.planRefused, "Probe plans that broke a rule, by reason"),
    planErrors: counter(N.planErrors, "Failed attempts to read the probe plan"),
    planAge: gauge(N.planAge, "Time since the plan in force was last confirmed by its source"),
    keyErrors: counter(N.keyErrors, "Keys of packet authentication that could not be used, by reason"),
    signingKey: gauge(N.signingKey, "1 for the id of the key that signs"),
    recordsPending: gauge(N.recordsPending, "Records that wait for the bus"),
    recordsOldestAge: gauge(N.recordsOldestAge, "For how long the oldest of them has waited"),
    catchingUp: gauge(N.catchingUp, "1 while what has waited is sent, at a bounded rate"),
    recordsDropped: counter(N.recordsDropped, "Records dropped because the bus was away for too long"),
  };
}
