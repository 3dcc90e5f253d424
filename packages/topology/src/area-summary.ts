// Summary of links between two zones or regions, an estimate for unmeasured node pairs.
import { median } from "@isochrone/primitives";
import { PAIR_STATE } from "./link-table.ts";
import type { LinkTable } from "./link-table.ts";
import type { ClusterNode } from "./schema.ts";
import { medianDeviation } from "./statistics.ts";

export interface AreaSummary {
  readonly ms: number;
  readonly errorMs: number | null;
  /** Age of its oldest link. Null: an age is unknown. */
  readonly ageSeconds: number | null;
}

export class AreaSummaries {
  readonly #area: Int32Array;
  readonly #count: number;
  readonly #summaries = new Map<number, AreaSummary>();

  constructor(nodes: readonly ClusterNode[], table: LinkTable, areaOf: (node: ClusterNode) => string | null) {
    const ids = new Map<string, number>();
    this.#area = Int32Array.from(nodes, (node) => {
      const area = areaOf(node);
      if (area === null) return -1;
      if (!ids.has(area)) ids.set(area, ids.size);
      return ids.get(area)!;
    });
    this.#count = ids.size;
    for (const [key, records] of this.#recordsByPair(nodes.length, table))
      this.#summaries.set(key, summarise(table, records));
  }

  /** Summary for two nodes by id. Undefined: no measured link between their areas. */
  between(a: number, b: number): AreaSummary | undefined {
    const key = this.#key(a, b);
    return key < 0 ? undefined : this.#summaries.get(key);
  }

  #recordsByPair(nodeCount: number, table: LinkTable): Map<number, number[]> {
    const records = new Map<number, number[]>();
    for (let source = 0; source < nodeCount; source++) {
      for (let at = table.rowStart[source]!; at < table.rowStart[source + 1]!; at++) {
        const key = table.state[at] === PAIR_STATE.measured ? this.#key(source, table.target[at]!) : -1;
        if (key < 0) continue;
        const list = records.get(key);
        if (list === undefined) records.set(key, [at]);
        else list.push(at);
      }
    }
    return records;
  }

  #key(a: number, b: number): number {
    const from = this.#area[a]!;
    const to = this.#area[b]!;
    if (from < 0 || to < 0) return -1;
    return Math.min(from, to) * this.#count + Math.max(from, to);
  }
}

function summarise(table: LinkTable, records: readonly number[]): AreaSummary {
  const costs = records.map((at) => table.costMs[at]!);
  const ms = median(costs)!;
  let ageSeconds: number | null = 0;
  for (const at of records) {
    const age = table.link(at).ageSeconds;
    ageSeconds = age === null || ageSeconds === null ? null : Math.max(ageSeconds, age);
  }
  return { ms, errorMs: medianDeviation(costs, ms), ageSeconds };
}

/** Zone names are unique only within a region. */
export function zoneOf(node: ClusterNode): string | null {
  return node.zone === null ? null : JSON.stringify([node.region, node.zone]);
}

export function regionOf(node: ClusterNode): string | null {
  return node.region;
}
