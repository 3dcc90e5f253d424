import { Secret } from "@isochrone/runtime";
import { ManualClock } from "@isochrone/runtime/testing";
import { describe, expect, it } from "vitest";

import { resolveOptions, tlsOptions } from "./options.ts";
import type { KafkaBusOptions } from "./options.ts";

const OPTIONS: KafkaBusOptions = {
  client: "platformatic",
  brokers: ["kafka:9092"],
  clientId: "test",
  clock: new ManualClock(),
  random: { next: () => 0 },
};

describe("options of the Kafka bus", () => {
  it("have defaults, also for what is given as undefined", () => {
    const resolved = resolveOptions({ ...OPTIONS, fetchWaitMs: undefined } as unknown as KafkaBusOptions);
    expect(resolved).toMatchObject({ compression: "lz4", fetchWaitMs: 250, joinTimeoutMs: 30_000 });
  });

  it.each([
    [{ brokers: [] }, "brokers of the Kafka bus must not be empty"],
    [{ clientId: "" }, "clientId of the Kafka bus must not be empty"],
    [
      { requestTimeoutMs: 0 },
      "requestTimeoutMs of the Kafka bus must be a whole number of at least 1, got 0",
    ],
    [
      { maxBufferedBytes: 0.5 },
      "maxBufferedBytes of the Kafka bus must be a whole number of at least 1, got 0.5",
    ],
  ])("%j is refused by name, rule and value", (bad, message) => {
    expect(() => resolveOptions({ ...OPTIONS, ...bad })).toThrow(
      expect.objectContaining({ code: "invalid_option", message }),
    );
  });

  it("reveal a key to TLS only", () => {
    const tls = { ca: "CA", cert: "CERT", key: new Secret("KEY") };
    expect(tlsOptions(tls)).toEqual({ ca: "CA", cert: "CERT", key: "KEY" });
    expect(tlsOptions({})).toEqual({});
    expect(JSON.stringify(resolveOptions({ ...OPTIONS, tls }))).not.toContain("KEY");
  });
});
