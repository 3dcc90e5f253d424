import { encodeMetrics, RESOURCE_ATTRIBUTES, type Metric } from "@isochrone/telemetry";

export function encode(node: string, metrics: readonly Metric[]): Uint8Array {
  return encodeMetrics({ resource: { [RESOURCE_ATTRIBUTES.node]: node }, scope: { name: "test" }, metrics });
}
