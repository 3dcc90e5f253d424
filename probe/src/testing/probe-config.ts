import { loadSettings } from "@isochrone/runtime";
import { probeSettings, type ProbeConfig } from "../settings.ts";

/** A validated config of defaults plus `values`; no HTTP server unless a port is given. */
export function probeConfig(values: Partial<ProbeConfig> & Pick<ProbeConfig, "node">): ProbeConfig {
  return loadSettings([probeSettings], { env: {}, overrides: { probe: { httpPort: 0, ...values } } }).probe;
}
