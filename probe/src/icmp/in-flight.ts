import type { EchoFlow } from "./echo-flow.ts";

interface InFlight {
  readonly flow: EchoFlow;
  /** The flow's own count; -1: the port has not accepted the packet. */
  readonly sequence: number;
  readonly sentMs: number;
  /** Time by the port's clock; NaN: none yet. */
  readonly departedNs: number;
}

/** The latest packets of all flows, in a ring by number; older ones are forgotten. */
export class InFlightRing {
  #size = 0;
  #flows: (EchoFlow | null)[] = [];
  #numbers = new Uint32Array();
  #sequences = new Float64Array();
  #sentMs = new Float64Array();
  #departedNs = new Float64Array();
  #next = 0;

  constructor(size: number) {
    this.grow(size);
  }

  grow(size: number): void {
    if (size <= this.#size) return;
    const before = { size: this.#size, flows: this.#flows, numbers: this.#numbers };
    const [sequences, sentMs, departedNs] = [this.#sequences, this.#sentMs, this.#departedNs];
    this.#size = size;
    this.#flows = Array.from({ length: size }, () => null);
    this.#numbers = new Uint32Array(size);
    this.#sequences = new Float64Array(size);
    this.#sentMs = new Float64Array(size);
    this.#departedNs = new Float64Array(size);
    for (let from = 0; from < before.size; from++) {
      const at = before.numbers[from]! % size;
      if ((before.flows[from] ?? null) === null) continue;
      this.#flows[at] = before.flows[from]!;
      this.#numbers[at] = before.numbers[from]!;
      this.#sequences[at] = sequences[from]!;
      this.#sentMs[at] = sentMs[from]!;
      this.#departedNs[at] = departedNs[from]!;
    }
  }

  add(flow: EchoFlow, sentMs: number): number {
    const number = this.#next;
    this.#next = (number + 1) >>> 0;
    const at = number % this.#size;
    this.#flows[at] = flow;
    this.#numbers[at] = number;
    this.#sequences[at] = -1;
    this.#sentMs[at] = sentMs;
    this.#departedNs[at] = Number.NaN;
    return number;
  }

  find(number: number): InFlight | null {
    const at = number % this.#size;
    const flow = this.#flows[at];
    if (flow === null || flow === undefined || this.#numbers[at] !== number) return null;
    return {
      flow,
      sequence: this.#sequences[at]!,
      sentMs: this.#sentMs[at]!,
      departedNs: this.#departedNs[at]!,
    };
  }

  /** The latest packet to `target` whose number ends with these 16 bits. */
  findShort(shortNumber: number, target: string): InFlight | null {
    let number = ((this.#next & ~0xffff) | shortNumber) >>> 0;
    if (number >= this.#next) number = (number - 0x1_0000) >>> 0;
    for (let back = 0; back < this.#size; back += 0x1_0000) {
      const found = this.find((number - back) >>> 0);
      if (found?.flow.options.address === target) return found;
    }
    return null;
  }

  setSequence(number: number, sequence: number): void {
    this.#sequences[number % this.#size] = sequence;
  }

  setDeparted(number: number, departedNs: number): void {
    const at = number % this.#size;
    if (this.#numbers[at] === number) this.#departedNs[at] = departedNs;
  }
}
