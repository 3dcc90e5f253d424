// Settings of every service that makes certificates of its own.
import { constant } from "@isochrone/runtime";

const DAY_MS = 24 * 3_600_000;

export const CERTIFICATE_SETTINGS = {
  certificateLifetimeMs: constant(30 * DAY_MS, "Certificates are renewed by themselves."),
  authorityLifetimeMs: constant(365 * DAY_MS, "Authorities are renewed by themselves."),
};
