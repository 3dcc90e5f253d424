// Jobs without shared links, even indirect ones, do not affect each other. Most candidates of a search touch
// a small part of the network, and only that part is recomputed.
import type { Filling } from "./filling.ts";
import type { Load } from "./namespace-shares.ts";

export class ConnectedLoads {
  readonly #loads: readonly Load[];
  readonly #users: number[][];
  readonly #isSeenLink: Uint8Array;
  readonly #isSeenLoad: Uint8Array;

  constructor(loads: readonly Load[], capacities: number) {
    this.#loads = loads;
    this.#users = Array.from({ length: capacities }, () => []);
    for (const [at, { links }] of loads.entries()) for (const link of links) this.#users[link]!.push(at);
    this.#isSeenLink = new Uint8Array(capacities);
    this.#isSeenLoad = new Uint8Array(loads.length);
  }

  /** Frames per second by load, the added one last. @param before rates without it */
  withAdded(added: Load, before: Float64Array, filling: Filling): Float64Array {
    const affected = this.#connectedTo([added.links]);
    const filled = filling.pacesOf([...affected.map((at) => this.#loads[at]!), added]);
    const paces = new Float64Array(before.length + 1);
    paces.set(before);
    for (const [index, at] of affected.entries()) paces[at] = filled[index]!;
    paces[before.length] = filled.at(-1)!;
    return paces;
  }

  withReplaced(replaced: number, by: Load, before: Float64Array, filling: Filling): Float64Array {
    const affected = this.#connectedTo([this.#loads[replaced]!.links, by.links]).filter(
      (at) => at !== replaced,
    );
    const filled = filling.pacesOf([...affected.map((at) => this.#loads[at]!), by]);
    const paces = before.slice();
    for (const [index, at] of affected.entries()) paces[at] = filled[index]!;
    paces[replaced] = filled.at(-1)!;
    return paces;
  }

  #connectedTo(starts: readonly Int32Array[]): number[] {
    const links: number[] = [];
    const found: number[] = [];
    const reach = (each: Int32Array): void => {
      for (const link of each) {
        if (this.#isSeenLink[link] === 1) continue;
        this.#isSeenLink[link] = 1;
        links.push(link);
      }
    };
    for (const each of starts) reach(each);
    for (let next = 0; next < links.length; next++)
      for (const at of this.#users[links[next]!]!) {
        if (this.#isSeenLoad[at] === 1) continue;
        this.#isSeenLoad[at] = 1;
        found.push(at);
        reach(this.#loads[at]!.links);
      }
    for (const link of links) this.#isSeenLink[link] = 0;
    for (const at of found) this.#isSeenLoad[at] = 0;
    return found.sort((a, b) => a - b);
  }
}
