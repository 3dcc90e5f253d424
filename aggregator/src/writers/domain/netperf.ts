// KEP-260's ConfigMap of latencies, as upstream's networktopology-controller reads it.
import { STALE_AFTER_WINDOWS, type ClusterGraphSnapshot, type Link } from "@isochrone/topology";

/** Upstream reads keys of this form and no others; its values are whole milliseconds. */
const KEY = /^netperf\.p90\.latency\.milliseconds\.origin\..+\.destination\..+$/;
/** The API server's limit of a ConfigMap's key. */
const MAX_KEY_LENGTH = 253;

/** What the ConfigMap must hold of ours. */
interface NetperfEntries {
  readonly data: ReadonlyMap<string, string>;
  /** Keys of pairs that no method reaches: what is written of them must go. */
  readonly lost: ReadonlySet<string>;
  /** Pairs whose names together are too long for a key. */
  readonly unnamed: number;
}

/**
 * The 90th percentile of every measured pair, rounded up to whole milliseconds: a measured pair is never 0,
 * and one that isn't measured has no entry. Of several methods the graph's first one counts that has a 90th
 * percentile.
 */
export function netperfEntries(graph: ClusterGraphSnapshot): NetperfEntries {
  const nodes = new Set(graph.nodes.map(({ name }) => name));
  const maxAgeSeconds = STALE_AFTER_WINDOWS * graph.windowSeconds;
  const methods = graph.costMethods;
  const ranks = new Map<string, number>();
  const data = new Map<string, string>();
  const unnamed = new Set<string>();
  for (const link of graph.links) {
    const { source, target, method, rttMs } = link;
    const rank = methods === undefined ? 0 : methods.indexOf(method);
    if (rank < 0 || rttMs.p90 === null || !isUsable(link, maxAgeSeconds)) continue;
    if (source === target || !nodes.has(source) || !nodes.has(target)) continue;
    const key = keyOf(link);
    if (key.length > MAX_KEY_LENGTH) {
      unnamed.add(key);
      continue;
    }
    if (rank >= (ranks.get(key) ?? Infinity)) continue;
    ranks.set(key, rank);
    data.set(key, String(Math.max(1, Math.ceil(rttMs.p90))));
  }
  return { data, lost: lostKeys(graph), unnamed: unnamed.size };
}

function keyOf({ source, target }: Pick<Link, "source" | "target">): string {
  return `netperf.p90.latency.milliseconds.origin.${source}.destination.${target}`;
}

/** Of pairs that one method says are cut, and no other one reaches. */
function lostKeys({ links }: ClusterGraphSnapshot): ReadonlySet<string> {
  const cut = new Set(links.filter(isCut).map(keyOf));
  if (cut.size === 0) return cut;
  for (const link of links) if (link.rttMs.count > 0 && !isCut(link)) cut.delete(keyOf(link));
  return cut;
}

function isCut({ origin, lossRatio }: Link): boolean {
  return origin === "measured" && lossRatio === 1;
}

function isUsable({ origin, lossRatio, ageSeconds }: Link, maxAgeSeconds: number): boolean {
  return origin === "measured" && lossRatio !== 1 && (ageSeconds ?? 0) <= maxAgeSeconds;
}

/** The ConfigMap's data with our entries in place of those that were ours; others' stay. */
export function withEntries(
  stored: Readonly<Record<string, string>>,
  wanted: ReadonlyMap<string, string>,
): Record<string, string> {
  const others = Object.entries(stored).filter(([key]) => !KEY.test(key));
  return Object.fromEntries([...others, ...wanted]);
}

/** Bytes of all keys and values. */
export function sizeBytes(data: Readonly<Record<string, string>>): number {
  let bytes = 0;
  for (const [key, value] of Object.entries(data)) bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  return bytes;
}

/** Whole milliseconds that are one apart, or a tenth, are jitter. */
const MIN_CHANGE_MS = 1;
const MIN_CHANGE_RATIO = 0.1;

/**
 * Whether an entry is new, changed by more than jitter, or is of a pair that is cut. Other entries that fell
 * away wait for the refresh.
 */
export function hasNetperfChanged(
  stored: Readonly<Record<string, string>>,
  { data: wanted, lost }: Pick<NetperfEntries, "data" | "lost">,
): boolean {
  if (Object.keys(stored).some((key) => lost.has(key))) return true;
  for (const [key, value] of wanted) {
    const before = Number(stored[key] ?? Number.NaN);
    const change = Math.abs(Number(value) - before);
    if (!(change <= Math.max(MIN_CHANGE_MS, MIN_CHANGE_RATIO * before))) return true;
  }
  return false;
}
