// Settings of every service that makes certificates of its own.
import { constant } from "@isochrone/runtime";

const DAY_MS = 24 * 3_600_000;

export const CERTIFICATE_SETTINGS = {
  certificateLifetimeMs: constant(30 * DAY_MS, "Certificates are renewed by themselves."),
  authorityLifetimeMs: constant(365 * DAY_MS, "Authorities are renewed by themselves."),
};

/**
 * Names an object beside a Secret with certificates: NAME-certificates gives NAME-suffix.
 * @param secret namespace/name; null: there are none, and the name isn't used
 */
export function besideSecret(secret: string | null, suffix: string): string {
  const name = secret?.slice(secret.indexOf("/") + 1) ?? "";
  return `${name.replace(/-certificates$/, "")}-${suffix}`;
}
