import { loadSettings } from "@isochrone/runtime";
import { probeSettings, type ProbeConfig } from "../settings.ts";

/** A config of the defaults and what is given, checked; without an HTTP server unless a port is given. */
export function probeConfig(values: Partial<ProbeConfig> & Pick<ProbeConfig, "node">): ProbeConfig {
  return loadSettings([probeSettings], { env: {}, overrides: { probe: { httpPort: 0, ...values } } }).probe;
}
