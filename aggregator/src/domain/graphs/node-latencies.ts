// Latencies that another component (KEP-260's netperf) writes into a ConfigMap. They give a cost only to
// pairs without own measurements. The input is untrusted: validated and bounded.
import { MAX_RTT_SECONDS } from "@isochrone/telemetry";
import type { ClusterGraphSnapshot, ClusterNode, Link } from "@isochrone/topology";
import { linkBandwidth } from "../bandwidth/bandwidth-view.ts";
import { networkOf, unprobedLink } from "./cluster-graph.ts";
import type { CostRule } from "./cost-rule.ts";
import type { LinkOrder } from "../compare.ts";
import { isDecided } from "./coordinate-links.ts";

export interface NodeLatency {
  readonly source: string;
  readonly target: string;
  readonly ms: Readonly<Partial<Record<Figure, number>>>;
}

type Figure = CostRule["quantile"];

export const LATENCY_FAULTS = [
  /** The key has the prefix of a latency but names no pair of nodes. */
  "bad_key",
  /** The value is not a number of milliseconds (or microseconds) in (0, 1 min]. */
  "bad_value",
  /** The ConfigMap exceeds the API server's limit; all of it is ignored. */
  "too_large",
] as const;
type LatencyFault = (typeof LATENCY_FAULTS)[number];

export interface ReadLatencies {
  readonly pairs: readonly NodeLatency[];
  readonly faults: Readonly<Record<LatencyFault, number>>;
  readonly firstFault: string | null;
}

/** Upstream's netperf component writes milliseconds; earlier versions wrote microseconds. */
const KEY =
  /^netperf[._](p50|p90|p99|mean)[._]latency[._](milliseconds|microseconds)\.origin\.(.+?)\.destination\.(.+)$/;
const SHAPE = "netperf.p90.latency.milliseconds.origin.<node>.destination.<node>";
const PREFIX = /^netperf[._]/;
const NODE_NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;
const VALUE = /^\d{1,12}(?:\.\d{1,12})?$/;
const MAX_MS = MAX_RTT_SECONDS * 1000;
const MAX_SHOWN = 160;
const MAX_CHARACTERS = 1024 * 1024;

export const NO_LATENCIES: ReadLatencies = {
  pairs: [],
  faults: { bad_key: 0, bad_value: 0, too_large: 0 },
  firstFault: null,
};

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

export interface LatencyUse {
  readonly used: number;
  /** The pair has own measurements, or never answered its probes. */
  readonly measured: number;
  readonly unknownNode: number;
}

export const NO_LATENCIES_USED: LatencyUse = { used: 0, measured: 0, unknownNode: 0 };

const DECLARED = { origin: "declared", provisional: false, ageSeconds: null, observedAt: null } as const;

/**
 * Adds costs of origin `declared` to pairs that are neither measured nor silent. They do not expire. A pair
 * without the graph's quantile uses its 90th percentile (upstream's default), else its median or mean.
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

class Pairs {
  readonly links: Link[];
  readonly use = { used: 0, measured: 0, unknownNode: 0 };
  readonly #rule: CostRule;
  readonly #nowMs: number;
  readonly #nodes: ReadonlyMap<string, ClusterNode>;
  readonly #decided = new Set<string>();
  /** Indexes of links without a cost, which a declared link would duplicate. */
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
