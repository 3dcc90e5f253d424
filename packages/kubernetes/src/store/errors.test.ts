import { expect, it } from "vitest";

import { isStoreError, STORE_ERROR_CODES, StoreError } from "./errors.ts";

const RETRYABLE = ["too_many_requests", "timeout", "unavailable"];

it.each(STORE_ERROR_CODES)("carries the code %s, and whether repeating may mend it", (code) => {
  const error = new StoreError(code, "x");
  expect(error).toMatchObject({ name: "StoreError", code, retryable: RETRYABLE.includes(code) });
  expect(isStoreError(error, code)).toBe(true);
});

it("tells codes and other errors apart", () => {
  expect(isStoreError(new StoreError("conflict", "x"), "expired")).toBe(false);
  expect(isStoreError(new Error("expired"), "expired")).toBe(false);
});
