import { collectDefaultMetrics, Registry } from "prom-client";

/** Options of {@link createRegistry}. */
export interface RegistryOptions {
  /** Adds the metrics of the process (CPU, memory, event loop, garbage collection). @default false */
  readonly processMetrics?: boolean;
  /** What the names of the process metrics start with. @default "isochrone_" */
  readonly prefix?: string;
  /** Labels that every metric gets. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** A registry of its own: nothing is shared with prom-client's global one, so services can live in one process. */
export function createRegistry(options: RegistryOptions = {}): Registry {
  const registry = new Registry();
  if (options.labels) registry.setDefaultLabels(options.labels);
  if (options.processMetrics)
    collectDefaultMetrics({ register: registry, prefix: options.prefix ?? "isochrone_" });
  return registry;
}
