/** How many bytes were on their way at which sequence: what the queue is foretold from. */
export class SentLog {
  /** Bytes sent up to and with each sequence. */
  #cumulative = new Float64Array(4096);
  #units = 0;

  add(units: number, wireBytesEach: number): void {
    for (let i = 0; i < units; i++) {
      if (this.#units === this.#cumulative.length) this.#grow();
      this.#cumulative[this.#units] = this.bytes + wireBytesEach;
      this.#units++;
    }
  }

  get units(): number {
    return this.#units;
  }

  /** Bytes sent so far, on the wire. */
  get bytes(): number {
    return this.#units === 0 ? 0 : this.#cumulative[this.#units - 1]!;
  }

  /** Bytes sent after the unit of that sequence; -1: all. */
  bytesAfter(sequence: number): number {
    const upTo = sequence < 0 ? 0 : (this.#cumulative[Math.min(sequence, this.#units - 1)] ?? 0);
    return this.bytes - upTo;
  }

  #grow(): void {
    const larger = new Float64Array(this.#cumulative.length * 2);
    larger.set(this.#cumulative);
    this.#cumulative = larger;
  }
}
