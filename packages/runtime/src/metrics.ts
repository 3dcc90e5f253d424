import { visibleExposition } from "./visible.ts";
import { collectDefaultMetrics, Registry } from "prom-client";

/** Options of {@link createRegistry}. */
interface RegistryOptions {
  /** Adds the metrics of the process (CPU, memory, event loop, garbage collection). @default false */
  readonly processMetrics?: boolean;
  /** What the names of the process metrics start with. @default "isochrone_" */
  readonly prefix?: string;
  /** Labels that every metric gets. */
  readonly labels?: Readonly<Record<string, string>>;
}

/**
 * Values of labels may be names of others: what a terminal would act on is shown escaped, in the format's own
 * words.
 */
class VisibleRegistry extends Registry {
  override async metrics(): Promise<string> {
    return visibleExposition(await super.metrics());
  }
}

/**
 * A registry of its own: nothing is shared with prom-client's global one, so services can live in one
 * process.
 */
export function createRegistry(options: RegistryOptions = {}): Registry {
  const registry = new VisibleRegistry();
  if (options.labels) registry.setDefaultLabels(options.labels);
  if (options.processMetrics)
    collectDefaultMetrics({ register: registry, prefix: options.prefix ?? "isochrone_" });
  return registry;
}
