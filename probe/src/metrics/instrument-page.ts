import { Distribution, type Method } from "@isochrone/telemetry";
import type { BandwidthMeasurement, EngineSnapshot, FlowSnapshot, TimestampSource } from "../ports/ports.ts";
import type { Families } from "./families.ts";
import type { Labels } from "./family.ts";
import { QUANTILES } from "./names.ts";
import { histogramOf, withProtocol } from "./pair-page.ts";
import { readThrottling, type Throttling } from "./throttling.ts";

const TIMESTAMP_SOURCES: readonly TimestampSource[] = ["kernel", "user", "none"];
const PROTOCOLS = ["udp", "tcp"] as const;

export class InstrumentPage {
  readonly #families: Families;
  readonly #self: Labels;
  /** False if each pair has its histogram: their sum gives the same. */
  readonly #histograms: boolean;
  #throttled: Throttling | null = readThrottling();

  constructor(families: Families, self: Labels, { histograms }: { readonly histograms: boolean }) {
    this.#families = families;
    this.#self = self;
    this.#histograms = histograms;
  }

  record(snapshot: EngineSnapshot): void {
    for (const flow of snapshot.flows) this.#recordFlow(flow);
    this.#recordProgramView(snapshot.flows);
    this.#recordThread(snapshot);
    this.#recordResponder(snapshot);
    this.#recordSources(snapshot);
    this.#recordThrottling();
  }

  recordBandwidth({ result, bytes }: BandwidthMeasurement): void {
    this.#families.bandwidthProbes.add({ ...this.#self, result }, 1);
    this.#families.bandwidthProbeBytes.add(this.#self, bytes);
  }

  #recordFlow(flow: FlowSnapshot): void {
    const labels = withProtocol(this.#self, flow);
    if (this.#histograms) histogramOf(this.#families, flow.method).add(labels, flow.rtt);
    for (const [reason, count] of Object.entries(flow.discards))
      this.#families.discarded.add({ ...this.#self, reason }, count);
    if (flow.renewals > 0) this.#families.renewals.add(labels, flow.renewals);
    if (flow.method === "icmp") this.#recordIcmpErrors(flow);
    else {
      const family = flow.method === "tcp_connect" ? this.#families.connectErrors : this.#families.rrErrors;
      const { late, duplicate } = flow.outcomes;
      for (const [reason, count] of Object.entries({ ...flow.errors, late, duplicate }))
        if (count > 0) family.add({ ...labels, reason }, count);
    }
  }

  #recordIcmpErrors({ outcomes }: FlowSnapshot): void {
    const { icmpLost, icmpLate, icmpDuplicate, icmpCorrupt, icmpSendErrors } = this.#families;
    icmpLost.add(this.#self, outcomes.lost);
    icmpLate.add(this.#self, outcomes.late);
    icmpDuplicate.add(this.#self, outcomes.duplicate);
    icmpCorrupt.add(this.#self, outcomes.corrupt);
    icmpSendErrors.add(this.#self, outcomes.send_error);
  }

  /** Application and planned times assess the instrument, so one figure over all peers suffices. */
  #recordProgramView(flows: readonly FlowSnapshot[]): void {
    const { rrApplicationQuantile, rrPlannedQuantile } = this.#families;
    for (const protocol of PROTOCOLS) {
      const ofProtocol = flows.filter(({ method }) => method === `${protocol}_rr`);
      if (ofProtocol.length === 0) continue;
      for (const [family, part] of [
        [rrApplicationQuantile, "application"],
        [rrPlannedQuantile, "planned"],
      ] as const) {
        const merged = new Distribution();
        for (const flow of ofProtocol) merged.mergeData(flow[part]);
        const { p50, p90, p99 } = merged.percentiles();
        for (const [index, value] of [p50, p90, p99].entries())
          family.set({ ...this.#self, protocol, quantile: QUANTILES[index] ?? "" }, value);
      }
    }
  }

  #recordThread({ thread, sendLateness, zeroCheck }: EngineSnapshot): void {
    this.#families.loopDelay.add(this.#self, thread.loopDelay);
    this.#families.stalls.add(this.#self, thread.stalls);
    this.#families.sendLateness.add(this.#self, sendLateness);
    if (zeroCheck !== null) this.#families.zeroCheck.add(this.#self, zeroCheck.rtt);
  }

  #recordResponder({ responder }: EngineSnapshot): void {
    this.#families.responderAnswered.add(this.#self, responder.answered);
    this.#families.incomingProbes.set(this.#self, responder.answered);
    for (const [reason, count] of Object.entries(responder.refused))
      this.#families.responderRefused.add({ ...this.#self, reason }, count);
  }

  /** A method without samples keeps its last source: a silent peer is no change of instrument. */
  #recordSources({ flows, icmpProber, zeroCheck }: EngineSnapshot): void {
    const stamps = new Map<Method, { kernel: number; user: number }>();
    for (const flow of flows) {
      const sum = stamps.get(flow.method) ?? { kernel: 0, user: 0 };
      sum.kernel += flow.stamps.kernel;
      sum.user += flow.stamps.user;
      stamps.set(flow.method, sum);
    }
    for (const [method, { kernel, user }] of stamps) {
      if (method !== "icmp" && kernel + user > 0) this.#setSource(method, user === 0 ? "kernel" : "user", "");
    }
    if (zeroCheck !== null) this.#setSource("icmp", zeroCheck.source, icmpProber ?? "");
  }

  #setSource(method: Method, source: TimestampSource, prober: string): void {
    const family = this.#families.timestampSource;
    for (const name of TIMESTAMP_SOURCES) family.removeWhere({ ...this.#self, method, source: name });
    family.set({ ...this.#self, method, source, ...(method === "icmp" ? { prober } : {}) }, 1);
  }

  #recordThrottling(): void {
    const before = this.#throttled;
    const now = readThrottling();
    this.#throttled = now;
    if (before === null || now === null) return;
    // A decreased count belongs to another control group.
    this.#families.throttledPeriods.add(this.#self, Math.max(0, now.periods - before.periods));
    this.#families.throttledSeconds.add(this.#self, Math.max(0, now.seconds - before.seconds));
  }
}
