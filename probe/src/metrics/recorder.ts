import { Distribution, Window } from "@isochrone/telemetry";
import type { Registry } from "prom-client";
import { lossRatio } from "../domain/loss.ts";
import type { EngineSnapshot, FlowSnapshot, ProbePeer, TimestampSource } from "../ports.ts";
import { createFamilies, removeFrom, type Families } from "./families.ts";
import type { Labels } from "./family.ts";
import { QUANTILES } from "./names.ts";

/** Snapshots over which the quantile gauges are taken. */
const QUANTILE_PANES = 30;

const TIMESTAMP_SOURCES: readonly TimestampSource[] = ["kernel", "user", "none"];

export interface RecorderOptions {
  readonly registry: Registry;
  readonly node: string;
  readonly intervalMs: number;
  readonly publishIntervalMs: number;
}

/** Keeps the /metrics page of one probe. A pair of nodes has series as long as the peer is in the plan. */
export class MetricsRecorder {
  readonly families: Families;
  readonly #self: Labels;
  readonly #publishIntervalMs: number;
  #zone = "";
  #peers = new Map<string, ProbePeer>();
  /** Round-trip times of the last panes by peer, method and family. */
  readonly #windows = new Map<string, Window<Distribution>>();

  constructor({ registry, node, intervalMs, publishIntervalMs }: RecorderOptions) {
    this.families = createFamilies(registry);
    this.#self = { source_node: node };
    this.#publishIntervalMs = publishIntervalMs;
    this.families.interval.set(this.#self, intervalMs / 1000);
  }

  /** Series of peers that are gone, or whose labels changed, end here. */
  setPeers(peers: readonly ProbePeer[], ownZone: string): void {
    const next = new Map(peers.map((peer) => [peer.node, peer]));
    for (const [node, peer] of this.#peers) {
      if (next.get(node)?.zone === peer.zone && ownZone === this.#zone) continue;
      removeFrom(this.families, { ...this.#self, destination_node: node });
      for (const key of this.#windows.keys()) if (key.startsWith(`${node} `)) this.#windows.delete(key);
    }
    this.#peers = next;
    this.#zone = ownZone;
    this.families.peers.set({ ...this.#self, state: "known" }, peers.length);
  }

  record(snapshot: EngineSnapshot): void {
    const answered = new Set<string>();
    for (const flow of snapshot.flows) {
      const peer = this.#peers.get(flow.node);
      // The last snapshot of a flow may come after its peer has left: it must not bring the series back.
      if (peer === undefined) continue;
      if (flow.outcomes.received > 0) answered.add(flow.node);
      if (flow.method === "icmp") this.#recordIcmp(flow, this.#pairOf(peer, flow), snapshot.endMs);
      else this.#recordRr(flow, this.#pairOf(peer, flow), snapshot.endMs);
    }
    this.families.peers.set({ ...this.#self, state: "probed" }, answered.size);
    this.#recordInstrument(snapshot);
  }

  /** Everything of this probe leaves the registry. */
  close(): void {
    removeFrom(this.families, this.#self);
    this.#windows.clear();
  }

  #recordRr(flow: FlowSnapshot, pair: Labels, nowMs: number): void {
    const protocol = flow.method === "tcp_rr" ? "tcp" : "udp";
    const labels = { ...pair, protocol };
    this.families.rrLatency.add(labels, flow.rtt);
    this.families.rrTransactions.add(labels, flow.outcomes.received);
    for (const [reason, count] of Object.entries(flow.errors))
      this.families.rrErrors.add({ ...labels, reason }, count);
    if (flow.outcomes.late > 0) this.families.rrErrors.add({ ...labels, reason: "late" }, flow.outcomes.late);
    if (flow.outcomes.duplicate > 0)
      this.families.rrErrors.add({ ...labels, reason: "duplicate" }, flow.outcomes.duplicate);
    this.families.rrLossRatio.set(labels, lossRatio(flow.outcomes));
    if (protocol === "udp") this.families.udpJitter.set(pair, jitterOf(flow));
    if (flow.outcomes.received > 0) this.families.lastSuccess.set(labels, nowMs / 1000);
    this.#recordQuantiles(flow, labels, nowMs);
  }

  #recordQuantiles(flow: FlowSnapshot, labels: Labels, nowMs: number): void {
    const key = `${flow.node} ${flow.method} ${flow.ipFamily}`;
    let window = this.#windows.get(key);
    if (window === undefined) {
      window = new Window({
        paneMs: this.#publishIntervalMs,
        panes: QUANTILE_PANES,
        create: () => new Distribution(),
        merge: (into: Distribution, from: Distribution) => into.merge(from),
      });
      this.#windows.set(key, window);
    }
    window.expire(nowMs);
    window.pane(nowMs, nowMs)?.mergeData(flow.rtt);
    const { p50, p90, p99 } = window.read(nowMs)?.percentiles() ?? { p50: null, p90: null, p99: null };
    for (const [index, value] of [p50, p90, p99].entries()) {
      this.families.rrQuantile.set({ ...labels, quantile: QUANTILES[index] ?? "" }, value);
    }
  }

  #recordIcmp(flow: FlowSnapshot, pair: Labels, nowMs: number): void {
    const { outcomes } = flow;
    this.families.icmpRtt.add(pair, flow.rtt);
    this.families.icmpSent.add(pair, outcomes.sent);
    this.families.icmpReceived.add(pair, outcomes.received);
    this.families.icmpLate.add(pair, outcomes.late);
    this.families.icmpDuplicate.add(pair, outcomes.duplicate);
    this.families.icmpCorrupt.add(pair, outcomes.corrupt);
    for (const [reason, count] of Object.entries(flow.errors)) {
      if (outcomes.send_error > 0 && reason !== "timeout")
        this.families.icmpSendErrors.add({ ...pair, reason }, count);
    }
    this.families.icmpLossRatio.set(pair, lossRatio(outcomes));
    if (outcomes.received > 0) this.families.lastSuccess.set({ ...pair, protocol: "icmp" }, nowMs / 1000);
  }

  #recordInstrument({ flows, sendLateness, responder, thread, zeroCheck }: EngineSnapshot): void {
    this.families.loopDelay.add(this.#self, thread.loopDelay);
    this.families.stalls.add(this.#self, thread.stalls);
    this.families.sendLateness.add(this.#self, sendLateness);
    this.families.responderAnswered.add(this.#self, responder.answered);
    for (const [reason, count] of Object.entries(responder.refused)) {
      this.families.responderRefused.add({ ...this.#self, reason }, count);
    }
    for (const { discards } of flows) {
      for (const [reason, count] of Object.entries(discards))
        this.families.discarded.add({ ...this.#self, reason }, count);
    }
    const source = zeroCheck?.source ?? "none";
    for (const name of TIMESTAMP_SOURCES) {
      this.families.timestampSource.set({ ...this.#self, source: name }, name === source ? 1 : null);
    }
    if (zeroCheck !== null) this.families.zeroCheck.add(this.#self, zeroCheck.rtt);
  }

  #pairOf(peer: ProbePeer, flow: FlowSnapshot): Labels {
    return {
      ...this.#self,
      destination_node: peer.node,
      source_zone: this.#zone,
      destination_zone: peer.zone ?? "",
      ip_family: String(flow.ipFamily),
    };
  }
}

function jitterOf(flow: FlowSnapshot): number | null {
  return flow.variationCount === 0 ? null : flow.variationSeconds / flow.variationCount;
}
