// Builds an OpenTelemetry Collector with its own builder from published modules.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cachePath, makeOnce } from "../common/cache.ts";
import { run, versionOf } from "../common/commands.ts";
import { supportFrom, type Support } from "../common/support.ts";

export const COLLECTOR_VERSION = "0.155.0";
/** Newest version on module proxies, built into a Collector of {@link COLLECTOR_VERSION}. */
export const SERVICE_GRAPH_VERSION = "0.152.0";
/** Version of the Collector's modules past 1.0 that matches {@link COLLECTOR_VERSION}. */
const STABLE_VERSION = "1.61.0";

const CORE = "go.opentelemetry.io/collector";
const CONTRIB = "github.com/open-telemetry/opentelemetry-collector-contrib";
const COMPONENTS = {
  receivers: [
    `${CORE}/receiver/otlpreceiver v${COLLECTOR_VERSION}`,
    `${CONTRIB}/receiver/kafkareceiver v${COLLECTOR_VERSION}`,
    `${CONTRIB}/receiver/prometheusreceiver v${COLLECTOR_VERSION}`,
  ],
  processors: [
    `${CORE}/processor/batchprocessor v${COLLECTOR_VERSION}`,
    `${CONTRIB}/processor/deltatocumulativeprocessor v${COLLECTOR_VERSION}`,
  ],
  exporters: [
    `${CORE}/exporter/debugexporter v${COLLECTOR_VERSION}`,
    `${CORE}/exporter/otlphttpexporter v${COLLECTOR_VERSION}`,
    `${CONTRIB}/exporter/kafkaexporter v${COLLECTOR_VERSION}`,
    `${CONTRIB}/exporter/prometheusexporter v${COLLECTOR_VERSION}`,
  ],
  connectors: [`${CONTRIB}/connector/servicegraphconnector v${SERVICE_GRAPH_VERSION}`],
} as const;
const CONFIG_PROVIDERS = ["env", "file", "http", "https", "yaml"];

const BUILDER = "go.opentelemetry.io/collector/cmd/builder";
const BUILD_DEADLINE_MS = 1_800_000;

const manifest = JSON.stringify({
  // Keep the builder's default Go module name, because its templates depend on it.
  dist: { name: "otelcol", output_path: "./source", version: COLLECTOR_VERSION },
  ...Object.fromEntries(
    Object.entries(COMPONENTS).map(([kind, modules]) => [kind, modules.map((gomod) => ({ gomod }))]),
  ),
});

// The builder would also request modules for its components' tests, which a module proxy need not have.
const GO_MOD = `module ${BUILDER}

go 1.25

require (
${[
  ...CONFIG_PROVIDERS.map((name) => `${CORE}/confmap/provider/${name}provider v${STABLE_VERSION}`),
  ...Object.values(COMPONENTS).flat(),
  `${CORE}/service v${COLLECTOR_VERSION}`,
  `${CORE}/otelcol v${COLLECTOR_VERSION}`,
]
  .map((module) => `\t${module}\n`)
  .join("")})
`;

// Excludes service discovery for clouds, which is three quarters of the build.
const TAGS = "remove_all_sd";

const key = createHash("sha256").update(manifest).update(GO_MOD).update(TAGS).digest("hex").slice(0, 8);
const binary = cachePath(`otelcol-${COLLECTOR_VERSION}-${key}-${process.platform}-${process.arch}`);

/** Whether a Collector can run here: it is cached or Go can build it. */
export function collectorSupport(): Support {
  const missing =
    existsSync(binary) || versionOf("go", "version") !== null
      ? []
      : ["there is no go on the path to build it"];
  return supportFrom(`an OpenTelemetry Collector ${COLLECTOR_VERSION}`, missing);
}

/** Returns the binary's path. The first call builds it at low priority, which takes minutes of CPU. */
export async function collectorBinary(): Promise<string> {
  await makeOnce(binary, build);
  return binary;
}

async function build(target: string): Promise<void> {
  const folder = `${target}.build`;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "builder.yaml"), manifest);
  const env = { ...process.env, GOBIN: folder, CGO_ENABLED: "0", GOFLAGS: "-buildvcs=false -mod=mod" };
  const nice = (cwd: string, ...command: readonly string[]): Promise<string> =>
    run("nice", ["-n", "10", ...command], { cwd, env, timeoutMs: BUILD_DEADLINE_MS });
  await nice(folder, "go", "install", `${BUILDER}@v${COLLECTOR_VERSION}`);
  const generate = ["--config", "builder.yaml", "--skip-get-modules", "--skip-compilation"];
  await nice(folder, join(folder, "builder"), ...generate);
  const source = join(folder, "source");
  await writeFile(join(source, "go.mod"), GO_MOD);
  await nice(source, "go", "build", "-trimpath", `-tags=${TAGS}`, "-ldflags=-s -w", "-o", "otelcol", ".");
  await rename(join(source, "otelcol"), target);
  await rm(folder, { recursive: true });
}
