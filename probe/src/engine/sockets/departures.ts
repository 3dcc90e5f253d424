import { SYS, type ReceiveBatch } from "@isochrone/kernel-sockets";

/** Maximum outstanding departure stamps; later ones are useless. As many as eight bits count. */
const REMEMBERED = 256;

export class Departures {
  readonly #tags = new Float64Array(REMEMBERED);
  readonly #numbers = new Float64Array(REMEMBERED).fill(-1);
  #outstanding = 0;

  expect(number: number, tag: number): void {
    const at = placeOf(number);
    if (this.#numbers[at] === -1) this.#outstanding++;
    this.#numbers[at] = number;
    this.#tags[at] = tag;
  }

  restart(): void {
    this.#numbers.fill(-1);
    this.#outstanding = 0;
  }

  get outstanding(): boolean {
    return this.#outstanding > 0;
  }

  /** Delivers the error queue's content. Returns false if it was empty. `batch` has one slot. */
  drain(fd: number, batch: ReceiveBatch, onSent: (tag: number, kernelNs: number) => void): boolean {
    let any = false;
    do {
      if (batch.receive(fd, SYS.MSG_ERRQUEUE) <= 0) return any;
      any = true;
      const { sendNumber, kernelTime } = batch.info(0);
      if (sendNumber >= 0) this.#stamped(sendNumber, kernelTime, onSent);
    } while (this.#outstanding > 0);
    return any;
  }

  #stamped(number: number, kernelNs: number, onSent: (tag: number, kernelNs: number) => void): void {
    const at = placeOf(number);
    if (this.#numbers[at] !== number) return;
    this.#numbers[at] = -1;
    this.#outstanding--;
    onSent(this.#tags[at] ?? 0, kernelNs);
  }
}

/** A stream's numbers count bytes in steps of a frame's length; hashing spreads them. */
function placeOf(number: number): number {
  return Math.imul(number, 0x9e3779b1) >>> 24;
}
