// The receiver's condensed record of a burst's arrivals. No I/O and no clock: times are passed in.

/**
 * Neighbouring arrivals, condensed. Send times use the sender's clock and arrivals the receiver's, both in
 * ns. The clocks need not agree, only run equally fast for the seconds of a test. Delay is arrival minus send
 * time.
 */
export interface ArrivalBin {
  /** Highest sequence in the bin. Units are numbered from 0 in sending order. */
  readonly lastSequence: number;
  readonly units: number;
  /** Units sent after the previous bin's last unit and before this bin's, and missing. */
  readonly lost: number;
  /** The part of `lost` that the receiver's socket buffer dropped: the link carried these units. */
  readonly overflowed: number;
  readonly bytes: number;
  readonly lastSendNs: number;
  readonly lastArrivalNs: number;
  readonly minDelayNs: number;
}

export const lastDelayNs = (bin: ArrivalBin): number => bin.lastArrivalNs - bin.lastSendNs;

/** A bin ends once it spans this much: fine enough to see a queue of a few milliseconds grow. */
const BIN_NS = 1_500_000;

export class ArrivalCondenser {
  readonly #closed: ArrivalBin[] = [];
  #firstArrivalNs = Number.NaN;
  #units = 0;
  #bytes = 0;
  #overflowed = 0;
  #minDelayNs = Number.POSITIVE_INFINITY;
  #lastSendNs = 0;
  #lastArrivalNs = Number.NEGATIVE_INFINITY;
  #sequence = -1;
  #closedSequence = -1;

  /** Counts a reordered unit's bytes but leaves it lost: paths that reorder are rare. */
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

  closeOlderThan(beforeNs: number): void {
    if (this.#units > 0 && this.#firstArrivalNs <= beforeNs) this.#close();
  }

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

/** Headers as a shaper counts them: with Ethernet's 14 bytes; without preamble, checksum and overlays. */
export interface WireOverhead {
  readonly packetBytes: number;
  readonly streamFactor: number;
}

const ETHERNET_BYTES = 14;
const UDP_BYTES = 8;
const TCP_BYTES = 20;
/** The timestamp option that Linux adds to every segment; TCP_INFO's segment size already excludes it. */
const TCP_OPTION_BYTES = 12;

export function wireOverhead(family: 4 | 6, segmentBytes: number): WireOverhead {
  const ip = family === 4 ? 20 : 40;
  const segmentOverhead = ETHERNET_BYTES + ip + TCP_BYTES + TCP_OPTION_BYTES;
  return {
    packetBytes: ETHERNET_BYTES + ip + UDP_BYTES,
    streamFactor: 1 + segmentOverhead / Math.max(1, segmentBytes),
  };
}
