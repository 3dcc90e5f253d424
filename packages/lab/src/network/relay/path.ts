import type { Random } from "@isochrone/runtime";
import { oneWayLossRatio, type LinkSettings } from "../links.ts";

/** Longest wait of a UDP packet for transmission, but 64 KiB may always wait. */
const QUEUE_MS = 100;
const MIN_QUEUE_BYTES = 65_536;
/** Bound on UDP bytes in flight; more are dropped to protect memory. */
const MAX_BYTES_IN_FLIGHT = 4 * 1024 * 1024;
/** As in TCP: least timeout; doubles with each further loss. */
const MIN_RETRANSMISSION_MS = 200;
const MAX_RETRANSMISSIONS = 6;

interface ChunkPassage {
  readonly dueMs: number;
  readonly retransmissions: number;
}

/** One direction of an ordered pair: decides whether and when traffic arrives. */
export class Path {
  readonly #random: Random;
  readonly #healListeners = new Set<(nowMs: number) => void>();
  #link: LinkSettings;
  #lossRatio = 0;
  #bytesInFlight = 0;
  #wireFreeAtMs = -Infinity;

  constructor(link: LinkSettings, random: Random) {
    this.#random = random;
    this.#link = link;
    this.#lossRatio = oneWayLossRatio(link.lossRatio);
  }

  get isCut(): boolean {
    return this.#link.cut;
  }
  get stalls(): boolean {
    return this.#link.cut || this.#lossRatio === 1;
  }
  /** Without jitter and queueing. */
  get delayMs(): number {
    return this.#link.rttMs / 2;
  }

  change(link: LinkSettings, nowMs: number): void {
    const stalled = this.stalls;
    this.#link = link;
    this.#lossRatio = oneWayLossRatio(link.lossRatio);
    this.#wireFreeAtMs = Math.min(this.#wireFreeAtMs, nowMs);
    if (!stalled || this.stalls) return;
    const listeners = [...this.#healListeners];
    this.#healListeners.clear();
    for (const listener of listeners) listener(nowMs);
  }

  onceHealed(listener: (nowMs: number) => void): () => void {
    this.#healListeners.add(listener);
    return () => this.#healListeners.delete(listener);
  }

  /** Arrival time of the packet; null if lost. On arrival call `left` with the same size. */
  admitPacket(bytes: number, nowMs: number): number | null {
    if (this.#link.cut || this.#bytesInFlight + bytes > MAX_BYTES_IN_FLIGHT) return null;
    if (this.#queueIsFull(bytes, nowMs)) return null;
    const sentMs = this.#putOnWire(bytes, nowMs);
    if (this.#random.next() < this.#lossRatio) return null;
    this.#bytesInFlight += bytes;
    return sentMs + this.#travelMs();
  }

  left(bytes: number): void {
    this.#bytesInFlight -= bytes;
  }

  /**
   * TCP; 0 bytes is a handshake packet. Each loss doubles the retransmission wait. A chunk held until
   * `notBeforeMs` doesn't occupy the wire: a reservation would delay all others of the pair, and bursts of
   * connections would push each other into the future.
   */
  admitChunk(bytes: number, nowMs: number, notBeforeMs: number = nowMs): ChunkPassage {
    let dueMs = Math.max(this.#putOnWire(bytes, nowMs), notBeforeMs) + this.#travelMs();
    let retransmissions = 0;
    const timeoutMs = Math.max(MIN_RETRANSMISSION_MS, 2 * this.#link.rttMs);
    while (!this.stalls && retransmissions < MAX_RETRANSMISSIONS && this.#random.next() < this.#lossRatio) {
      dueMs += timeoutMs * 2 ** retransmissions;
      retransmissions++;
    }
    return { dueMs, retransmissions };
  }

  #queueIsFull(bytes: number, nowMs: number): boolean {
    const bandwidth = this.#link.bandwidthBitsPerSecond;
    if (bandwidth === null) return false;
    const waitingBytes = (Math.max(0, this.#wireFreeAtMs - nowMs) * bandwidth) / 8000;
    return waitingBytes + bytes > Math.max(MIN_QUEUE_BYTES, (QUEUE_MS * bandwidth) / 8000);
  }

  #putOnWire(bytes: number, nowMs: number): number {
    const bandwidth = this.#link.bandwidthBitsPerSecond;
    if (bandwidth === null) return nowMs;
    this.#wireFreeAtMs = Math.max(this.#wireFreeAtMs, nowMs) + (bytes * 8000) / bandwidth;
    return this.#wireFreeAtMs;
  }

  #travelMs(): number {
    const jitterMs = (this.#random.next() - 0.5) * this.#link.jitterMs;
    return Math.max(0, this.delayMs + jitterMs);
  }
}
