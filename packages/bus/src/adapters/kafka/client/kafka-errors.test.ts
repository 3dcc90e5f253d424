import { describe, expect, it } from "vitest";

import { brokerError, connectionError, isRefusal, isSerious } from "./kafka-errors.ts";

describe("errors of Kafka", () => {
  it.each([
    ["TOPIC_AUTHORIZATION_FAILED", "unauthorized", true],
    ["GROUP_AUTHORIZATION_FAILED", "unauthorized", true],
    ["SASL_AUTHENTICATION_FAILED", "unauthenticated", true],
    ["UNKNOWN_TOPIC_OR_PARTITION", "unknown_topic", true],
    ["MESSAGE_TOO_LARGE", "too_large", false],
    ["NOT_LEADER_OR_FOLLOWER", "unavailable", true],
    ["SOMETHING_NEW", "unavailable", true],
  ])("%s is %s", (name, code, retryable) => {
    const error = brokerError(name, "publishing to t/3", new Error("cause"));
    expect(error).toMatchObject({ code, retryable });
    expect(error.message).toBe(`publishing to t/3 failed: the broker answered ${name}`);
  });

  it("asks for patience where somebody must change something first", () => {
    expect(brokerError("GROUP_AUTHORIZATION_FAILED", "x", null).retryAfterMs).toBe(5_000);
    expect(brokerError("NOT_LEADER_OR_FOLLOWER", "x", null).retryAfterMs).toBeUndefined();
  });

  it("tells a bad certificate from a broker that is away, wherever in the causes it stands", () => {
    const expired = Object.assign(new Error("certificate has expired"), { code: "CERT_HAS_EXPIRED" });
    const wrapped = new AggregateError([new Error("a"), new Error("b", { cause: expired })], "none");
    expect(connectionError("x", wrapped)).toMatchObject({ code: "untrusted", retryAfterMs: 5_000 });
    expect(connectionError("x", wrapped).message).toContain("certificate has expired");
    expect(connectionError("x", new Error("ECONNREFUSED"))).toMatchObject({ code: "unavailable" });
  });

  it("takes a few failures for everyday life, but no refusal", () => {
    const moved = brokerError("NOT_LEADER_OR_FOLLOWER", "x", null);
    expect([isSerious(moved, 3), isSerious(moved, 4)]).toEqual([false, true]);
    const unknown = brokerError("UNKNOWN_TOPIC_OR_PARTITION", "x", null);
    expect([isRefusal(unknown), isSerious(unknown, 1), isSerious(unknown, 4)]).toEqual([true, false, true]);
    expect(isSerious(brokerError("TOPIC_AUTHORIZATION_FAILED", "x", null), 1)).toBe(true);
    expect(isSerious(brokerError("INVALID_RECORD", "x", null), 1)).toBe(true);
  });
});
