import { createServer, type Server } from "node:http";
import { setImmediate } from "node:timers/promises";
import type { AddressInfo } from "node:net";
import type { BusRecord } from "@isochrone/bus";
import { startTracing } from "@isochrone/runtime/tracing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RecordTraces } from "./record-traces.ts";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT_ID = "00f067aa0ba902b7";

let server: Server;
let received: Buffer[];

beforeEach(async () => {
  received = [];
  server = createServer((request, response) => {
    request.on("data", (chunk: Buffer) => received.push(chunk));
    request.on("end", () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterEach(async () => {
  await new Promise((resolve) => server.close(resolve));
});

function recordOf(traceparent: string): BusRecord {
  const headers = { traceparent };
  return {
    topic: "isochrone.usage.v1",
    partition: 1,
    offset: 5,
    key: "a",
    value: new Uint8Array(1),
    headers,
    appendedAtMs: 0,
  };
}

test("without tracing nothing is begun", () => {
  expect(new RecordTraces().begin(recordOf(`00-${TRACE_ID}-${PARENT_ID}-01`))).toBeNull();
});

test("a scrape's trace goes on until its record is in the windows, and only so many are open at a time", async () => {
  const { port } = server.address() as AddressInfo;
  const tracing = await startTracing({
    serviceName: "test",
    endpoint: `http://127.0.0.1:${port}`,
    flushDeadlineMs: 15_000,
  });
  const traces = new RecordTraces();
  expect(traces.begin(recordOf("garbage"))).toBeNull();
  const endings = Array.from({ length: 100 }, () => traces.begin(recordOf(`00-${TRACE_ID}-${PARENT_ID}-01`)));
  expect(endings.filter((end) => end !== null)).toHaveLength(64);
  for (const end of endings) end?.();
  await setImmediate();
  await tracing.stop();
  const sent = Buffer.concat(received);
  expect(sent.includes("aggregator.intake")).toBe(true);
  const ids = [TRACE_ID, PARENT_ID].map((id) => sent.includes(Buffer.from(id, "hex")) || sent.includes(id));
  expect(ids).toEqual([true, true]);
});
