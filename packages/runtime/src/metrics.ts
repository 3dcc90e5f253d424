import { visibleExposition } from "./visible.ts";
import { collectDefaultMetrics, Registry } from "prom-client";

interface RegistryOptions {
  readonly processMetrics?: boolean;
  readonly prefix?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Escapes control characters in labels, whose values may be others' names. */
class VisibleRegistry extends Registry {
  override async metrics(): Promise<string> {
    return visibleExposition(await super.metrics());
  }
}

/** Separate from prom-client's global registry, so that several services fit in one process. */
export function createRegistry(options: RegistryOptions = {}): Registry {
  const registry = new VisibleRegistry();
  if (options.labels) registry.setDefaultLabels(options.labels);
  if (options.processMetrics)
    collectDefaultMetrics({ register: registry, prefix: options.prefix ?? "isochrone_" });
  return registry;
}
