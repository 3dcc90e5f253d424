import type { RecordedMetric } from "./recorder.ts";

const UNITS: readonly (readonly [RegExp, string])[] = [
  [/_bytes_per_second$/, "bytes/s"],
  [/_bits_per_second$/, "bits/s"],
  [/_timestamp_seconds$|_not_after_seconds$|_expiry_seconds$/, "s since the epoch"],
  [/_seconds(_total)?$/, "s"],
  [/_milliseconds(_total)?$/, "ms"],
  [/_microseconds$/, "µs"],
  [/_bytes(_total)?$/, "bytes"],
  [/_ratio$/, "0 to 1"],
  [/_info$/, "1"],
];
const OF_THE_PROCESS = /^isochrone_(nodejs|process)_/;

type Components = ReadonlyMap<string, readonly RecordedMetric[]>;

/** A table of shared metrics, then one per component. */
export function metricsReference(components: Components): string {
  const owners = new Map<string, string[]>();
  for (const [component, metrics] of components)
    for (const { name } of metrics) owners.set(name, [...(owners.get(name) ?? []), component]);
  const isShared = ({ name }: RecordedMetric): boolean => owners.get(name)!.length > 1;
  const all = new Map([...components.values()].flat().map((metric) => [metric.name, metric]));
  const shared = [...all.values()].filter(isShared).sort((a, b) => (a.name < b.name ? -1 : 1));
  const ofProcess = shared.filter(({ name }) => OF_THE_PROCESS.test(name));
  const others = shared.filter(({ name }) => !OF_THE_PROCESS.test(name));
  const parts = [
    "### Several services",
    table(others, (name) => owners.get(name)!.join(", ")),
    ...[...components].flatMap(([component, metrics]) => [
      `### ${component}`,
      table(metrics.filter((metric) => !isShared(metric))),
    ]),
    "### Every process",
    table(ofProcess),
  ];
  return parts.join("\n\n");
}

function table(metrics: readonly RecordedMetric[], ownersOf?: (name: string) => string): string {
  const head = ["name", "type", "labels", "unit", "what", ...(ownersOf === undefined ? [] : ["of"])];
  const rows = metrics.map(({ name, type, labels, help }) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(", "),
    unitOf(name),
    help.trim(),
    ...(ownersOf === undefined ? [] : [ownersOf(name)]),
  ]);
  return [head, head.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map(cell).join(" | ")} |`)
    .join("\n");
}

function unitOf(name: string): string {
  return UNITS.find(([suffix]) => suffix.test(name))?.[1] ?? "";
}

function cell(text: string): string {
  return text.replaceAll("|", String.raw`\|`);
}
