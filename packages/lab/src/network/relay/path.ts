import type { Random } from "@isochrone/runtime";
import { oneWayLossRatio, type LinkSettings } from "../links.ts";

/** A UDP packet waits at most this long for its turn on the wire, but 64 KiB may always wait. */
const QUEUE_MS = 100;
const MIN_QUEUE_BYTES = 65_536;
/** Bytes of UDP under way at once; more are dropped, so that a flood can't fill the memory. */
const MAX_BYTES_IN_FLIGHT = 4 * 1024 * 1024;
/** As TCP's: the least, and the doublings of one loss after another. */
const MIN_RETRANSMISSION_MS = 200;
const MAX_RETRANSMISSIONS = 6;

/** When a TCP chunk arrives at the other end, and how often it was lost before. */
interface ChunkPassage {
  readonly dueMs: number;
  readonly retransmissions: number;
}

/** One way of an ordered pair: there or back. It decides when what enters comes out, and whether it does. */
export class Path {
  readonly #random: Random;
  readonly #healListeners = new Set<(nowMs: number) => void>();
  #link: LinkSettings;
  #lossRatio = 0;
  #bytesInFlight = 0;
  /** When the last bit of what has entered so far is on the wire. */
  #wireFreeAtMs = -Infinity;

  constructor(link: LinkSettings, random: Random) {
    this.#random = random;
    this.#link = link;
    this.#lossRatio = oneWayLossRatio(link.lossRatio);
  }

  get isCut(): boolean {
    return this.#link.cut;
  }
  /** Nothing can ever get through: then TCP waits. */
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

  /** Calls once when the path no longer stalls. Returns how to give up waiting. */
  onceHealed(listener: (nowMs: number) => void): () => void {
    this.#healListeners.add(listener);
    return () => this.#healListeners.delete(listener);
  }

  /**
   * When the packet arrives, or null when it is lost. Whoever gets a time must call `left` with the same size
   * then.
   */
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
   * Of TCP; 0 bytes is a packet of the handshake. Lost chunks come later, each loss doubling the wait. What
   * may not leave before `notBeforeMs` waits beside the wire, not on it: reserving the wire ahead of time
   * would hold up all others of the pair, and a burst of new connections would push each other ever further
   * into the future.
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

  /** When the last bit is out, after everything that entered before. */
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
