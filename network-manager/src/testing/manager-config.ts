import { loadSettings } from "@isochrone/runtime";
import { flowsSettings, type FlowsConfig } from "../settings.ts";

export function managerConfig(values: Partial<FlowsConfig> = {}): FlowsConfig {
  const overrides = { flows: { node: "a", httpPort: 0, ...values } };
  return loadSettings([flowsSettings], { env: {}, overrides }).flows;
}
