import type { CostField } from "./cost-field.ts";
import type { GroupLink, TrafficGroup } from "./traffic.ts";

/** Pods that arrived at a location, or left it (negative), not yet in a column. */
interface Arrival {
  readonly location: number;
  readonly link: GroupLink;
  pods: number;
}

/** More pending changes are applied at once: searching a long list costs more. */
const MAX_PENDING = 24;

/** Applies changes lazily: most changes of a search cancel out, at no cost and without rounding errors. */
export class PayColumns {
  readonly #field: CostField;
  readonly #groups: readonly TrafficGroup[];
  /** Shares the fixed column until a pod comes. */
  readonly #columns: Float64Array[];
  /** Columns without any planned pod. */
  readonly #fixed: readonly Float64Array[];
  readonly #pending: readonly Arrival[][];
  readonly #back: readonly (readonly GroupLink[])[];

  constructor(field: CostField, groups: readonly TrafficGroup[]) {
    this.#field = field;
    this.#groups = groups;
    this.#fixed = groups.map(({ fixed }) => {
      const column = new Float64Array(field.nodeCount);
      for (const { location, calling, called } of fixed) this.#pay(column, location, calling, called);
      return column;
    });
    this.#columns = this.#fixed.slice();
    this.#pending = groups.map(() => []);
    this.#back = groups.map(({ links }, own) =>
      links.map(({ group }) => groups[group]!.links.find((link) => link.group === own)!),
    );
  }

  clear(): void {
    for (const [group, fixed] of this.#fixed.entries()) {
      if (this.#columns[group] !== fixed) this.#columns[group]!.set(fixed);
      this.#pending[group]!.length = 0;
    }
  }

  tell(group: number, node: number, by: 1 | -1): void {
    const { links } = this.#groups[group]!;
    for (let at = 0; at < links.length; at++)
      this.#arrive(links[at]!.group, this.#back[group]![at]!, node, by);
  }

  /** Cost by node; read-only, valid until the next call of `tell`. */
  column(group: number): Float64Array {
    this.#workIn(group);
    return this.#columns[group]!;
  }

  at(group: number, node: number): number {
    let cost = this.#columns[group]![node]!;
    for (const { location, link, pods } of this.#pending[group]!) {
      if (pods === 0) continue;
      cost +=
        pods * (link.calling * this.#field.ms(node, location) + link.called * this.#field.ms(location, node));
    }
    return cost;
  }

  #arrive(group: number, link: GroupLink, location: number, by: 1 | -1): void {
    const pending = this.#pending[group]!;
    for (const arrival of pending) {
      if (arrival.location !== location || arrival.link !== link) continue;
      arrival.pods += by;
      return;
    }
    if (pending.length >= MAX_PENDING) this.#workIn(group);
    pending.push({ location, link, pods: by });
  }

  #workIn(group: number): void {
    const pending = this.#pending[group]!;
    if (pending.length === 0) return;
    if (this.#columns[group] === this.#fixed[group]) this.#columns[group] = this.#fixed[group]!.slice();
    for (const { location, link, pods } of pending)
      if (pods !== 0) this.#pay(this.#columns[group]!, location, pods * link.calling, pods * link.called);
    pending.length = 0;
  }

  #pay(column: Float64Array, location: number, calling: number, called: number): void {
    const to = this.#field.to(location);
    const from = this.#field.from(location);
    if (calling !== 0 && called !== 0) {
      for (let node = 0; node < column.length; node++)
        column[node]! += calling * to[node]! + called * from[node]!;
    } else if (calling !== 0) addScaled(column, to, calling);
    else if (called !== 0) addScaled(column, from, called);
  }
}

export function addScaled(column: Float64Array, costs: Float64Array, factor: number): void {
  for (let node = 0; node < column.length; node++) column[node]! += factor * costs[node]!;
}
