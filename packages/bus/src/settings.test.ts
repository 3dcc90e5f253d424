import { loadSettings } from "@isochrone/runtime";
import { describe, expect, it } from "vitest";

import { busSettings } from "./settings.ts";
import type { BusSettings } from "./settings.ts";

const load = (
  bus: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string>> = {},
): BusSettings => loadSettings([busSettings], { env, file: { bus } }).bus;

const KAFKA = { kind: "kafka", brokers: ["kafka-0.kafka:9092"] };

describe("settings of the bus", () => {
  it("need nothing where there is no Kafka", () => {
    expect(load({})).toMatchObject({
      kind: "otlp-http",
      client: "platformatic",
      compression: "lz4",
      tls: false,
    });
  });

  it("take several brokers from the environment", () => {
    const env = {
      ISOCHRONE_BUS_KIND: "kafka",
      ISOCHRONE_BUS_BROKERS: "a.b:9092, 10.0.0.1:9093,[fd00::1]:9094",
    };
    expect(load({}, env).brokers).toEqual(["a.b:9092", "10.0.0.1:9093", "[fd00::1]:9094"]);
  });

  it("take all of TLS and SASL together", () => {
    const secure = {
      ...KAFKA,
      tls: true,
      caFile: "/tls/ca.crt",
      certFile: "/tls/tls.crt",
      keyFile: "/tls/tls.key",
      saslMechanism: "scram-sha-512",
      saslUsername: "isochrone",
      saslPasswordFile: "/sasl/password",
    };
    expect(load(secure)).toMatchObject(secure);
  });

  it.each([
    [{ kind: "kafka" }, "bus.brokers must name at least one broker when bus.kind is kafka, got none"],
    [
      { kind: "otlp-http", sealRecords: true },
      "bus.sealRecords must not be true unless bus.kind is kafka, got otlp-http",
    ],
    [{ kind: "rabbit" }, "must be one of otlp-http, kafka, got rabbit"],
    [
      { ...KAFKA, brokers: ["kafka"] },
      'must hold only addresses such as kafka-0.kafka:9092 ("kafka" does not)',
    ],
    [{ ...KAFKA, brokers: ["kafka:0"] }, "bus.brokers must have ports of 1 to 65535, got kafka:0"],
    [{ ...KAFKA, brokers: ["kafka:70000"] }, "bus.brokers must have ports of 1 to 65535, got kafka:70000"],
    [{ ...KAFKA, client: "librdkafka" }, "must be one of platformatic, kafkajs, got librdkafka"],
    [{ ...KAFKA, caFile: "/ca" }, "bus.caFile must not be set without bus.tls, got /ca"],
    [{ ...KAFKA, tls: true, certFile: "/c" }, "bus.keyFile must be set together with bus.certFile, got none"],
    [{ ...KAFKA, tls: true, keyFile: "/k" }, "bus.certFile must be set together with bus.keyFile, got none"],
    [{ ...KAFKA, saslMechanism: "scram-sha-256" }, "bus.saslUsername must be set when bus.saslMechanism is"],
    [
      { ...KAFKA, saslMechanism: "scram-sha-256", saslUsername: "u" },
      "bus.saslPasswordFile must be set when bus.saslMechanism is scram-sha-256, got none",
    ],
    [{ ...KAFKA, saslUsername: "u" }, "bus.saslMechanism must be set when bus.saslUsername"],
    [
      { ...KAFKA, saslMechanism: "plain", saslUsername: "u", saslPasswordFile: "/p" },
      "bus.saslMechanism must not be plain without bus.tls",
    ],
    [{ ...KAFKA, replicationFactor: 0 }, "must be at least 1, got 0"],
  ])("%j is refused", (settings, message) => {
    expect(() => load(settings)).toThrow(message);
  });
});
