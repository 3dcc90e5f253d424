// What the receiver says of a burst: its arrivals, condensed. No I/O and no clock: times come in as numbers.

/**
 * Neighbouring arrivals, condensed to one record. Send times are by the sender's clock and arrivals by the
 * receiver's, both in ns; the two clocks needn't agree, only run equally fast for the seconds of a test. A
 * delay is arrival minus send time.
 */
export interface ArrivalBin {
  /** Highest sequence in it; units are numbered from 0 in the order of sending. */
  readonly lastSequence: number;
  /** Units (packets of UDP, blocks of TCP) that arrived. */
  readonly units: number;
  /** Units that were sent before the last one of this bin and after the bin before, and hadn't come. */
  readonly lost: number;
  /** Those of the lost that the receiver's own socket had no room for: the link carried them. */
  readonly overflowed: number;
  /** Bytes that arrived: payload as the receiver counts it, on the wire once the sender has added headers. */
  readonly bytes: number;
  readonly lastSendNs: number;
  readonly lastArrivalNs: number;
  /** Smallest delay within. */
  readonly minDelayNs: number;
}

/** Delay of a bin's last unit. */
export const lastDelayNs = (bin: ArrivalBin): number => bin.lastArrivalNs - bin.lastSendNs;

/** A bin ends as soon as it spans so much: fine enough to see a queue of a few milliseconds grow. */
const BIN_NS = 1_500_000;

/** Condenses arrivals to bins, one after the other. */
export class ArrivalCondenser {
  readonly #closed: ArrivalBin[] = [];
  #firstArrivalNs = Number.NaN;
  #units = 0;
  #bytes = 0;
  #overflowed = 0;
  #minDelayNs = Number.POSITIVE_INFINITY;
  #lastSendNs = 0;
  #lastArrivalNs = Number.NEGATIVE_INFINITY;
  /** Highest sequence so far, and that of the bin before. */
  #sequence = -1;
  #closedSequence = -1;

  /**
   * Units that came out of order are counted by their bytes, and stay lost: paths that reorder are rare, and
   * never the same twice.
   */
  add(sequence: number, sendNs: number, arrivalNs: number, bytes: number, overflowed: number): void {
    if (this.#units === 0) this.#firstArrivalNs = arrivalNs;
    this.#units++;
    this.#bytes += bytes;
    this.#overflowed += overflowed;
    this.#minDelayNs = Math.min(this.#minDelayNs, arrivalNs - sendNs);
    if (sequence > this.#sequence) {
      this.#sequence = sequence;
      this.#lastSendNs = sendNs;
    }
    this.#lastArrivalNs = Math.max(this.#lastArrivalNs, arrivalNs);
    if (arrivalNs - this.#firstArrivalNs >= BIN_NS) this.#close();
  }

  /** Ends the bin at hand if it began before `beforeNs`. */
  closeOlderThan(beforeNs: number): void {
    if (this.#units > 0 && this.#firstArrivalNs <= beforeNs) this.#close();
  }

  /** The bins that ended since the last call. */
  drain(): ArrivalBin[] {
    return this.#closed.splice(0);
  }

  #close(): void {
    const sent = this.#sequence - this.#closedSequence;
    this.#closed.push({
      lastSequence: this.#sequence,
      units: this.#units,
      lost: Math.max(0, sent - this.#units),
      overflowed: this.#overflowed,
      bytes: this.#bytes,
      lastSendNs: this.#lastSendNs,
      lastArrivalNs: this.#lastArrivalNs,
      minDelayNs: this.#minDelayNs,
    });
    this.#closedSequence = this.#sequence;
    this.#units = this.#bytes = this.#overflowed = 0;
    this.#minDelayNs = Number.POSITIVE_INFINITY;
  }
}

/**
 * Headers around a payload, Ethernet's 14 bytes included: what a shaper counts. Preamble, checksum and
 * encapsulation of overlays aren't.
 */
export interface WireOverhead {
  /** Per UDP packet. */
  readonly packetBytes: number;
  /** Factor on the payload of a TCP stream. */
  readonly streamFactor: number;
}

const ETHERNET_BYTES = 14;
const UDP_BYTES = 8;
const TCP_BYTES = 20;
/**
 * The timestamp option, which Linux puts into every segment; TCP_INFO's segment size is already without it.
 */
const TCP_OPTION_BYTES = 12;

/** `segmentBytes`: payload of a full TCP segment. */
export function wireOverhead(family: 4 | 6, segmentBytes: number): WireOverhead {
  const ip = family === 4 ? 20 : 40;
  const segmentOverhead = ETHERNET_BYTES + ip + TCP_BYTES + TCP_OPTION_BYTES;
  return {
    packetBytes: ETHERNET_BYTES + ip + UDP_BYTES,
    streamFactor: 1 + segmentOverhead / Math.max(1, segmentBytes),
  };
}
