import { Distribution, Window, type Method } from "@isochrone/telemetry";
import { lossRatio } from "../domain/loss.ts";
import type { BandwidthMeasurement, FlowSnapshot } from "../ports/ports.ts";
import { preferredMethod, type Detail, type DetailOptions } from "./detail.ts";
import type { Families } from "./families.ts";
import type { Labels } from "./family.ts";
import { QUANTILES } from "./names.ts";

const QUANTILE_PANES = 30;

export class PairPage {
  readonly #families: Families;
  readonly #options: DetailOptions & { readonly publishIntervalMs: number };
  readonly #labels: Labels;
  readonly #detail: Detail;
  readonly #preferred: Method | null;
  /** Round-trip times of the last panes, by method and family. */
  readonly #windows = new Map<string, Window<Distribution>>();

  constructor(
    families: Families,
    options: DetailOptions & { readonly publishIntervalMs: number },
    labels: Labels,
    detail: Detail,
  ) {
    this.#families = families;
    this.#options = options;
    this.#labels = labels;
    this.#detail = detail;
    this.#preferred = preferredMethod(options.methods);
  }

  record(flow: FlowSnapshot, nowMs: number): void {
    const labels = { ...this.#labels, ip_family: String(flow.ipFamily) };
    if (this.#options.pairHistograms)
      histogramOf(this.#families, flow.method).add(withProtocol(labels, flow), flow.rtt);
    if (this.#detail === "none") return;
    if (flow.outcomes.received > 0) this.#families.lastSuccess.set(labels, nowMs / 1000);
    const isPreferred = flow.method === this.#preferred;
    if (this.#detail === "summary" && !isPreferred) return;
    this.#recordLoss(flow, labels);
    this.#recordQuantiles(flow, labels, nowMs);
    if (this.#detail === "summary") return;
    this.#recordExtras(flow, labels);
    if (this.#detail === "full") this.#recordCounts(flow, labels);
  }

  recordBandwidth(measurement: BandwidthMeasurement): void {
    if (this.#detail !== "full" && this.#detail !== "lean") return;
    const { achievedBitsPerSecond } = measurement;
    if (achievedBitsPerSecond !== null) this.#families.bandwidth.set(this.#labels, achievedBitsPerSecond / 8);
  }

  #recordLoss(flow: FlowSnapshot, labels: Labels): void {
    const ratio = lossRatio(flow.outcomes);
    if (flow.method === "icmp") this.#families.icmpLossRatio.set(labels, ratio);
    else if (flow.method === "tcp_connect") this.#families.connectLossRatio.set(labels, ratio);
    else this.#families.rrLossRatio.set(withProtocol(labels, flow), ratio);
  }

  #recordQuantiles(flow: FlowSnapshot, labels: Labels, nowMs: number): void {
    const values = this.#quantilesOf(flow, nowMs);
    const isPreferred = flow.method === this.#preferred;
    const wanted = this.#detail === "lean" && !isPreferred ? 1 : this.#detail === "summary" ? 1 : 3;
    for (const [index, quantile] of QUANTILES.slice(0, wanted).entries()) {
      // One handshake in ten seconds never yields the hundred samples that a p99 needs.
      if (flow.method === "tcp_connect" && quantile === "0.99") continue;
      this.#quantileFamily(flow.method).set(
        { ...withProtocol(labels, flow), quantile },
        values[index] ?? null,
      );
    }
    if (isPreferred && this.#options.kepMetricNames) this.#recordKep(values);
  }

  #recordExtras(flow: FlowSnapshot, labels: Labels): void {
    if (flow.method === "udp_rr") {
      const { variationCount, variationSeconds } = flow;
      this.#families.udpJitter.set(labels, variationCount === 0 ? null : variationSeconds / variationCount);
    }
    if (flow.method === "icmp" && flow.hops !== null) this.#families.hops.set(labels, flow.hops);
  }

  #recordCounts({ method, outcomes }: FlowSnapshot, labels: Labels): void {
    if (method === "tcp_connect") return;
    const { icmpSent, icmpReceived, rrRequests, rrTransactions } = this.#families;
    const of = method === "icmp" ? labels : withProtocol(labels, { method });
    (method === "icmp" ? icmpSent : rrRequests).add(of, outcomes.sent);
    (method === "icmp" ? icmpReceived : rrTransactions).add(of, outcomes.received);
  }

  #recordKep(seconds: readonly (number | null)[]): void {
    const labels = {
      origin: this.#labels["source_node"] ?? "",
      destination: this.#labels["destination_node"] ?? "",
    };
    const { kepP50, kepP90, kepP99 } = this.#families;
    for (const [index, family] of [kepP50, kepP90, kepP99].entries()) {
      const value = seconds[index] ?? null;
      family.set(labels, value === null ? null : value * 1e6);
    }
  }

  #quantilesOf(flow: FlowSnapshot, nowMs: number): (number | null)[] {
    const key = `${flow.method} ${flow.ipFamily}`;
    let window = this.#windows.get(key);
    if (window === undefined) {
      window = new Window({
        paneMs: this.#options.publishIntervalMs,
        panes: QUANTILE_PANES,
        create: () => new Distribution(),
        merge: (into: Distribution, from: Distribution) => into.merge(from),
      });
      this.#windows.set(key, window);
    }
    window.expire(nowMs);
    window.pane(nowMs, nowMs)?.mergeData(flow.rtt);
    const { p50, p90, p99 } = window.read(nowMs)?.percentiles() ?? { p50: null, p90: null, p99: null };
    return [p50, p90, p99];
  }

  #quantileFamily(method: Method) {
    if (method === "icmp") return this.#families.icmpQuantile;
    return method === "tcp_connect" ? this.#families.connectQuantile : this.#families.rrQuantile;
  }
}

export function histogramOf(families: Families, method: Method) {
  if (method === "icmp") return families.icmpRtt;
  return method === "tcp_connect" ? families.connectLatency : families.rrLatency;
}

/** UDP and TCP request/response share a metric with a label; other methods have their own names. */
export function withProtocol(labels: Labels, { method }: Pick<FlowSnapshot, "method">): Labels {
  if (method === "udp_rr") return { ...labels, protocol: "udp" };
  return method === "tcp_rr" ? { ...labels, protocol: "tcp" } : labels;
}
