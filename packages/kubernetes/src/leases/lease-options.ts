import { StoreError } from "../store/errors.ts";
import { isDnsLabel, isDnsSubdomain } from "../store/validation.ts";

export interface ElectionTiming {
  /** How long others wait after the last observed renewal. @default 15000 */
  readonly leaseDurationMs: number;
  /** How long a holder relies on its last renewal. @default 10000 */
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

export const ELECTION_DEFAULTS: ElectionTiming = Object.freeze({
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
});

interface Checked extends ElectionTiming {
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
}

/** Throws StoreError `invalid` with option, rule and value. */
export function checkElectionOptions(options: Checked): void {
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs, namespace, name, identity } = options;
  if (!isDnsLabel(namespace)) refuse("namespace", "must be an RFC 1123 label", namespace);
  if (!isDnsSubdomain(name)) refuse("name", "must be an RFC 1123 subdomain", name);
  if (identity === "") refuse("identity", "must not be empty", identity);
  if (!(retryPeriodMs > 0)) refuse("retryPeriodMs", "must be above 0", retryPeriodMs);
  // Two attempts must fit, or one failure would end a term.
  if (!(renewDeadlineMs >= 2 * retryPeriodMs))
    refuse("renewDeadlineMs", `must be at least twice retryPeriodMs (${retryPeriodMs})`, renewDeadlineMs);
  if (!(leaseDurationMs > renewDeadlineMs && Number.isFinite(leaseDurationMs)))
    refuse("leaseDurationMs", `must be above renewDeadlineMs (${renewDeadlineMs})`, leaseDurationMs);
}

function refuse(option: string, rule: string, value: unknown): never {
  throw new StoreError("invalid", `${option} of an election ${rule}, got ${JSON.stringify(value)}`);
}
