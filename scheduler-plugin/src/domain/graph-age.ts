// How old graphs are, whatever the clocks of machines say.

/** Whatever has an age of its own: graphs that were read from the graph API. */
const AGES = new WeakMap<object, () => number>();

type Observed = { readonly observedAt: string };

interface Sight {
  /** Wall milliseconds here, and at the server; null: it didn't say. */
  readonly nowMs: number;
  readonly serverMs: number | null;
  /** An age above this is not believed of our own clock alone. */
  readonly maxAgeMs: number;
  readonly monotonic: () => number;
}

/**
 * Notes a graph as it is read: from now on its age grows by the monotonic clock. Its age at first sight is by
 * our clock; where that says what can't be, by the server's own, which also wrote `observedAt`.
 */
export function seenGraph(graph: Observed, { nowMs, serverMs, maxAgeMs, monotonic }: Sight): void {
  const builtMs = Date.parse(graph.observedAt);
  const ownMs = nowMs - builtMs;
  const isPlausible = ownMs >= 0 && ownMs <= maxAgeMs;
  const ageMs = isPlausible || serverMs === null ? ownMs : serverMs - builtMs;
  const seenMs = monotonic();
  AGES.set(graph, () => Math.max(0, ageMs) + monotonic() - seenMs);
}

/** Never negative: a builder's clock ahead of ours must not make graphs younger than new. */
export function graphAgeSeconds(graph: Observed, nowMs: number): number {
  const known = AGES.get(graph);
  if (known !== undefined) return known() / 1000;
  const builtMs = Date.parse(graph.observedAt);
  return Number.isNaN(builtMs) ? Infinity : Math.max(0, (nowMs - builtMs) / 1000);
}
