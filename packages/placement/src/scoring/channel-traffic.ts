// Values a channel's traffic in bytes. Service meshes count bytes; traces and flow logs count requests at
// most.
import type { Channel } from "@isochrone/topology";
import { bounded } from "./columns.ts";
import { PlacementError } from "./errors.ts";
import { shortNumber } from "./explanation.ts";
import type { CombinationMode } from "./strategy.ts";

/**
 * Bytes of a request and its response. Seemakhupt 2023, section 2.5: medians of 1,530 B and 315 B, plus
 * headers. An order of magnitude only: sizes are heavy-tailed.
 */
export const DEFAULT_BYTES_PER_REQUEST = 2_000;

/** Bytes per request of channels without byte counts, or the reason why such requests don't count. */
export type RequestValue =
  | { readonly bytesPerRequest: number }
  | { readonly bytesPerRequest: null; readonly reason: string };

/**
 * In mode `raw` requests don't count: the papers' sums use measured traffic. Throws PlacementError
 * `invalid_setting`.
 */
export function requestValue(mode: CombinationMode, bytesPerRequest: number): RequestValue {
  if (!(bytesPerRequest >= 0 && bytesPerRequest < Infinity)) {
    throw new PlacementError(
      "invalid_setting",
      `bytesPerRequest must be a finite number of at least 0, got ${bytesPerRequest}`,
    );
  }
  if (mode === "raw") return { bytesPerRequest: null, reason: "raw mode counts measured bytes only" };
  if (bytesPerRequest === 0) return { bytesPerRequest: null, reason: "bytesPerRequest is 0" };
  return { bytesPerRequest };
}

export interface TrafficSources {
  readonly byBytes: number;
  /** Channels valued by their requests. Null: none. */
  readonly byRequests: RequestValuation | null;
  readonly notKnown: number;
  /** How many of these have a request rate, and why it is not used. Null: none. */
  readonly unused: { readonly channels: number; readonly reason: string } | null;
}

export interface RequestValuation {
  readonly channels: number;
  readonly bytesPerRequest: number;
  readonly named: readonly string[];
}

const MAX_NAMED = 5;

/** Bytes per second of both directions. Null: unknown. */
export function bytesPerSecondOf(channel: Channel, { bytesPerRequest }: RequestValue): number | null {
  if (channel.bytesPerSecond !== null) return channel.bytesPerSecond;
  if (channel.requestsPerSecond === null || bytesPerRequest === null) return null;
  return bounded(channel.requestsPerSecond * bytesPerRequest);
}

export function trafficSources(channels: readonly Channel[], value: RequestValue): TrafficSources {
  const silent = channels.filter((channel) => channel.bytesPerSecond === null);
  const requested = silent.filter(isRequested);
  const byBytes = channels.length - silent.length;
  if (value.bytesPerRequest !== null) {
    const byRequests = requested.length === 0 ? null : valuation(requested, value.bytesPerRequest);
    return { byBytes, byRequests, notKnown: silent.length - requested.length, unused: null };
  }
  const unused = requested.length === 0 ? null : { channels: requested.length, reason: value.reason };
  return { byBytes, byRequests: null, notKnown: silent.length, unused };
}

type RequestedChannel = Channel & { readonly requestsPerSecond: number };

function isRequested(channel: Channel): channel is RequestedChannel {
  return channel.requestsPerSecond !== null;
}

function valuation(channels: readonly RequestedChannel[], bytesPerRequest: number): RequestValuation {
  const busiest = channels.toSorted((a, b) => b.requestsPerSecond - a.requestsPerSecond).slice(0, MAX_NAMED);
  const named = busiest.map(
    ({ source, target, requestsPerSecond }) =>
      `${source} -> ${target} (${shortNumber(requestsPerSecond)} requests/s)`,
  );
  return { channels: channels.length, bytesPerRequest, named };
}

export function trafficRemarks({ byRequests, notKnown, unused }: TrafficSources): string[] {
  const said: string[] = [];
  if (byRequests !== null) {
    const { channels, bytesPerRequest, named } = byRequests;
    const rest = channels > named.length ? ` and ${channels - named.length} more` : "";
    said.push(
      `channels whose bytes nobody counts were valued at ${bytesPerRequest} bytes per request: ${named.join(", ")}${rest}`,
    );
  }
  if (notKnown > 0) {
    const but =
      unused === null ? "" : `; the requests of ${unused.channels} of them are known, but ${unused.reason}`;
    said.push(`${notKnown} channels of unknown traffic counted for nothing${but}`);
  }
  return said;
}

/** Returns why no traffic is known, or null if some is. */
export function noTrafficReason({ byBytes, byRequests, notKnown, unused }: TrafficSources): string | null {
  if (byBytes > 0 || byRequests !== null) return null;
  if (notKnown === 0) return "its workload has no channel";
  const traffic = "the traffic of its workload's channels is not known";
  return unused === null ? traffic : `${traffic} in bytes, and ${unused.reason}`;
}
