// Random draws of a fuzzer. Each input has its own seed, so that it can be recreated alone.
import { seededRandom } from "@isochrone/runtime";

export class Draws {
  readonly #next: () => number;

  constructor(...seeds: readonly (number | string)[]) {
    let hash = 0x811c9dc5;
    for (const character of seeds.join("/"))
      hash = Math.imul(hash ^ character.codePointAt(0)!, 0x0100_0193) >>> 0;
    const random = seededRandom(hash);
    this.#next = () => random.next();
  }

  below(below: number): number {
    return Math.floor(this.#next() * below);
  }

  chance(share: number): boolean {
    return this.#next() < share;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }
}
