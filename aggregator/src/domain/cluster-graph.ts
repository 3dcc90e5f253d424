import type { Method } from "@isochrone/telemetry";
import type { ClusterGraphSnapshot, ClusterNode, Link } from "@isochrone/topology";
import type { ClusterState, NodeState } from "./cluster-state.ts";
import type { LinkPane, LinkState } from "./links.ts";
import type { Tables } from "./tables.ts";
import { panesOf, windowStartMs, type WindowName, type WindowShape } from "./window-shape.ts";

/** How links are valued. */
export interface CostRule {
  /** Methods that placement may pay by, best first. Others are shown without a cost. */
  readonly methods: readonly Method[];
  readonly quantile: "p50" | "p90";
}

/** What a graph is stamped with. */
export interface GraphStamp {
  readonly version: number;
  readonly nowMs: number;
}

/** Nodes and links as the windows have them at `stamp.nowMs`; nothing in it is older than the window. */
export function buildClusterGraph(
  tables: Tables,
  cluster: ClusterState,
  rule: CostRule,
  stamp: GraphStamp,
  window: WindowName,
): ClusterGraphSnapshot {
  const { shape } = tables;
  const panes = panesOf(shape, window);
  const context = { shape, rule, nowMs: stamp.nowMs, panes, textOf: rememberingText() };
  return {
    version: stamp.version,
    observedAt: rfc3339(stamp.nowMs),
    windowSeconds: (panes * shape.paneMs) / 1000,
    nodes: cluster.nodes.map((node) => buildNode(node, tables, stamp.nowMs, window)),
    links: tables.links.sorted().map((link) => buildLink(link, context)),
  };
}

function buildNode(node: NodeState, tables: Tables, nowMs: number, window: WindowName): ClusterNode {
  const usage = tables.nodes.get(node.name);
  const cores = usage?.cpu(nowMs, window) ?? null;
  const bytes = usage?.memory(nowMs, window) ?? null;
  return {
    ...node,
    availableCpuMillicores: available(node.allocatableCpuMillicores, cores === null ? null : cores * 1000),
    availableMemoryBytes: available(node.allocatableMemoryBytes, bytes),
    coordinate: null,
    usageAgeSeconds: ageSeconds(usage?.newestMs, nowMs),
  };
}

function available(allocatable: number | null, used: number | null): number | null {
  return allocatable === null || used === null ? null : Math.max(0, allocatable - used);
}

/** Writes times; links of one probe share theirs, and writing one takes as long as the rest of a link. */
function rememberingText(): (timeMs: number) => string {
  let lastMs = Number.NaN;
  let text = "";
  return (timeMs) => {
    if (timeMs !== lastMs) text = rfc3339(timeMs);
    lastMs = timeMs;
    return text;
  };
}

interface LinkContext {
  readonly shape: WindowShape;
  readonly rule: CostRule;
  readonly nowMs: number;
  readonly panes: number;
  readonly textOf: (timeMs: number) => string;
}

function buildLink(link: LinkState, { shape, rule, nowMs, panes, textOf }: LinkContext): Link {
  const pane = link.read(nowMs, panes);
  const rttMs = rttOf(pane);
  return {
    ...link.key,
    rttMs,
    lossRatio: pane === null ? null : lossRatioOf(pane),
    jitterMs:
      pane === null || pane.variationCount === 0
        ? null
        : (pane.variationSeconds / pane.variationCount) * 1000,
    bandwidthBitsPerSecond: { capacity: null, achieved: null, available: null },
    costMs: rule.methods.includes(link.key.method) ? rttMs[rule.quantile] : null,
    errorMs: null,
    origin: "measured",
    provisional: link.firstMs > windowStartMs(shape, nowMs, panes),
    ageSeconds: ageSeconds(link.newestMs, nowMs),
    observedAt: Number.isFinite(link.newestMs) ? textOf(link.newestMs) : null,
  };
}

/** A packet that couldn't be sent did not arrive either: a node that can send nothing has loss 1. */
function lossRatioOf({ received, lost, sendErrors }: LinkPane): number | null {
  const failed = lost + sendErrors;
  const decided = received + failed;
  return decided === 0 ? null : failed / decided;
}

function rttOf(pane: LinkPane | null): Link["rttMs"] {
  const rtt = pane?.rtt ?? null;
  if (rtt === null || rtt.count === 0) return { p50: null, p90: null, p99: null, mean: null, count: 0 };
  const { p50, p90, p99 } = rtt.percentiles();
  return { p50: toMs(p50), p90: toMs(p90), p99: toMs(p99), mean: toMs(rtt.mean), count: rtt.count };
}

function toMs(seconds: number | null): number | null {
  return seconds === null ? null : seconds * 1000;
}

/** Null for what was never seen. Event times may lie a little ahead: that is an age of 0. */
export function ageSeconds(newestMs: number | undefined, nowMs: number): number | null {
  return newestMs === undefined || !Number.isFinite(newestMs) ? null : Math.max(0, nowMs - newestMs) / 1000;
}

/** A time as the graph API writes it. */
export function rfc3339(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
