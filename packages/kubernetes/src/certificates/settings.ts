// Settings of every service that makes certificates of its own.
import { duration } from "@isochrone/runtime";

const DAY_MS = 24 * 3_600_000;

export const CERTIFICATE_SETTINGS = {
  certificateLifetimeMs: duration({
    default: 30 * DAY_MS,
    min: 3_000,
    max: 365 * DAY_MS,
    description: "How long a serving certificate is good; it is renewed when a third is left.",
  }),
  authorityLifetimeMs: duration({
    default: 365 * DAY_MS,
    min: 6_000,
    max: 3_650 * DAY_MS,
    description: "How long its authority is good; a new one is trusted beside it before it takes over.",
  }),
};

interface CertificateTimes {
  readonly certificateLifetimeMs: number;
  readonly authorityLifetimeMs: number;
  readonly trustDelayMs: number;
}

/**
 * Rules of these settings together, in a section of that name.
 * @param checkName of the setting that says how often they are looked at
 */
export function certificateRules<C extends string>(
  section: string,
  checkName: C,
): ((times: CertificateTimes & Readonly<Record<C, number>>) => string | null)[] {
  return [
    ({ certificateLifetimeMs, authorityLifetimeMs }) =>
      certificateLifetimeMs < authorityLifetimeMs
        ? null
        : `${section}.certificateLifetimeMs must be below ${section}.authorityLifetimeMs (${authorityLifetimeMs}), got ${certificateLifetimeMs}`,
    (times) =>
      times[checkName] * 6 <= times.certificateLifetimeMs
        ? null
        : `${section}.${checkName} must be at most a sixth of ${section}.certificateLifetimeMs (${times.certificateLifetimeMs}), got ${times[checkName]}`,
    ({ trustDelayMs, authorityLifetimeMs }) =>
      trustDelayMs * 6 <= authorityLifetimeMs
        ? null
        : `${section}.trustDelayMs must be at most a sixth of ${section}.authorityLifetimeMs (${authorityLifetimeMs}), got ${trustDelayMs}`,
  ];
}
