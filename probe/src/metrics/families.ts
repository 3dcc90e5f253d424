import type { Registry } from "prom-client";
import { CounterFamily, GaugeFamily, HistogramFamily, familyIn, type Family } from "./family.ts";
import { METRIC_NAMES as N, RTT_BOUNDS, SELF_BOUNDS } from "./names.ts";

/** All metric families of the probe, in a registry that may have them already. */
export function createFamilies(registry: Registry): Families {
  const counter = (name: string, help: string): CounterFamily =>
    familyIn(registry, name, () => new CounterFamily(name, help));
  const gauge = (name: string, help: string): GaugeFamily =>
    familyIn(registry, name, () => new GaugeFamily(name, help));
  const histogram = (name: string, help: string, bounds: readonly number[]): HistogramFamily =>
    familyIn(registry, name, () => new HistogramFamily(name, help, bounds));
  return {
    rrLatency: histogram(N.rrLatency, "Network round-trip time of request/response transactions", RTT_BOUNDS),
    rrTransactions: counter(N.rrTransactions, "Transactions answered in time"),
    rrErrors: counter(N.rrErrors, "Transactions lost, late, duplicate, corrupt or not sent, by reason"),
    rrQuantile: gauge(N.rrQuantile, "Quantiles of the round-trip time over the last 30 publish intervals"),
    rrLossRatio: gauge(
      N.rrLossRatio,
      "Lost or unsendable share of the transactions decided in the last publish interval",
    ),
    udpJitter: gauge(
      N.udpJitter,
      "Mean |RTT_i - RTT_(i-1)| of UDP transactions in the last publish interval",
    ),
    icmpRtt: histogram(N.icmpRtt, "Round-trip time of ICMP echoes", RTT_BOUNDS),
    icmpSent: counter(N.icmpSent, "ICMP echo requests sent"),
    icmpReceived: counter(N.icmpReceived, "ICMP echo replies received in time"),
    icmpLate: counter(N.icmpLate, "ICMP echo replies received after the timeout"),
    icmpDuplicate: counter(N.icmpDuplicate, "ICMP echo replies received again"),
    icmpCorrupt: counter(N.icmpCorrupt, "ICMP echo replies that aren't what was sent"),
    icmpSendErrors: counter(N.icmpSendErrors, "ICMP echo requests that the own kernel refused, by reason"),
    icmpLossRatio: gauge(
      N.icmpLossRatio,
      "Lost or unsendable share of the echoes decided in the last publish interval",
    ),
    lastSuccess: gauge(N.lastSuccess, "When the peer last answered in time, seconds since the epoch"),
    peers: gauge(
      N.peers,
      "Peers in the plan (known) and peers that answered in the last publish interval (probed)",
    ),
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
    timestampSource: gauge(
      N.timestampSource,
      "1 for the source of the ICMP timestamps: kernel, user or none",
    ),
    zeroCheck: histogram(
      N.zeroCheck,
      "Round-trip time of ICMP echoes to the own loopback address",
      SELF_BOUNDS,
    ),
    threadRestarts: counter(N.threadRestarts, "Times the measuring thread died and was started anew"),
    responderAnswered: counter(N.responderAnswered, "Requests of peers that the echo responder answered"),
    responderRefused: counter(
      N.responderRefused,
      "Packets that the echo responder gave no answer, by reason",
    ),
    planRefused: counter(N.planRefused, "Probe plans that broke a rule, by reason"),
    planErrors: counter(N.planErrors, "Failed attempts to read the probe plan"),
    planAge: gauge(N.planAge, "Time since the plan in force was last confirmed by its source"),
    recordsDropped: counter(N.recordsDropped, "Records dropped because the bus was away for too long"),
  };
}

export interface Families {
  readonly rrLatency: HistogramFamily;
  readonly rrTransactions: CounterFamily;
  readonly rrErrors: CounterFamily;
  readonly rrQuantile: GaugeFamily;
  readonly rrLossRatio: GaugeFamily;
  readonly udpJitter: GaugeFamily;
  readonly icmpRtt: HistogramFamily;
  readonly icmpSent: CounterFamily;
  readonly icmpReceived: CounterFamily;
  readonly icmpLate: CounterFamily;
  readonly icmpDuplicate: CounterFamily;
  readonly icmpCorrupt: CounterFamily;
  readonly icmpSendErrors: CounterFamily;
  readonly icmpLossRatio: GaugeFamily;
  readonly lastSuccess: GaugeFamily;
  readonly peers: GaugeFamily;
  readonly interval: GaugeFamily;
  readonly loopDelay: HistogramFamily;
  readonly stalls: CounterFamily;
  readonly sendLateness: HistogramFamily;
  readonly discarded: CounterFamily;
  readonly timestampSource: GaugeFamily;
  readonly zeroCheck: HistogramFamily;
  readonly threadRestarts: CounterFamily;
  readonly responderAnswered: CounterFamily;
  readonly responderRefused: CounterFamily;
  readonly planRefused: CounterFamily;
  readonly planErrors: CounterFamily;
  readonly planAge: GaugeFamily;
  readonly recordsDropped: CounterFamily;
}

/** Drops all series with these labels from all families. */
export function removeFrom(families: Families, labels: Readonly<Record<string, string>>): void {
  for (const family of Object.values(families) as Family<unknown>[]) family.removeWhere(labels);
}
