// Latencies between nodes that another component measured, as KEP-260's netperf component writes them into a
// ConfigMap, and what of them a cluster graph shows: a cost where nothing was measured here. They are
// somebody else's words: checked, bounded, and never before an own measurement.
import { MAX_RTT_SECONDS } from "@isochrone/telemetry";
import type { ClusterGraphSnapshot, ClusterNode, Link } from "@isochrone/topology";
import { linkBandwidth } from "../bandwidth/bandwidth-view.ts";
import { networkOf, unprobedLink } from "./cluster-graph.ts";
import type { CostRule } from "./cost-rule.ts";
import type { LinkOrder } from "../compare.ts";
import { isDecided } from "./coordinate-links.ts";

/** Of an ordered pair of nodes, ms. */
export interface NodeLatency {
  readonly source: string;
  readonly target: string;
  readonly ms: Readonly<Partial<Record<Figure, number>>>;
}

/** Figures that a cost may come from. */
type Figure = CostRule["quantile"];

/** Why an entry was left out. */
export const LATENCY_FAULTS = [
  /** Its key begins like one of a latency, and names no pair of nodes. */
  "bad_key",
  /**
   * Its value is no latency: not a number of milliseconds (or microseconds) above 0 and of at most a minute.
   */
  "bad_value",
  /** The ConfigMap is larger than the API server takes one: nothing of it is used. */
  "too_large",
] as const;
type LatencyFault = (typeof LATENCY_FAULTS)[number];

export interface ReadLatencies {
  readonly pairs: readonly NodeLatency[];
  readonly faults: Readonly<Record<LatencyFault, number>>;
  /** For people; null: there is no fault. */
  readonly firstFault: string | null;
}

/** Upstream's netperf component writes milliseconds, and wrote microseconds before. */
const KEY =
  /^netperf[._](p50|p90|p99|mean)[._]latency[._](milliseconds|microseconds)\.origin\.(.+?)\.destination\.(.+)$/;
const SHAPE = "netperf.p90.latency.milliseconds.origin.<node>.destination.<node>";
const PREFIX = /^netperf[._]/;
const NODE_NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;
const VALUE = /^\d{1,12}(?:\.\d{1,12})?$/;
const MAX_MS = MAX_RTT_SECONDS * 1000;
const MAX_SHOWN = 160;
/** What the API server takes of a ConfigMap, in bytes. */
const MAX_CHARACTERS = 1024 * 1024;

export const NO_LATENCIES: ReadLatencies = {
  pairs: [],
  faults: { bad_key: 0, bad_value: 0, too_large: 0 },
  firstFault: null,
};

/** Reads the data of such a ConfigMap. Keys of other forms are somebody's own affair. */
export function readLatencies(data: unknown): ReadLatencies {
  if (typeof data !== "object" || data === null) return NO_LATENCIES;
  const reading = new Reading();
  let characters = 0;
  for (const [key, value] of Object.entries(data)) {
    characters += key.length + (typeof value === "string" ? value.length : 0);
    if (characters > MAX_CHARACTERS)
      return {
        pairs: [],
        faults: { ...NO_LATENCIES.faults, too_large: 1 },
        firstFault: `data must have at most ${MAX_CHARACTERS} characters, got more`,
      };
    if (PREFIX.test(key)) reading.take(key, value);
  }
  return reading;
}

class Reading implements ReadLatencies {
  readonly faults: Record<LatencyFault, number> = { ...NO_LATENCIES.faults };
  firstFault: string | null = null;
  readonly #pairs = new Map<
    string,
    { source: string; target: string; ms: Partial<Record<Figure, number>> }
  >();

  get pairs(): readonly NodeLatency[] {
    return [...this.#pairs.values()];
  }

  take(key: string, value: unknown): void {
    const [, figure, unit, source = "", target = ""] = KEY.exec(key) ?? [];
    if (source === target || !NODE_NAME.test(source) || !NODE_NAME.test(target)) {
      this.#refuse("bad_key", key, `must be ${SHAPE}`, key);
      return;
    }
    const perMs = unit === "microseconds" ? 1000 : 1;
    const ms = typeof value === "string" && VALUE.test(value) ? Number(value) / perMs : Number.NaN;
    if (!(ms > 0 && ms <= MAX_MS))
      this.#refuse("bad_value", key, `must be above 0 and at most ${MAX_MS * perMs}`, value);
    else if (figure !== "p99") this.#pairOf(source, target).ms[figure as Figure] = ms;
  }

  #pairOf(source: string, target: string): { readonly ms: Partial<Record<Figure, number>> } {
    const id = `${source}\n${target}`;
    let pair = this.#pairs.get(id);
    if (pair === undefined) this.#pairs.set(id, (pair = { source, target, ms: {} }));
    return pair;
  }

