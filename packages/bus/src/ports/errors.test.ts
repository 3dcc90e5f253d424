import { expect, it } from "vitest";

import { BUS_ERROR_CODES, BusError } from "./errors.ts";

it("carries its code, its cause and what the bus asked for", () => {
  const cause = new Error("reset");
  const error = new BusError("overloaded", "no room", { cause, retryAfterMs: 5 });
  expect(error).toMatchObject({
    name: "BusError",
    code: "overloaded",
    message: "no room",
    cause,
    retryAfterMs: 5,
  });
});

it("calls exactly those codes retryable after which the same call may succeed", () => {
  const retryable = BUS_ERROR_CODES.filter((code) => new BusError(code, "x").retryable);
  expect(retryable).toEqual([
    "overloaded",
    "unauthenticated",
    "unauthorized",
    "untrusted",
    "unknown_topic",
    "unavailable",
    "timeout",
  ]);
});
