// Preloaded into a service's process: sends the registered metrics to the parent once no more arrive.
import { createRequire } from "node:module";
import { join } from "node:path";

interface Metric {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  get(): Promise<{ readonly type: string }>;
}

interface RegistryPrototype {
  registerMetric(metric: Metric): void;
}

export interface RecordedMetric {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labels: readonly string[];
}

/** The last metrics appear once a service has its server or waits for a missing dependency. */
const QUIET_MS = 1500;

const require = createRequire(join(import.meta.dirname, "../../../packages/runtime/package.json"));
// The instance the services import: one CommonJS module.
const { Registry } = require("prom-client") as {
  readonly Registry: { readonly prototype: RegistryPrototype };
};
const marker = process.env["METRICS_REFERENCE_UNTIL"];
const metrics = new Map<string, Metric>();
let timer: NodeJS.Timeout | undefined;

// oxlint-disable-next-line typescript/unbound-method -- called with its own `this` below
const register = Registry.prototype.registerMetric;
Registry.prototype.registerMetric = function (this: RegistryPrototype, metric: Metric): void {
  register.call(this, metric);
  metrics.set(metric.name, metric);
  clearTimeout(timer);
  if (marker === undefined || metrics.has(marker)) timer = setTimeout(() => void tell(), QUIET_MS);
};

async function tell(): Promise<void> {
  const recorded: RecordedMetric[] = [];
  for (const { name, help, labelNames = [], ...metric } of [...metrics.values()].map(withGet))
    recorded.push({ name, help, labels: [...labelNames], type: (await metric.get()).type });
  process.send!(recorded, () => process.exit(0));
}

function withGet(metric: Metric): Metric {
  const { name, help, labelNames = [] } = metric;
  return { name, help, labelNames, get: () => metric.get() };
}
