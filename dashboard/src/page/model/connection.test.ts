import { expect, test } from "vitest";
import { afterReset, afterStream, CONNECTING } from "./connection.ts";

test("a lost connection is told of, since when, and that it came back", () => {
  const live = afterStream(CONNECTING, true, 1000);
  expect(live).toMatchObject({ state: "live", news: null });
  const lost = afterStream(live, false, 5000);
  expect(afterStream(lost, false, 9000)).toBe(lost);
  expect(afterStream(lost, true, 17_000)).toEqual({
    state: "live",
    sinceMs: null,
    news: "Connected again after 12 s; the page is up to date.",
  });
  expect(afterReset(live).news).toContain("read anew");
});
