// Schema of the services' settings for the chart's values.schema.json, without those that the chart sets.
import type { JsonSchema, Section, Setting } from "@isochrone/runtime";

/**
 * Set by the chart: addresses, ports, pod names, mounted files, and settings for single machines or tests.
 */
const OWNED: Readonly<Record<string, readonly string[]>> = {
  client: ["aggregatorUrl", "aggregatorTokenFile", "aggregatorCaFile"],
  probe: [
    "node",
    "bindAddress",
    "identity",
    "aggregatorUrl",
    "aggregatorTokenFile",
    "aggregatorCaFile",
    "planCachePath",
    "hmacKeys",
    "hmacKeysFile",
    "signingKeyId",
    "hostNetwork",
  ],
  collector: [
    "mode",
    "node",
    "nodeAddress",
    "aggregatorUrl",
    "aggregatorTokenFile",
    "aggregatorCaFile",
    "host",
  ],
  dispatcher: [
    "node",
    "host",
    "port",
    "httpPort",
    "aggregatorUrl",
    "aggregatorTokenFile",
    "aggregatorCaFile",
  ],
  flows: ["node", "aggregatorUrl", "aggregatorTokenFile", "aggregatorCaFile", "planCachePath"],
  aggregator: [
    "host",
    "port",
    "probeUdpPort",
    "probeBandwidthPort",
    "hmacKeysFile",
    "hmacKeysSecret",
    "recordKeysSecret",
    "replicaName",
    "replicaUrl",
    "tlsCertFile",
    "tlsKeyFile",
    "tlsClientCaFile",
    "tlsClientNames",
    "replicaTokenFile",
    "replicaCaFile",
    "replicaServerName",
    "decisionsUrl",
    "decisionsTokenFile",
    "decisionsCaFile",
    "decisionsCertFile",
    "decisionsKeyFile",
    "dumpFile",
  ],
  scheduler: [
    "host",
    "port",
    "graphUrl",
    "graphTokenFile",
    "graphCaFile",
    "tlsCertFile",
    "tlsKeyFile",
    "tlsClientCaFile",
    "tlsClientNames",
    "access",
    "replicaName",
    "serviceName",
    "replicaFilesDirectory",
  ],
  webhook: ["host", "port", "serviceName", "ownerClusterRole"],
  access: ["mode", "openMetrics"],
  certificates: ["secret", "hosts"],
  extenderCertificates: ["secret", "hosts"],
  kubernetes: ["kubeconfig", "namespace"],
  bus: [
    "kind",
    "brokers",
    "client",
    "tls",
    "caFile",
    "certFile",
    "keyFile",
    "saslMechanism",
    "saslUsername",
    "saslPasswordFile",
    "sealRecords",
  ],
};

/** Schema of `settings` in the chart's values. @throws Error for an unknown setting in the table above */
export function settingsSchema(sections: readonly Section[]): JsonSchema {
  const properties = Object.fromEntries(sections.map((section) => [section.name, sectionSchema(section)]));
  return { type: "object", additionalProperties: false, properties };
}

function sectionSchema({ name, table, retired }: Section): JsonSchema {
  const owned = OWNED[name] ?? [];
  const unknown = owned.filter((key) => !Object.hasOwn(table, key));
  if (unknown.length > 0)
    throw new Error(`${name} has no setting ${unknown.join(", ")}: correct chart-schema.ts`);
  const settings = Object.entries(table)
    .filter(([key]) => !owned.includes(key))
    .map(([key, setting]) => [key, settingSchema(setting)]);
  const properties = [...settings, ...retired.map((key) => [key, true])];
  return { type: "object", additionalProperties: false, properties: Object.fromEntries(properties) };
}

/** Null is unset. Removed settings are accepted, so that upgrades succeed; the service logs them. */
function settingSchema({ schema, removed }: Setting<unknown>): JsonSchema | true {
  if (removed !== null) return true;
  const { enum: values, type } = schema;
  if (Array.isArray(values)) return { ...schema, enum: [...(values as readonly unknown[]), null] };
  return { ...schema, type: [type, "null"].flat() };
}

/**
 * Bounds of text with units, which a schema cannot express and templates check: units by kind of setting, and
 * kind and bounds by section and setting.
 */
export function settingsLimits(sections: readonly Section[]): JsonSchema {
  const units: Record<string, unknown> = {};
  const limits: Record<string, Record<string, unknown>> = {};
  for (const { name, table } of sections)
    for (const [key, { kind, schema, units: factors }] of Object.entries(table)) {
      if (factors === null || (OWNED[name] ?? []).includes(key)) continue;
      const { minimum, maximum } = schema;
      units[kind] = factors;
      (limits[name] ??= {})[key] = { kind, minimum, maximum };
    }
  return { units, limits };
}
