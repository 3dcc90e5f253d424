import { definedOf, isKeyOf } from "@isochrone/primitives";
import { applyChange, IDEAL_LINK, type LinkChange } from "../../network/links.ts";
import { NamespaceError } from "../errors.ts";

/**
 * How packets travel from one node to another, one way. The names and meanings are those of the relay's
 * LinkSettings where both have them, but of one way and not of the round trip.
 */
export interface PathSettings {
  /** From the last bit's leaving the queue to arrival. */
  readonly delayMs: number;
  /** Size of the delay's variation; 0: none. A delay never gets below 0. */
  readonly jitterMs: number;
  /**
   * "uniform": the delay varies evenly by at most `jitterMs` up or down. "normal": `jitterMs` is the standard
   * deviation, cut off at four of them.
   */
  readonly jitterDistribution: "uniform" | "normal";
  /**
   * Packets never overtake each other; one that jitter would let overtake arrives right behind the former.
   */
  readonly keepOrder: boolean;
  /** Share of packets that don't arrive, 0 to 1. */
  readonly lossRatio: number;
  /** Mean number of packets lost in a row (Gilbert's model); null: every packet is judged by itself. */
  readonly lossBurstPackets: number | null;
  /** Share of packets that arrive twice. */
  readonly duplicateRatio: number;
  /** Share of packets that are held back for `reorderDelayMs`, so that later ones overtake them. */
  readonly reorderRatio: number;
  readonly reorderDelayMs: number;
  /** Share of packets that are changed behind the IP header. */
  readonly corruptRatio: number;
  /**
   * "bit": one bit is flipped, which checksums find. "swap": two different 16-bit words of the last 32 bytes
   * change places, which Internet checksums can't find.
   */
  readonly corruptKind: "bit" | "swap";
  /** Rate of the link, counted in whole Ethernet frames as tbf counts; null: unlimited. */
  readonly bandwidthBitsPerSecond: number | null;
  /**
   * Bytes that may leave at once after a silence (token bucket); 0: every frame takes its time on the wire.
   */
  readonly burstBytes: number;
  /**
   * Bytes that wait for the rate; what comes on top is dropped. Null: 100 ms at the rate, 64 KiB at least.
   */
  readonly queueBytes: number | null;
  /** Nothing passes. */
  readonly cut: boolean;
}

/** A change of a path; what is left out stays. */
export type PathChange = { readonly [K in keyof PathSettings]?: PathSettings[K] | undefined };

/** Rows are senders, columns receivers, both in the order of the nodes; the diagonal is not used. */
export type PathMatrix = readonly (readonly PathSettings[])[];

/** A path that changes nothing. */
export const IDEAL_PATH: PathSettings = {
  delayMs: 0,
  jitterMs: IDEAL_LINK.jitterMs,
  jitterDistribution: "uniform",
  keepOrder: false,
  lossRatio: IDEAL_LINK.lossRatio,
  lossBurstPackets: null,
  duplicateRatio: 0,
  reorderRatio: 0,
  reorderDelayMs: 2,
  corruptRatio: 0,
  corruptKind: "bit",
  bandwidthBitsPerSecond: IDEAL_LINK.bandwidthBitsPerSecond,
  burstBytes: 0,
  queueBytes: null,
  cut: IDEAL_LINK.cut,
};

/** As of the relay's links: longer delays are mistakes of unit. */
const MAX_DELAY_MS = 60_000;
const DELAY_RULE = {
  rule: `a number of ms from 0 to ${MAX_DELAY_MS}`,
  holds: (value: unknown) => isBetween(value, 0, MAX_DELAY_MS),
};
const RATIO_RULE = { rule: "a number from 0 to 1", holds: (value: unknown) => isBetween(value, 0, 1) };

/**
 * Settings that the relay's links don't have; jitter, loss, rate and cut are judged by the links' own rules.
 */
const RULES: {
  readonly [K in Exclude<keyof PathSettings, keyof LinkChange>]: {
    readonly rule: string;
    readonly holds: (value: unknown) => boolean;
  };
} = {
  delayMs: DELAY_RULE,
  jitterDistribution: oneOf("uniform", "normal"),
  keepOrder: { rule: "true or false", holds: (value) => typeof value === "boolean" },
  lossBurstPackets: {
    rule: "null or a number from 1 to 1000000",
    holds: (value) => value === null || isBetween(value, 1, 1e6),
  },
  duplicateRatio: RATIO_RULE,
  reorderRatio: RATIO_RULE,
  reorderDelayMs: DELAY_RULE,
  corruptRatio: RATIO_RULE,
  corruptKind: oneOf("bit", "swap"),
  burstBytes: { rule: "a number from 0 to 1e9", holds: (value) => isBetween(value, 0, 1e9) },
  queueBytes: {
    rule: "null or a number from 0 to 1e9",
    holds: (value) => value === null || isBetween(value, 0, 1e9),
  },
};

/**
 * The path after the change.
 * @throws NamespaceError `invalid_argument`, or NetworkError of the same code, naming the path, the setting,
 * its rule and the value
 */
export function applyPathChange(subject: string, path: PathSettings, change: PathChange): PathSettings {
  for (const [key, value] of Object.entries(change)) {
    if (value === undefined) continue;
    if (isKeyOf(RULES, key)) checkOwn(subject, key, value);
    else if (Object.hasOwn(IDEAL_PATH, key)) applyChange(subject, IDEAL_LINK, { [key]: value });
    else throw invalid(`${subject} has no setting "${key}"`);
  }
  const changed = { ...path, ...definedOf(change) };
  checkBurst(subject, changed);
  return changed;
}

function checkOwn(subject: string, key: keyof typeof RULES, value: unknown): void {
  const { rule, holds } = RULES[key];
  if (!holds(value)) throw invalid(`${subject}: ${key} must be ${rule}, got ${JSON.stringify(value)}`);
}

/** Gilbert's model has no state for it: from a good packet to a lost one the probability would be above 1. */
function checkBurst(subject: string, { lossRatio, lossBurstPackets }: PathSettings): void {
  if (lossBurstPackets === null || lossRatio === 1) return;
  const longest = lossBurstPackets / (lossBurstPackets + 1);
  if (lossRatio <= longest) return;
  throw invalid(
    `${subject}: lossRatio with bursts of ${lossBurstPackets} packets must be at most ${longest}, got ${lossRatio}`,
  );
}

function isBetween(value: unknown, min: number, max: number): boolean {
  return typeof value === "number" && value >= min && value <= max;
}

function oneOf(...values: readonly string[]): { rule: string; holds: (value: unknown) => boolean } {
  return {
    rule: values.map((value) => `"${value}"`).join(" or "),
    holds: (value) => typeof value === "string" && values.includes(value),
  };
}

function invalid(message: string): NamespaceError {
  return new NamespaceError("invalid_argument", message);
}
