const AGES = new WeakMap<object, () => number>();

type Observed = { readonly observedAt: string };

interface Sight {
  /** Local wall clock, and the server's; null if the server didn't send it. */
  readonly nowMs: number;
  readonly serverMs: number | null;
  readonly maxAgeMs: number;
  readonly monotonic: () => number;
}

/**
 * Records a graph when read; its age then grows by the monotonic clock. The initial age uses the local clock
 * or, if that is implausible, the server's, which also wrote `observedAt`.
 */
export function seenGraph(graph: Observed, { nowMs, serverMs, maxAgeMs, monotonic }: Sight): void {
  const builtMs = Date.parse(graph.observedAt);
  const ownMs = nowMs - builtMs;
  const isPlausible = ownMs >= 0 && ownMs <= maxAgeMs;
  const ageMs = isPlausible || serverMs === null ? ownMs : serverMs - builtMs;
  const seenMs = monotonic();
  AGES.set(graph, () => Math.max(0, ageMs) + monotonic() - seenMs);
}

/** Never negative: a builder's clock may be ahead of ours. */
export function graphAgeSeconds(graph: Observed, nowMs: number): number {
  const known = AGES.get(graph);
  if (known !== undefined) return known() / 1000;
  const builtMs = Date.parse(graph.observedAt);
  return Number.isNaN(builtMs) ? Infinity : Math.max(0, (nowMs - builtMs) / 1000);
}
