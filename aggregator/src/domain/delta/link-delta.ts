import { PROBE_ATTRIBUTES, type ExponentialHistogramData } from "@isochrone/telemetry";
import type { PacketCount, PaneOfLink } from "../links/link-counts.ts";
import type { LinkKey, LinkState } from "../links/links.ts";
import type { PointTime } from "../point-time.ts";
import { RttPart } from "../links/rtt-part.ts";
import type { LinkTarget } from "../ingest/sink-tables.ts";
import type { Touched } from "./touched.ts";
import { OnWire } from "./wire-attributes.ts";

/** What was added to one pane of a link. */
export interface LinkPart extends PaneOfLink {
  readonly paneStartMs: number;
  /** When the first of the points began. */
  startMs: number;
  /** When the last of them ended; within the pane. */
  eventMs: number;
}

/** What was added to a link. */
export interface LinkContribution {
  readonly link: LinkDelta;
  readonly parts: readonly LinkPart[];
}

const NOTHING: LinkPart[] = [];

/** Collects what is added to one link. */
export class LinkDelta extends OnWire implements LinkTarget {
  readonly key: LinkKey;
  readonly #paneMs: number;
  readonly #touched: Touched<LinkDelta>;
  #parts: LinkPart[] = NOTHING;
  /** What this replica's own deltas are applied to, once it was looked up. */
  applied: LinkState | null = null;
  live = true;
  idleSinceMs = Number.NEGATIVE_INFINITY;

  constructor(key: LinkKey, paneMs: number, touched: Touched<LinkDelta>) {
    super();
    this.key = key;
    this.#paneMs = paneMs;
    this.#touched = touched;
  }

  addRtt(point: PointTime, data: ExponentialHistogramData): boolean {
    const part = this.#part(point);
    part.rtt ??= new RttPart();
    return part.rtt.add(data);
  }

  addPackets(point: PointTime, count: PacketCount, packets: number): void {
    this.#part(point)[count] += packets;
  }

  addVariation(point: PointTime, field: "variationSeconds" | "variationCount", value: number): void {
    this.#part(point)[field] += value;
  }

  /** What was added since the last time. */
  drain(): LinkContribution {
    const contribution = { link: this, parts: this.#parts };
    this.#parts = NOTHING;
    return contribution;
  }

  protected override wireAttributes(): Record<string, string> {
    const { target, method, ipFamily } = this.key;
    return {
      [PROBE_ATTRIBUTES.destinationNode]: target,
      [PROBE_ATTRIBUTES.method]: method,
      [PROBE_ATTRIBUTES.ipFamily]: String(ipFamily),
    };
  }

  #part(point: PointTime): LinkPart {
    const fromMs = Math.max(1, point.startMs > 0 ? point.startMs + point.offsetMs : point.eventMs);
    const part = this.#partAt(Math.floor(point.eventMs / this.#paneMs) * this.#paneMs);
    if (fromMs < part.startMs) part.startMs = fromMs;
    if (point.eventMs > part.eventMs) part.eventMs = point.eventMs;
    return part;
  }

  #partAt(paneStartMs: number): LinkPart {
    const parts = this.#parts;
    for (let i = parts.length - 1; i >= 0; i--) if (parts[i]!.paneStartMs === paneStartMs) return parts[i]!;
    if (parts.length === 0) this.#touched.add(this);
    const part: LinkPart = {
      paneStartMs,
      startMs: Number.POSITIVE_INFINITY,
      eventMs: Number.NEGATIVE_INFINITY,
      rtt: null,
      sent: 0,
      received: 0,
      lost: 0,
      late: 0,
      sendErrors: 0,
      variationSeconds: 0,
      variationCount: 0,
    };
    // Arrays of one are made as such: one that grows by a push has room for 17.
    if (parts.length === 0) this.#parts = [part];
    else parts.push(part);
    return part;
  }
}