  #refuse(fault: LatencyFault, key: string, rule: string, value: unknown): void {
    this.faults[fault]++;
    const shown = (JSON.stringify(value) ?? "nothing").slice(0, MAX_SHOWN);
    this.firstFault ??= `${key.slice(0, MAX_SHOWN)} ${rule}, got ${shown}`;
  }
}

/** What a graph made of the latencies, in pairs. */
export interface LatencyUse {
  /** They are the pair's cost. */
  readonly used: number;
  /** The pair is measured here, or was probed here in vain. */
  readonly measured: number;
  /** The cluster has no such node. */
  readonly unknownNode: number;
}

export const NO_LATENCIES_USED: LatencyUse = { used: 0, measured: 0, unknownNode: 0 };

const DECLARED = { origin: "declared", provisional: false, ageSeconds: null, observedAt: null } as const;

/**
 * The graph with a cost, of origin `declared`, for pairs of its nodes that are neither measured nor were
 * probed in vain. It has no age: it holds as long as it stands there. A pair that has no figure of the
 * graph's own kind takes its 90th percentile, which is what upstream writes, else its median or mean.
 */
export function withLatencies(
  graph: ClusterGraphSnapshot,
  latencies: readonly NodeLatency[],
  rule: CostRule,
  order: LinkOrder,
): { readonly graph: ClusterGraphSnapshot; readonly use: LatencyUse } {
  const pairs = new Pairs(graph, rule);
  for (const latency of latencies) pairs.take(latency);
  const { links, use } = pairs;
  return { graph: use.used === 0 ? graph : { ...graph, links: links.sort(order) }, use };
}

/** The pairs of a graph while costs are given to them. */
class Pairs {
  readonly links: Link[];
  readonly use = { used: 0, measured: 0, unknownNode: 0 };
  readonly #rule: CostRule;
  readonly #nowMs: number;
  readonly #nodes: ReadonlyMap<string, ClusterNode>;
  readonly #decided = new Set<string>();
  /** Places of links without a cost that a declared one would be the second of. */
  readonly #open = new Map<string, number>();

  constructor({ nodes, links, observedAt }: ClusterGraphSnapshot, rule: CostRule) {
    this.links = [...links];
    this.#rule = rule;
    this.#nowMs = Date.parse(observedAt);
    this.#nodes = new Map(nodes.map((node) => [node.name, node]));
    for (const [at, link] of links.entries()) {
      if (isDecided(link)) this.#decided.add(pairKey(link));
      else if (link.method === rule.methods[0] && link.ipFamily === 4) this.#open.set(pairKey(link), at);
    }
  }

  take({ source, target, ms }: NodeLatency): void {
    const [from, to] = [this.#nodes.get(source), this.#nodes.get(target)];
    const key = pairKey({ source, target });
    if (from === undefined || to === undefined) this.use.unknownNode++;
    else if (this.#decided.has(key)) this.use.measured++;
    else {
      this.use.used++;
      const at = this.#open.get(key);
      const costMs = ms[this.#rule.quantile] ?? ms.p90 ?? ms.p50 ?? ms.mean!;
      if (at === undefined) this.links.push({ ...this.#unprobed(from, to), costMs });
      else this.links[at] = { ...this.links[at]!, ...DECLARED, costMs };
    }
  }

  #unprobed(from: ClusterNode, to: ClusterNode): Link {
    const bandwidth = linkBandwidth(networkOf(from), networkOf(to), null, this.#nowMs);
    return unprobedLink({ source: from.name, target: to.name }, bandwidth, this.#rule, DECLARED.origin);
  }
}

function pairKey({ source, target }: Pick<Link, "source" | "target">): string {
  return `${source}\n${target}`;
}
