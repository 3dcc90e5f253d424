import { busSettings } from "@isochrone/bus/settings";
import type { BusSettings } from "@isochrone/bus/settings";
import { authorizedFetch, loadSettings, systemClock } from "@isochrone/runtime";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { GROUPS } from "../doctor/finding.ts";
import type { Finding, Group, Severity } from "../doctor/finding.ts";
import { examine } from "../doctor/run.ts";
import { CommandError } from "../errors.ts";
import { graphClientOf } from "../graph-client.ts";
import { clusterCredentials, openStoreWith } from "../kubernetes.ts";
import { formatted } from "../output/format.ts";
import type { Format } from "../output/format.ts";
import { createProgress } from "../output/progress.ts";
import { fromSettingsFile } from "../settings-file.ts";

interface DoctorOptions {
  readonly only?: readonly Group[];
  /** @default the one on this machine, if any */
  readonly server?: string;
  readonly tokenFile?: string;
  readonly caFile?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly settings?: string;
  readonly kafka?: readonly string[];
  readonly collector?: string;
  readonly schedulerPlugin?: string;
  readonly networkManager?: string;
  readonly as?: string;
  readonly systemNamespace: string;
  readonly release: string;
  readonly chart?: string;
  readonly output: Format;
}

const LOCAL_SERVER = "http://127.0.0.1:8080";

/** Throws CommandError if a finding is an error. */
export async function doctorCommand(options: DoctorOptions, print: (text: string) => void): Promise<void> {
  const { server, only = GROUPS, output } = options;
  const opened = openCluster(options);
  const { cluster, clusterWhy } = opened;
  const progress = createProgress(process.stderr, () => performance.now());
  try {
    const findings = await examine(
      {
        graph: {
          client: graphClientOf(server === undefined ? { server: LOCAL_SERVER } : { ...options, server }),
          server: server ?? LOCAL_SERVER,
          isAssumed: server === undefined,
        },
        cluster,
        clusterWhy,
        installation: { release: options.release, namespace: options.systemNamespace },
        chart: options.chart ?? fileURLToPath(new URL("../../../helm/isochrone", import.meta.url)),
        as: options.as ?? null,
        bus: readBus(options),
        collector: options.collector ?? null,
        schedulerPlugin: options.schedulerPlugin ?? null,
        networkManager: options.networkManager ?? null,
        fetch: authorizedFetch({
          ...(options.caFile === undefined ? {} : { caFile: options.caFile }),
          clock: systemClock,
        }),
        nodeVersion: process.version,
        nowMs: () => Date.now(),
      },
      only,
      (group, index) => progress.at(index / only.length, group),
    );
    progress.clear();
    print(
      formatted(output, { findings, counts: countsOf(findings) }, (shown) => findingsText(shown.findings)),
    );
    const errors = countsOf(findings).error;
    if (errors > 0)
      throw new CommandError(`${errors} ${errors === 1 ? "finding" : "findings"} of severity error`);
  } finally {
    progress.clear();
    await opened.close();
  }
}

function openCluster({ kubeconfig, context }: DoctorOptions) {
  const { credentials, source, file } = clusterCredentials(kubeconfig, context);
  const isNamed = (kubeconfig ?? context ?? process.env["KUBECONFIG"]) !== undefined;
  if (file !== null && !isNamed && !existsSync(file))
    return {
      cluster: null,
      clusterWhy: `no cluster is named, and there is no ${file}`,
      close: () => Promise.resolve(),
    };
  const opened = openStoreWith(credentials);
  return {
    cluster: { credentials, source, store: opened.store },
    clusterWhy: "",
    close: () => opened.close(),
  };
}

/** Null: Kafka is not known to be the bus. Throws CommandError. */
function readBus({ settings, kafka }: DoctorOptions): BusSettings | null {
  const named = kafka === undefined ? {} : { kind: "kafka", brokers: kafka };
  const overrides = { bus: named };
  const whose = { of: "Kafka", sections: ["bus"] };
  const { bus } = fromSettingsFile(settings, whose, (file) =>
    loadSettings([busSettings], { env: process.env, file, fileOf: "operator", overrides }),
  );
  return bus.kind === "kafka" ? bus : null;
}

function countsOf(findings: readonly Finding[]): Record<Severity, number> {
  const counts: Record<Severity, number> = { ok: 0, info: 0, warning: 0, error: 0, skipped: 0 };
  for (const { severity } of findings) counts[severity]++;
  return counts;
}

const SEVERITY_WIDTH = "warning".length;

export function findingsText(findings: readonly Finding[]): string {
  const groups = Map.groupBy(findings, ({ group }) => group);
  const blocks = [...groups].map(([group, members]) => [group, ...members.flatMap(linesOf)].join("\n"));
  const counts = Object.entries(countsOf(findings)).filter(([, count]) => count > 0);
  return [...blocks, counts.map(([severity, count]) => `${count} ${severity}`).join(", ")].join("\n\n");
}

function linesOf({ severity, check, looked, value, rule, remedy }: Finding): string[] {
  const head = `  ${severity.padEnd(SEVERITY_WIDTH)}  ${check}: ${value}`;
  if (severity === "ok" || (severity === "info" && remedy === null)) return [head];
  const indent = " ".repeat(SEVERITY_WIDTH + 4);
  return [
    head,
    `${indent}looked at: ${looked}`,
    ...(severity === "skipped" || rule === "" ? [] : [`${indent}rule: ${rule}`]),
    ...(remedy === null ? [] : [`${indent}remedy: ${remedy}`]),
  ];
}
