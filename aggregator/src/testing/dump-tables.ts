import { CHANNEL_REPORTERS, FLOW_REPORTER, FLOWS } from "../domain/channel-key.ts";
import { USAGE_COUNTERS } from "../domain/ingest/sink-tables.ts";
import type { Tables } from "../domain/graphs/tables.ts";
import type { UsageState } from "../domain/usage/usage.ts";
import { panesOf, windowStartMs } from "../domain/windows/window-shape.ts";

const WINDOWS = ["full", "fast"] as const;

/** All inputs of the graphs at `nowMs`, as plain data in a fixed order. */
export function dumpTables(
  tables: Tables,
  nowMs: number,
  pods: readonly string[],
  nodes: readonly string[],
): unknown {
  const { shape } = tables;
  const startMs = windowStartMs(shape, nowMs);
  const links = tables.links.sorted().map((link) => ({
    key: link.key,
    firstMs: Math.max(startMs, link.firstMs),
    newestMs: link.newestMs,
    windows: WINDOWS.map((window) => {
      const pane = link.read(nowMs, panesOf(shape, window));
      if (pane === null) return null;
      return { ...pane, rtt: pane.rtt === null || pane.rtt.count === 0 ? null : plain(pane.rtt.toData()) };
    }),
  }));
  const pairs = tables.bandwidth.sorted().map((pair) => ({
    pair: `${pair.source} ${pair.target}`,
    achieved: pair.achieved(nowMs),
    best: pair.best(nowMs),
  }));
  const dumped = ({ channels: table }: { readonly channels: Tables["channels"] }): unknown =>
    [...table.values()]
      .filter(({ newestMs }) => newestMs >= startMs)
      .map((channel) => ({
        key: JSON.stringify(channel.key),
        rates: WINDOWS.map((window) => channel.rates(nowMs, window)),
        flowRates: WINDOWS.map((window) => channel.flowRates(nowMs, window)),
        sides: [...CHANNEL_REPORTERS, FLOW_REPORTER]
          .filter((reporter) => channel.covers(reporter, nowMs, "full"))
          .map((reporter) => ({
            reporter,
            seconds: channel.side(reporter).coverage.seconds(shape, nowMs, shape.panes),
            totals: FLOWS.map((flow) => channel.side(reporter).total(flow, nowMs, shape.panes)),
          })),
      }))
      .sort((a, b) => (a.key < b.key ? -1 : 1));
  const usage = (state: UsageState | undefined): unknown =>
    state === undefined || state.newestMs < startMs
      ? null
      : {
          newestMs: state.newestMs,
          windows: WINDOWS.map((window) => ({
            cpu: state.cpu(nowMs, window),
            counters: USAGE_COUNTERS.map(
              (counter) => state.counterIfFed(counter)?.rate(nowMs, window) ?? null,
            ),
            level: state.cpuLevel(null).mean(nowMs, window),
            memory: state.memory(nowMs, window),
            receive: state.network("receive", nowMs, window),
            transmit: state.network("transmit", nowMs, window),
          })),
        };
  return {
    links,
    pairs,
    channels: dumped(tables),
    demand: dumped({ channels: tables.demand }),
    pods: pods.map((name) => usage(tables.pods.get(name))),
    nodes: nodes.map((name) => usage(tables.nodes.get(name))),
  };
}

/** Path of the first difference beyond rounding; "": none. */
export function firstDifference(a: unknown, b: unknown, path = ""): string {
  if (typeof a === "number" && typeof b === "number") {
    const same = Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b)) || Object.is(a, b);
    return same ? "" : `${path}: ${a} and ${b}`;
  }
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null)
    return a === b ? "" : `${path}: ${String(a)} and ${String(b)}`;
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  for (const name of names) {
    const difference = firstDifference(
      (a as Record<string, unknown>)[name],
      (b as Record<string, unknown>)[name],
      `${path}/${name}`,
    );
    if (difference !== "") return difference;
  }
  return "";
}

function plain(data: { readonly bucketCounts: ArrayLike<number> }): unknown {
  return { ...data, bucketCounts: Array.from(data.bucketCounts) };
}
