import type { Health } from "@isochrone/topology";
import { NAME_A_CLUSTER, NAME_A_SERVER, skipped, verdict } from "./finding.ts";
import type { Verdict } from "./finding.ts";

export interface ClockLook {
  readonly name: "API server" | "aggregator";
  /** Its own time, ms since the epoch; null: unknown, see `why`. */
  readonly atMs: number | null;
  readonly why: string;
  /** Local times before the request and after the answer. */
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
  /** A Date header has a resolution of one second. */
  readonly resolutionMs: number;
}

const MAX_SKEW_MS = 2_000;
/** At this skew tokens are refused, and Leases and windows misjudged. */
const BAD_SKEW_MS = 30_000;
const REMEDY = "Synchronize both machines' clocks by NTP: `chronyc tracking`, `timedatectl set-ntp true`.";

export function judgeClocks(looks: readonly ClockLook[], health: Health | null, why: string): Verdict[] {
  return [...looks.map(lookVerdict), sourcesVerdict(health, why)];
}

function lookVerdict({ name, atMs, why, askedAtMs, answeredAtMs, resolutionMs }: ClockLook): Verdict {
  const parts = {
    check: `${name}'s clock`,
    looked:
      name === "API server"
        ? "Date header of its answer to GET /version"
        : "observedAt of GET /api/v1/health",
    rule: `within ${MAX_SKEW_MS / 1000} s of this machine's`,
    remedy: REMEDY,
  };
  if (atMs === null)
    return skipped({ ...parts, why, remedy: name === "aggregator" ? NAME_A_SERVER : NAME_A_CLUSTER });
  const skewMs = skewOf(atMs, askedAtMs, answeredAtMs, resolutionMs);
  return verdict(Math.abs(skewMs) <= MAX_SKEW_MS, Math.abs(skewMs) > BAD_SKEW_MS ? "error" : "warning", {
    ...parts,
    value: skewMs === 0 ? "no measurable difference" : `${(skewMs / 1000).toFixed(1)} s ahead of ours`,
  });
}

/** Lower bound of its lead, excluding round trip and rounding. */
export function skewOf(atMs: number, askedAtMs: number, answeredAtMs: number, resolutionMs: number): number {
  if (atMs > answeredAtMs) return atMs - answeredAtMs;
  return atMs + resolutionMs < askedAtMs ? atMs + resolutionMs - askedAtMs : 0;
}

function sourcesVerdict(health: Health | null, why: string): Verdict {
  const parts = {
    check: "sources' clocks",
    looked: "clocks of GET /api/v1/health: the sources furthest off",
    rule: `within ${MAX_SKEW_MS / 1000} s of the aggregator's`,
    remedy: REMEDY,
  };
  if (health === null) return skipped({ ...parts, why, remedy: NAME_A_SERVER });
  const [worst] = health.clocks.toSorted((a, b) => Math.abs(b.skewSeconds) - Math.abs(a.skewSeconds));
  if (worst === undefined) return skipped({ ...parts, why: "no source has reported yet", remedy: null });
  return verdict(Math.abs(worst.skewSeconds) * 1000 <= MAX_SKEW_MS, "warning", {
    ...parts,
    value: `${worst.source}: ${worst.skewSeconds.toFixed(1)} s`,
  });
}
