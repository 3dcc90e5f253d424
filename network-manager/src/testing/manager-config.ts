import { loadSettings } from "@isochrone/runtime";
import { flowsSettings, type FlowsConfig } from "../settings.ts";

/** A config of the defaults and what is given, checked; without an HTTP server. */
export function managerConfig(values: Partial<FlowsConfig> = {}): FlowsConfig {
  const overrides = { flows: { node: "a", httpPort: 0, ...values } };
  return loadSettings([flowsSettings], { env: {}, overrides }).flows;
}
