import { expect, test } from "vitest";
import { reasonOf } from "./errors.ts";

const refused = new Error("connect ECONNREFUSED 127.0.0.1:1");
const failed = (cause: unknown): Error => new TypeError("fetch failed", { cause });

test.each<[string, unknown, string]>([
  ["its cause", failed(refused), "fetch failed: connect ECONNREFUSED 127.0.0.1:1"],
  [
    "causes that it says already once",
    new Error(`can't ask: ${refused.message}`, { cause: refused }),
    "can't ask: connect ECONNREFUSED 127.0.0.1:1",
  ],
  [
    "each attempt at a host of several addresses",
    failed(new AggregateError([new Error("connect ECONNREFUSED ::1:1"), refused])),
    "fetch failed: connect ECONNREFUSED ::1:1, connect ECONNREFUSED 127.0.0.1:1",
  ],
  ["the name of one without words", failed(new AggregateError([])), "fetch failed: AggregateError"],
  ["what is no error", failed("gone"), "fetch failed: gone"],
])("it says %s", (_, error, text) => {
  expect(reasonOf(error)).toBe(text);
});

test("causes that lead back end", () => {
  const one = new Error("one");
  one.cause = new Error("two", { cause: one });
  expect(reasonOf(one)).toBe("one: two");
});
