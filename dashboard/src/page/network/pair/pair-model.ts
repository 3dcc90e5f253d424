import type { Link, LinkHistory } from "@isochrone/topology";
import type { EmulatedLink, LinkChange } from "../../state/emulator.ts";
import { age, clockTime, milliseconds, percent } from "../../model/format.ts";

export const METHOD_NAMES: Readonly<Record<string, string>> = {
  udp_rr: "UDP request/response",
  tcp_rr: "TCP request/response",
  icmp: "ICMP echo",
  tcp_connect: "TCP handshake",
};

const DEFAULT_ORDER = ["udp_rr", "tcp_rr", "icmp", "tcp_connect"];

/** The link used for costs: measured before declared before estimated, then by method order. */
export function believed(links: readonly Link[], order: readonly string[]): Link | null {
  const methods = [...order, ...DEFAULT_ORDER];
  const rank = (link: Link): number =>
    (link.origin === "measured" ? 0 : link.origin === "declared" ? 200 : 400) +
    (link.rttMs.p50 === null && link.costMs === null ? 100 : 0) +
    methods.indexOf(link.method);
  return links.reduce<Link | null>(
    (best, link) => (best === null || rank(link) < rank(best) ? link : best),
    null,
  );
}

export function errorNote({
  costMs,
  errorMs,
  provisional,
}: Pick<Link, "costMs" | "errorMs" | "provisional">): string {
  const error = errorMs === null ? "error not known" : `± ${milliseconds(errorMs)}`;
  if (costMs === null) return "";
  return provisional ? `${error}; provisional: nothing moves because of it` : error;
}

/** A link with fields beyond its window, as sent by newer aggregators; see the API document. */
export type KnownLink = Link & {
  /** Time of the newest answer; kept while nothing answers. */
  readonly answeredAt?: string | null;
  /** Start of the figures, if the link changed within the window. */
  readonly since?: string | null;
};

interface LastAnswer {
  readonly at: string;
  /** False: at that time or up to a window earlier. */
  readonly isExact: boolean;
}

/**
 * Null: unknown. For an answering pair, the newest sample; for a cut one, that would be the last lost packet.
 */
export function lastAnswer(link: KnownLink, past: LinkHistory | null): LastAnswer | null {
  if (link.answeredAt !== undefined && link.answeredAt !== null)
    return { at: link.answeredAt, isExact: true };
  if (link.rttMs.count > 0) return link.observedAt === null ? null : { at: link.observedAt, isExact: true };
  const kept = past?.points.findLast(({ p50Ms }) => p50Ms !== null);
  return kept === undefined ? null : { at: kept.at, isExact: false };
}

/** Probed, but nothing comes back. */
export const isCut = ({ origin, lossRatio }: Link): boolean => origin === "measured" && lossRatio === 1;

/**
 * Since when a pair is silent, and the cost placement assumes.
 * @param worstMs highest known cost of the graph, ms; NaN: unknown
 */
export function noAnswerText(last: LastAnswer | null, worstMs: number, nowMs: number): string {
  const pays = Number.isNaN(worstMs)
    ? "No cost is known that placement could pay."
    : `Placement pays the worst known cost, ${milliseconds(worstMs)}.`;
  if (last === null) return `No answer; none is kept. ${pays}`;
  const ago = age(Math.max(0, (nowMs - Date.parse(last.at)) / 1000));
  const about = last.isExact ? "" : "about ";
  return `No answer since ${about}${clockTime(last.at, nowMs)} (${ago}). ${pays}`;
}

export function onAxis(value: number, low: number, high: number): number {
  const share = Math.log(Math.max(value, low) / low) / Math.log(high / low);
  return Math.min(Math.max(share, 0), 1);
}

export function axisOf(values: readonly number[]): {
  readonly low: number;
  readonly high: number;
  readonly ticks: readonly number[];
} {
  const known = values.filter((value) => value > 0 && Number.isFinite(value));
  if (known.length === 0) return { low: 0.1, high: 1000, ticks: [0.1, 1, 10, 100, 1000] };
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const steps = Array.from(
    { length: 27 },
    (_, index) => [1, 2, 5][index % 3]! * 10 ** (Math.floor(index / 3) - 4),
  );
  const low = steps.findLast((step) => step <= least * 0.9) ?? steps[0]!;
  const high = steps.find((step) => step >= most * 1.1) ?? steps.at(-1)!;
  const between = steps.filter((step) => step >= low && step <= high);
  const every = Math.ceil(between.length / 7);
  return { low, high, ticks: between.filter((_, index) => index % every === 0) };
}

/** Describes an emulated link: `12 ms, loses 30 %`. */
export function linkInWords({ rttMs, jitterMs, lossRatio, cut }: EmulatedLink): string {
  if (cut) return "cut";
  const parts = [milliseconds(rttMs)];
  if (jitterMs > 0) parts.push(`jitter ${milliseconds(jitterMs)}`);
  if (lossRatio > 0) parts.push(`loses ${percent(lossRatio)}`);
  return parts.join(", ");
}

const changeable = ({ rttMs, jitterMs, lossRatio, bandwidthBitsPerSecond, cut }: EmulatedLink) =>
  [rttMs, jitterMs, lossRatio, bandwidthBitsPerSecond, cut] as const;

export function isAsBefore(link: EmulatedLink, initial: EmulatedLink): boolean {
  const before = changeable(initial);
  return changeable(link).every((value, index) => value === before[index]);
}

export function healing({ rttMs: delayMs, ...rest }: EmulatedLink): LinkChange {
  const { jitterMs, lossRatio, bandwidthBitsPerSecond, cut } = rest;
  return { delayMs, jitterMs, lossRatio, bandwidthBitsPerSecond, cut };
}
