/** Bytes in flight by sequence, for predicting the queue. */
export class SentLog {
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

  get bytes(): number {
    return this.#units === 0 ? 0 : this.#cumulative[this.#units - 1]!;
  }

  /** Bytes sent after the unit `sequence`; -1 returns all. */
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
