import { createRegistry, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { DecisionLog, type DispatchRecord } from "./decision-log.ts";
import { createPages } from "./pages.ts";

const RECORD: Omit<DispatchRecord, "at"> = {
  service: "shop/web",
  policy: "deadline",
  leftMs: null,
  deadlineFrom: null,
  workMs: null,
  endpoints: 0,
  tries: [],
  outcome: "answered",
  reason: null,
  status: 200,
  tookMs: 1,
};

test("decisions are told to connections from the pod alone, those of a Service where one is named", async () => {
  const log = new DecisionLog(systemClock);
  for (let each = 0; each < 3; each++) log.add(RECORD);
  log.add({ ...RECORD, service: "shop/db" });
  const app = await createPages({
    log,
    logger: new MemoryLogger(),
    registry: createRegistry(),
    ready: () => ({ ready: true, reasons: [] }),
  });
  const url = "/api/v1/dispatch-decisions?service=shop/web&limit=2";
  const near = await app.inject({ url, remoteAddress: "127.0.0.1" });
  const { decisions } = near.json<{ decisions: DispatchRecord[] }>();
  expect(decisions.map(({ service }) => service)).toEqual(["shop/web", "shop/web"]);
  expect((await app.inject({ url, remoteAddress: "10.0.0.9" })).statusCode).toBe(403);
  for (const limit of ["x", "-1", "1e9"]) {
    const answer = await app.inject({ url: `/api/v1/dispatch-decisions?limit=${limit}` });
    expect(answer.json<{ decisions: DispatchRecord[] }>().decisions.length).toBe(4);
  }
  await app.close();
});

test("the log keeps a sample: some a second, and so many at most", () => {
  let nowMs = 0;
  const log = new DecisionLog({ now: () => 0, monotonic: () => nowMs, sleep: () => Promise.resolve() });
  const taken = Array.from({ length: 1_000 }, () => log.takes()).filter(Boolean).length;
  expect(taken).toBe(50);
  nowMs = 1_000;
  expect(Array.from({ length: 100 }, () => log.takes()).filter(Boolean).length).toBe(10);
  for (let each = 0; each < 5_000; each++) log.add(RECORD);
  expect(log.list(null, 10_000).length).toBe(500);
});
