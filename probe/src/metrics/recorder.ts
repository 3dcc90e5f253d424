import type { Registry } from "prom-client";
import type { BandwidthMeasurement, EngineSnapshot, ProbePeer } from "../ports/ports.ts";
import type { ReceiverCounts } from "../bandwidth/messages.ts";
import { DETAILS, chooseDetail, type Detail, type DetailOptions } from "./detail.ts";
import { createFamilies, removeFrom, type Families } from "./families.ts";
import type { Labels } from "./family.ts";
import { InstrumentPage } from "./instrument-page.ts";
import { PairPage } from "./pair-page.ts";

export interface RecorderOptions extends DetailOptions {
  readonly registry: Registry;
  readonly node: string;
  readonly intervalMs: number;
  readonly publishIntervalMs: number;
}

/** Minimum unanswered packets of an interval that make a peer unreachable; fewer if the plan sends fewer. */
const ENOUGH_TRIED = 3;

interface KnownPeer {
  readonly zone: string | null;
  readonly page: PairPage;
}

/** Maintains the /metrics page of one probe. A pair has series while the peer is in the plan. */
export class MetricsRecorder {
  readonly families: Families;
  readonly #options: RecorderOptions;
  readonly #self: Labels;
  readonly #instrument: InstrumentPage;
  #zone = "";
  #detail: Detail = "full";
  readonly #peers = new Map<string, KnownPeer>();

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.families = createFamilies(options.registry);
    this.#self = { source_node: options.node };
    this.#instrument = new InstrumentPage(this.families, this.#self, {
      histograms: !options.pairHistograms,
    });
    this.families.interval.set(this.#self, options.intervalMs / 1000);
  }

  /** Removes series of peers that left or whose labels or detail changed. */
  setPeers(peers: readonly ProbePeer[], ownZone: string): void {
    const detail = chooseDetail(peers.length, this.#options);
    const same = detail === this.#detail && ownZone === this.#zone;
    this.#detail = detail;
    this.#zone = ownZone;
    const next = new Map(peers.map((peer) => [peer.node, peer]));
    for (const [node, { zone }] of this.#peers) {
      if (same && next.get(node)?.zone === zone) continue;
      removeFrom(this.families, { ...this.#self, destination_node: node });
      removeFrom(this.families, { origin: this.#options.node, destination: node });
      this.#peers.delete(node);
    }
    for (const peer of peers) if (!this.#peers.has(peer.node)) this.#peers.set(peer.node, this.#pageOf(peer));
    this.families.peers.set({ ...this.#self, state: "known" }, peers.length);
    for (const name of DETAILS)
      this.families.pairSeries.set({ ...this.#self, detail: name }, name === detail ? 1 : null);
  }

  record(snapshot: EngineSnapshot): void {
    const failed = new Map<string, number>();
    const answered = new Set<string>();
    for (const flow of snapshot.flows) {
      const peer = this.#peers.get(flow.node);
      // A flow's last snapshot may follow its peer's removal and must not restore the series.
      if (peer === undefined) continue;
      const { received, late, lost, send_error: unsendable } = flow.outcomes;
      // A late answer is a lost sample, but proves that the peer is there.
      if (received + late > 0) answered.add(flow.node);
      failed.set(flow.node, (failed.get(flow.node) ?? 0) + lost + unsendable);
      peer.page.record(flow, snapshot.endMs);
    }
    const enough = this.#enoughTried();
    const unreachable = [...failed].filter(([node, count]) => !answered.has(node) && count >= enough).length;
    this.families.peers.set({ ...this.#self, state: "probed" }, answered.size);
    this.families.peers.set(
      { ...this.#self, state: "untried" },
      this.#peers.size - answered.size - unreachable,
    );
    this.families.unreachablePeers.set(this.#self, unreachable);
    this.#instrument.record(snapshot);
  }

  recordBandwidth(measurement: BandwidthMeasurement): void {
    this.#peers.get(measurement.node)?.page.recordBandwidth(measurement);
    this.#instrument.recordBandwidth(measurement);
  }

  recordReceived({ bytes, ends, strangePackets }: ReceiverCounts): void {
    const { bandwidthTaken, bandwidthTakenBytes, bandwidthStrangePackets } = this.families;
    for (const [end, count] of Object.entries(ends)) bandwidthTaken.add({ ...this.#self, end }, count);
    bandwidthTakenBytes.add(this.#self, bytes);
    bandwidthStrangePackets.add(this.#self, strangePackets);
  }

  close(): void {
    removeFrom(this.families, this.#self);
    removeFrom(this.families, { origin: this.#options.node });
    this.#peers.clear();
  }

  #enoughTried(): number {
    const { intervalMs, publishIntervalMs } = this.#options;
    return Math.max(1, Math.min(ENOUGH_TRIED, Math.floor(publishIntervalMs / intervalMs)));
  }

  #pageOf(peer: ProbePeer): KnownPeer {
    const labels = {
      ...this.#self,
      destination_node: peer.node,
      source_zone: this.#zone,
      destination_zone: peer.zone ?? "",
    };
    return { zone: peer.zone, page: new PairPage(this.families, this.#options, labels, this.#detail) };
  }
}
