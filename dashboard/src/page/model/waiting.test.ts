import { expect, test } from "vitest";
import { LONG_WAIT_MS, waitingWords, type Readiness } from "./waiting.ts";

const request = { path: "api/v1/bill", waitedMs: 7_400 };
const at = (readiness: Readiness, isStreaming = false) =>
  waitingWords({ waitedMs: 9_000, request, readiness, isStreaming });

test("says nothing of a short wait", () => {
  const wait = { request, readiness: { kind: "silent" }, isStreaming: false } as const;
  expect(waitingWords({ ...wait, waitedMs: LONG_WAIT_MS - 1 })).toBeNull();
  expect(waitingWords({ ...wait, waitedMs: LONG_WAIT_MS })).not.toBeNull();
});

test("names the request, how long it has no answer, and a reason of its own for each state", () => {
  const all = [
    at({ kind: "ready" }),
    at({ kind: "starting", reasons: ["no graph was built yet"] }),
    at({ kind: "unreachable" }),
    at({ kind: "silent" }),
    at({ kind: "silent" }, true),
  ];
  for (const words of all) expect(words).toMatch(/^No answer from \/api\/v1\/bill for 7 s: .+\.$/);
  expect(new Set(all).size).toBe(all.length);
  expect(all[1]).toContain("starting (no graph was built yet)");
  expect(all[3]).toContain("connections");
});

test("says how long it waits where no request is under way", () => {
  const words = waitingWords({
    waitedMs: 6_000,
    request: null,
    readiness: { kind: "ready" },
    isStreaming: true,
  });
  expect(words).toBe("Loading for 6 s: the server is ready; the next graph brings the data.");
});
