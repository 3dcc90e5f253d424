import {
  constant,
  flag,
  integer,
  list,
  oneOf,
  section,
  text,
  type Section,
  type SettingsOf,
} from "@isochrone/runtime";

const table = {
  kind: oneOf(["otlp-http", "kafka"], {
    default: "otlp-http",
    description:
      "What carries measurements. otlp-http: probes and collectors post them to the one aggregator, which needs no broker; kafka: they publish to Kafka, and each aggregator reads all of it.",
  }),
  brokers: list({
    default: [],
    pattern: /(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?):\d{1,5}/,
    patternRule: "must hold only addresses such as kafka-0.kafka:9092",
    maxItems: 100,
    description: "Kafka brokers to begin with, host:port; the others are learned from them.",
  }),
  client: oneOf(["platformatic", "kafkajs"], {
    default: "platformatic",
    description: "Kafka client library; only the chosen one is loaded.",
  }),
  clientId: constant("isochrone", "Brokers tell clients apart by their credentials."),
  tls: flag({ default: false, description: "Talk TLS with the brokers, and verify their certificates." }),
  caFile: text({
    default: null,
    description:
      "PEM file of the authorities that brokers' certificates may come from; without it the system's. Like the next two read again for each connection.",
  }),
  certFile: text({
    default: null,
    description:
      "PEM file of the client's own certificate, for mutual TLS; like the other two read again for each connection.",
  }),
  keyFile: text({ default: null, description: "PEM file of that certificate's key." }),
  saslMechanism: oneOf(["scram-sha-256", "scram-sha-512", "plain"], {
    default: null,
    description:
      "How to authenticate with a name and a password; without it there is no such authentication.",
  }),
  saslUsername: text({ default: null, description: "Name to authenticate with." }),
  saslPasswordFile: text({
    default: null,
    description: "File that holds the password; read again for each connection.",
  }),
  compression: constant<"none" | "gzip" | "lz4" | "zstd">("lz4", "No documented case changes this default."),
  createTopics: flag({
    default: true,
    description: "The aggregator makes the topics that are missing. Without it, it says which are.",
  }),
  replicationFactor: integer({
    default: 3,
    min: 1,
    max: 15,
    description:
      "Brokers that hold a copy of each partition. Below 3 a broker that is lost stops the bus (2), or takes data with it (1).",
  }),
  partitions: integer({
    default: 24,
    min: 1,
    max: 10_000,
    description: "Partitions of a topic that is made, spread over the brokers.",
  }),
  inputRetentionMs: constant(3_600_000, "It is three times aggregator.windowMs, at least an hour."),
  sealRecords: flag({
    default: false,
    description:
      "With Kafka, probes and collectors seal each record by a key that they get from the aggregator, so that nobody else can write in their name. The aggregator needs aggregator.recordKeysSecret for it.",
  }),
  requestTimeoutMs: constant(10_000, "It is a bound for one request."),
};

type Values = {
  readonly kind: string;
  readonly brokers: readonly string[];
  readonly tls: boolean;
  readonly caFile: string | null;
  readonly certFile: string | null;
  readonly keyFile: string | null;
  readonly saslMechanism: string | null;
  readonly saslUsername: string | null;
  readonly saslPasswordFile: string | null;
  readonly sealRecords: boolean;
};

/** How a service is connected with the others. */
export const busSettings: Section<"bus", typeof table> = section("bus", table, {
  description:
    "What carries measurements from probes and collectors to the aggregators; the same for all services.",
  rules: [
    ({ kind, brokers }) =>
      kind === "kafka" && brokers.length === 0
        ? "bus.brokers must name at least one broker when bus.kind is kafka, got none"
        : null,
    ({ kind, sealRecords }) =>
      kind !== "kafka" && sealRecords
        ? `bus.sealRecords must not be true unless bus.kind is kafka, got ${kind}`
        : null,
    ({ brokers }) => portMistake(brokers),
    ({ certFile, keyFile }) => pairMistake("bus.certFile", certFile, "bus.keyFile", keyFile),
    (values) => tlsMistake(values),
    (values) => saslMistake(values),
  ],
});

/** Values of {@link busSettings}. */
export type BusSettings = SettingsOf<typeof busSettings>;

const MAX_PORT = 65_535;

function portMistake(brokers: readonly string[]): string | null {
  const wrong = brokers.find((broker) => {
    const port = Number(broker.slice(broker.lastIndexOf(":") + 1));
    return port < 1 || port > MAX_PORT;
  });
  return wrong === undefined ? null : `bus.brokers must have ports of 1 to ${MAX_PORT}, got ${wrong}`;
}

function tlsMistake(values: Values): string | null {
  if (values.tls) return null;
  const files = ["caFile", "certFile", "keyFile"] as const;
  const given = files.find((name) => values[name] !== null);
  if (given !== undefined) return `bus.${given} must not be set without bus.tls, got ${values[given]}`;
  return values.saslMechanism === "plain"
    ? "bus.saslMechanism must not be plain without bus.tls: the password would go over the wire as it is"
    : null;
}

function saslMistake({ saslMechanism, saslUsername, saslPasswordFile }: Values): string | null {
  const missing = saslUsername === null ? "saslUsername" : "saslPasswordFile";
  if (saslMechanism !== null) {
    return saslUsername === null || saslPasswordFile === null
      ? `bus.${missing} must be set when bus.saslMechanism is ${saslMechanism}, got none`
      : null;
  }
  if (saslUsername === null && saslPasswordFile === null) return null;
  return "bus.saslMechanism must be set when bus.saslUsername or bus.saslPasswordFile is, got none";
}

function pairMistake(
  name: string,
  value: string | null,
  otherName: string,
  other: string | null,
): string | null {
  if ((value === null) === (other === null)) return null;
  const [given, missing] = value === null ? [otherName, name] : [name, otherName];
  return `${missing} must be set together with ${given}, got none`;
}
