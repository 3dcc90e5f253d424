// What values.schema.json of the chart says of the services' settings: each by its name and type, without those that the chart sets itself.
import type { Section, Setting } from "@isochrone/runtime";

/** Said by the chart: addresses, ports of Services, names of pods, files of mounted volumes, and what is for one machine or for tests. */
const OWNED: Readonly<Record<string, readonly string[]>> = {
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
  aggregator: [
    "host",
    "port",
    "probeUdpPort",
    "probeTcpPort",
    "probeBandwidthPort",
    "hmacKeysFile",
    "hmacKeysSecret",
    "recordKeysSecret",
    "faultForTests",
    "replicaName",
    "replicaNamespace",
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
    "replicaNamespace",
  ],
  webhook: ["host", "port", "serviceName", "servicePort"],
  access: ["mode", "openMetrics"],
  certificates: ["secret", "configMap", "hosts"],
  extenderCertificates: ["secret", "configMap", "kubeSchedulerSecret", "decisionsSecret", "hosts"],
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

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Schema of `settings` in the chart's values. @throws Error for a setting that the table above has and the services don't */
export function settingsSchema(sections: readonly Section[]): JsonSchema {
  const properties = Object.fromEntries(sections.map((section) => [section.name, sectionSchema(section)]));
  return { type: "object", additionalProperties: false, properties };
}

function sectionSchema({ name, table }: Section): JsonSchema {
  const owned = OWNED[name] ?? [];
  const unknown = owned.filter((key) => !Object.hasOwn(table, key));
  if (unknown.length > 0)
    throw new Error(`${name} has no setting ${unknown.join(", ")}: correct chart-schema.ts`);
  const properties = Object.entries(table)
    .filter(([key]) => !owned.includes(key))
    .map(([key, setting]) => [key, settingSchema(setting)]);
  return { type: "object", additionalProperties: false, properties: Object.fromEntries(properties) };
}

/** Bounds are the services' own to check: they tell all mistakes at once, in words. Null is "not said". */
function settingSchema({ kind, type }: Setting<unknown>): JsonSchema {
  switch (kind) {
    case "flag":
      return { type: ["boolean", "null"] };
    case "integer":
      return { type: ["integer", "null"] };
    case "number":
      return { type: ["number", "null"] };
    case "duration":
    case "bytes":
    case "ratio":
      return { type: ["number", "string", "null"] };
    case "list":
      return { type: ["array", "string", "null"], items: { type: "string" } };
    case "oneOf":
      return { enum: [...type.replace("one of ", "").split(", "), null] };
    case "text":
    case "secret":
      return { type: ["string", "null"] };
    default:
      return kind satisfies never;
  }
}
