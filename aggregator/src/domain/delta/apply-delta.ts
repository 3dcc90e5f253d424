import type { PointTime } from "../point-time.ts";
import type { LinkState } from "../links/links.ts";
import type { Tables } from "../graphs/tables.ts";
import type { ChannelTable } from "../traffic/channels.ts";
import type { UsageState, UsageTable } from "../usage/usage.ts";
import type { WindowShape } from "../windows/window-shape.ts";
import { applyCover, type CoveredTime } from "./coverage-delta.ts";
import type { ChannelContribution } from "./channel-delta.ts";
import type { Contributions } from "./delta-tables.ts";
import type { LinkPart } from "./link-delta.ts";
import type { UsageContribution } from "./usage-delta.ts";

type Point = { -readonly [K in keyof PointTime]: PointTime[K] };

/** The packet counts of a link. */
export const PACKET_COUNTS = ["sent", "received", "lost", "late", "sendErrors"] as const;

/**
 * Adds to the windows what ingest would have added itself. What the tables have no room for is left out, as
 * it is by ingest. Whoever reads the same from the wire does the same, see DeltaReader.
 */
export function applyContributions(tables: Tables, contributions: Contributions, nowMs: number): void {
  const point: Point = { startMs: 0, timeMs: 0, eventMs: 0, offsetMs: 0, clockGeneration: 0, nowMs };
  for (const { link, parts } of contributions.links) {
    const state = appliedTo(link) ?? (link.applied = tables.links.open(link.key));
    if (state !== null) for (const part of parts) applyLinkPart(state, part, point);
  }
  for (const { source, target, bursts } of contributions.pairs) {
    const pair = tables.bandwidth.open(source, target);
    if (pair === null) continue;
    for (const { transport, eventMs, bitsPerSecond } of bursts)
      pair.take(transport, at(point, eventMs, eventMs), bitsPerSecond);
  }
  const { shape } = tables;
  for (const channel of contributions.channels) applyChannel(tables.channels, shape, channel);
  for (const demand of contributions.demand) applyChannel(tables.demand, shape, demand);
  for (const usage of contributions.pods) applyUsage(tables, tables.pods, usage);
  for (const usage of contributions.nodes) applyUsage(tables, tables.nodes, usage);
}

/** What the entity's deltas go to, if it is still there. */
function appliedTo<T extends { readonly live: boolean }>({
  applied,
}: {
  readonly applied: T | null;
}): T | null {
  return applied !== null && applied.live ? applied : null;
}

function applyLinkPart(link: LinkState, part: LinkPart, point: Point): void {
  at(point, part.startMs, part.eventMs);
  if (part.rtt !== null) link.addRttPart(point, part.rtt);
  if (isOnlyPresent(part)) link.addPackets(point, "sent", 0);
  for (const count of PACKET_COUNTS) if (part[count] !== 0) link.addPackets(point, count, part[count]);
  if (part.variationSeconds !== 0) link.addVariation(point, "variationSeconds", part.variationSeconds);
  if (part.variationCount !== 0) link.addVariation(point, "variationCount", part.variationCount);
}

/** True when all that is to say of a pane is that there was something: zeros are worth a point only then. */
export function isOnlyPresent(part: LinkPart): boolean {
  return (
    part.rtt === null &&
    part.variationSeconds === 0 &&
    part.variationCount === 0 &&
    PACKET_COUNTS.every((count) => part[count] === 0)
  );
}

function applyChannel(
  channels: ChannelTable,
  shape: WindowShape,
  { channel, sides }: ChannelContribution,
): void {
  const state = appliedTo(channel) ?? (channel.applied = channels.open(channel.key));
  if (state === null) return;
  for (const { reporter, cover, flows } of sides) {
    const side = state.side(reporter);
    applyCover(side.coverage, cover, shape.windowMs);
    for (const { flow, parts } of flows) {
      if (parts.length === 0) side.addPart(flow, paneOf(cover, shape), 0);
      for (const { paneStartMs, part } of parts) side.addPart(flow, paneStartMs, part);
    }
  }
}

/** Where a flow is noted of which nothing flowed. */
export function paneOf(cover: readonly CoveredTime[], { paneMs }: WindowShape): number {
  return Math.max(1, Math.floor(cover.at(-1)!.toMs / paneMs)) * paneMs;
}

function applyUsage({ shape }: Tables, table: UsageTable, contribution: UsageContribution): void {
  const { usage } = contribution;
  const state = appliedTo(usage) ?? (usage.applied = table.open(usage.name));
  if (state !== null) applyToUsage(state, contribution, shape.windowMs);
}

function applyToUsage(
  usage: UsageState,
  { counters, cpuLevels, memory }: UsageContribution,
  windowMs: number,
): void {
  for (const { counter, cover, parts } of counters) {
    const rate = usage.counter(counter);
    applyCover(rate.coverage, cover, windowMs);
    for (const { paneStartMs, part } of parts) rate.addPart(paneStartMs, part);
  }
  for (const { container, parts } of cpuLevels)
    for (const { newestMs, sum, count } of parts) usage.cpuLevel(container).takeMany(newestMs, sum, count);
  for (const { owner, timeMs, value } of memory) usage.memoryLevel(owner).take(timeMs, value);
}

function at(point: Point, startMs: number, eventMs: number): Point {
  point.startMs = startMs;
  point.timeMs = eventMs;
  point.eventMs = eventMs;
  return point;
}
