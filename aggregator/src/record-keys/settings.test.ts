import { loadSettings } from "@isochrone/runtime";
import { expect, test } from "vitest";
import { aggregatorSettings } from "../settings.ts";
import { foreignTopicsOf, proofsMistake } from "./settings.ts";

const load = (aggregator: Readonly<Record<string, unknown>>) =>
  loadSettings([aggregatorSettings], { env: {}, file: { aggregator } }).aggregator;

test("foreign topics are read as topic and service", () => {
  const config = load({
    foreignTopics: ["otel.shop.v1=otel-shop", "otel.db.v1=system:serviceaccount:otel:db"],
  });
  expect([...foreignTopicsOf(config)]).toEqual([
    ["otel.shop.v1", "otel-shop"],
    ["otel.db.v1", "system:serviceaccount:otel:db"],
  ]);
});

test.each([
  [{ foreignTopics: ["otel.shop.v1"] }, "must hold only topics with the service that writes there"],
  [
    { foreignTopics: ["isochrone.graph.v1=x"] },
    "must not name a topic of Isochrone's own, got isochrone.graph.v1",
  ],
  [{ foreignTopics: ["a=x", "a=y"] }, "must name each topic once, got a again"],
  [{ foreignTopics: ["a=aggregator"] }, "must not name the service aggregator"],
  [{ recordKeysSecret: "isochrone" }, "must be namespace/name of a Secret"],
])("%j is refused", (settings, mistake) => {
  expect(() => load(settings)).toThrow(mistake);
});

const PROVEN = { kind: "kafka", sealRecords: true, hasSecret: true, asksForTokens: true } as const;

test.each([
  [PROVEN, null],
  [{ ...PROVEN, sealRecords: false, hasSecret: false, asksForTokens: false }, null],
  // Others may seal before the aggregators ask for it, or long after.
  [{ ...PROVEN, sealRecords: false }, null],
  [{ ...PROVEN, kind: "otlp-http", sealRecords: false, asksForTokens: false }, null],
  [
    { ...PROVEN, hasSecret: false },
    "aggregator.recordKeysSecret must be set when bus.sealRecords is true, got none",
  ],
  [
    { ...PROVEN, asksForTokens: false },
    "access.mode must be kubernetes when aggregator.recordKeysSecret is set: keys are given by what tokens prove",
  ],
] as const)("%j: %s", (facts, mistake) => {
  expect(proofsMistake(facts)).toBe(mistake);
});
