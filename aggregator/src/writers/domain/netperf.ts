// KEP-260's ConfigMap of latencies, as upstream's networktopology-controller reads it.
import { STALE_AFTER_WINDOWS, type ClusterGraphSnapshot, type Link } from "@isochrone/topology";

/** The only key format that upstream reads. Values are whole milliseconds. */
const KEY = /^netperf\.p90\.latency\.milliseconds\.origin\..+\.destination\..+$/;
/** The API server's limit of a ConfigMap's key. */
const MAX_KEY_LENGTH = 253;

interface NetperfEntries {
  readonly data: ReadonlyMap<string, string>;
  /** Keys of unreachable pairs, whose entries must be removed. */
  readonly lost: ReadonlySet<string>;
  readonly unnamed: number;
}

/**
 * p90 of measured pairs, rounded up to whole ms, so never 0; by the first method in the graph's order that
 * has one.
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

/** Pairs that are cut by one method and not reached by any other. */
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

export function withEntries(
  stored: Readonly<Record<string, string>>,
  wanted: ReadonlyMap<string, string>,
): Record<string, string> {
  const others = Object.entries(stored).filter(([key]) => !KEY.test(key));
  return Object.fromEntries([...others, ...wanted]);
}

export function sizeBytes(data: Readonly<Record<string, string>>): number {
  let bytes = 0;
  for (const [key, value] of Object.entries(data)) bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  return bytes;
}

/** Differences of up to 1 ms, or a tenth, are jitter. */
const MIN_CHANGE_MS = 1;
const MIN_CHANGE_RATIO = 0.1;

/** True for an entry that is new, changed, or of a cut pair. Other removals wait for the refresh. */
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
