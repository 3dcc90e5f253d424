import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
/** prom-client's own metrics under our prefix. */
const OF_THE_PROCESS = /^isochrone_(nodejs|process)_/;
const SERVICES = [
  "probe",
  "collector",
  "network-manager",
  "dispatcher",
  "aggregator",
  "scheduler-plugin",
  "packages",
];

export function metricNamesInCode(): Set<string> {
  const texts = SERVICES.flatMap((service) =>
    readdirSync(join(ROOT, service), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts") && !path.includes("node_modules") && !path.endsWith(".test.ts"))
      .map((path) => readFileSync(join(ROOT, service, path), "utf8")),
  );
  const client = readFileSync(join(ROOT, "packages/kubernetes/src/store-metrics.ts"), "utf8");
  return new Set([...texts, client].flatMap((text) => text.match(/\bisochrone_[a-z_]+/g) ?? []));
}

export function unknownMetrics(text: string, known: ReadonlySet<string>): string[] {
  const used = new Set(text.match(/\bisochrone_[a-z_]+/g));
  return [...used]
    .filter((name) => !OF_THE_PROCESS.test(name))
    .filter((name) => !known.has(name) && !known.has(name.replace(/_(bucket|sum|count)$/, "")));
}
