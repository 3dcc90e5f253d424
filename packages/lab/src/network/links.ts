import { definedOf, isKeyOf } from "@isochrone/primitives";
import { NetworkError } from "./errors.ts";

/** Properties of exchanges that one node initiates. Each direction adds half of the round trip. */
export interface LinkSettings {
  /** Round-trip time without jitter and queueing. */
  readonly rttMs: number;
  /** Largest deviation of the round trip, uniform; each direction draws half of it independently. */
  readonly jitterMs: number;
  /** Share of exchanges that lose the request or the answer, 0 to 1. */
  readonly lossRatio: number;
  /** Per direction; null: unlimited. */
  readonly bandwidthBitsPerSecond: number | null;
  /** Nothing passes: UDP is dropped, TCP stalls without a reset and resumes when healed. */
  readonly cut: boolean;
}

export type LinkChange = { readonly [K in keyof LinkSettings]?: LinkSettings[K] | undefined };

/** Rows: initiators. Columns: responders. The diagonal is unused. */
export type LinkMatrix = readonly (readonly LinkSettings[])[];

/** 1 minute: longer delays are mistaken units. */
const MAX_DELAY_MS = 60_000;
const MIN_BANDWIDTH_BITS_PER_SECOND = 1000;

export const IDEAL_LINK: LinkSettings = {
  rttMs: 0,
  jitterMs: 0,
  lossRatio: 0,
  bandwidthBitsPerSecond: null,
  cut: false,
};

const RULES: {
  readonly [K in keyof LinkSettings]: { readonly rule: string; readonly holds: (value: unknown) => boolean };
} = {
  rttMs: {
    rule: `a number of ms from 0 to ${MAX_DELAY_MS}`,
    holds: (value) => isBetween(value, 0, MAX_DELAY_MS),
  },
  jitterMs: {
    rule: `a number of ms from 0 to ${MAX_DELAY_MS}`,
    holds: (value) => isBetween(value, 0, MAX_DELAY_MS),
  },
  lossRatio: { rule: "a number from 0 to 1", holds: (value) => isBetween(value, 0, 1) },
  bandwidthBitsPerSecond: {
    rule: `null (unlimited) or a number of at least ${MIN_BANDWIDTH_BITS_PER_SECOND}`,
    holds: (value) =>
      value === null || isBetween(value, MIN_BANDWIDTH_BITS_PER_SECOND, Number.MAX_SAFE_INTEGER),
  },
  cut: { rule: "true or false", holds: (value) => typeof value === "boolean" },
};

function isBetween(value: unknown, min: number, max: number): boolean {
  return typeof value === "number" && value >= min && value <= max;
}

/** @throws NetworkError `invalid_argument` naming link, setting, rule and value */
export function applyChange(subject: string, link: LinkSettings, change: LinkChange): LinkSettings {
  for (const [key, value] of Object.entries(change)) {
    if (value === undefined) continue;
    if (!isKeyOf(RULES, key)) {
      throw new NetworkError("invalid_argument", `${subject} has no setting "${key}"`);
    }
    const { rule, holds } = RULES[key];
    if (!holds(value)) {
      throw new NetworkError(
        "invalid_argument",
        `${subject}: ${key} must be ${rule}, got ${JSON.stringify(value)}`,
      );
    }
  }
  return { ...link, ...definedOf(change) };
}

/** Loss per independent direction: 1 - (1 - q)^2 = p, so q = 1 - sqrt(1 - p). */
export function oneWayLossRatio(roundTripLossRatio: number): number {
  return 1 - Math.sqrt(1 - roundTripLossRatio);
}
