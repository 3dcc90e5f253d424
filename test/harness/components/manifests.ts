import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { parseAllDocuments } from "yaml";
import type { ControlPlane } from "../control-plane/index.ts";

const FILES = join(import.meta.dirname, "../../../helm/isochrone/files");

export const MANIFEST_VALUES = {
  NAMESPACE: "isochrone",
  NAME: "isochrone",
  PREFIX: "isochrone.dev/",
  GATE: "isochrone.dev/placement",
  TOPOLOGY_NAMESPACE: "default",
  TOPOLOGY_NAME: "nt-default",
  NETPERF_NAMESPACE: "default",
  NETPERF_NAME: "netperf-metrics",
  LATENCIES_NAMESPACE: "default",
  LATENCIES_NAME: "latencies",
  KEYS_SECRET: "isochrone-probe-keys",
  RECORD_KEYS_SECRET: "isochrone-record-keys",
  CERTIFICATES_SECRET: "isochrone-aggregator-certificates",
  TRUST_CONFIG_MAP: "isochrone-aggregator-ca",
  CANARY_NAMESPACE: "isochrone-canary",
  // Services in tests listen on any port.
  WEBHOOK_URL: "https://127.0.0.1:",
} as const;

type ManifestValues = Readonly<Record<keyof typeof MANIFEST_VALUES, string>>;

export const RULE_FILES: readonly string[] = namesIn("rbac");
export const POLICY_FILES: readonly string[] = namesIn("admission");

/** Returns the objects of a file. @throws Error for a placeholder without a value */
export function manifest(
  folder: "rbac" | "admission",
  name: string,
  values: ManifestValues = MANIFEST_VALUES,
): KubernetesObject[] {
  const path = join(FILES, folder, `${name}.yaml`);
  const text = readFileSync(path, "utf8").replaceAll(/__([A-Z_]+?)__/g, (placeholder, key: string) => {
    if (!Object.hasOwn(values, key)) throw new Error(`${path}: no value for ${placeholder}`);
    return values[key as keyof ManifestValues];
  });
  return parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject);
}

export async function installRules(cluster: ControlPlane, names = RULE_FILES): Promise<void> {
  const objects = names.flatMap((name) => manifest("rbac", name));
  const { NAMESPACE, CANARY_NAMESPACE } = MANIFEST_VALUES;
  for (const namespace of new Set([NAMESPACE, CANARY_NAMESPACE])) await cluster.createNamespace(namespace);
  await cluster.create(objects);
}

function namesIn(folder: string): string[] {
  return readdirSync(join(FILES, folder))
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => name.slice(0, -".yaml".length))
    .sort();
}
