import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { metrics } from "@opentelemetry/api";
import { expect, test } from "vitest";
import {
  isTracing,
  spanContextOf,
  startMessageSpan,
  startTracing,
  TRACEPARENT_HEADER,
  tracingEndpoint,
  withSpan,
} from "./tracing.ts";

test("without an endpoint tracing is off and a span only runs its function", async () => {
  const tracing = await startTracing({ serviceName: "test", endpoint: null });
  expect(tracing.enabled).toBe(false);
  expect(await withSpan("work", {}, () => 42)).toBe(42);
  await tracing.stop();
});

test("the setting wins over the variable, and an empty variable is none", () => {
  expect(tracingEndpoint("http://a", { OTEL_EXPORTER_OTLP_ENDPOINT: "http://b" })).toBe("http://a");
  expect(tracingEndpoint(null, { OTEL_EXPORTER_OTLP_ENDPOINT: "http://b" })).toBe("http://b");
  expect(tracingEndpoint(null, { OTEL_EXPORTER_OTLP_ENDPOINT: "" })).toBeNull();
});

test("stop sends spans and metrics to the receiver, errors included", async () => {
  const received = new Map<string, Buffer>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      received.set(request.url ?? "", Buffer.concat(chunks));
      response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const tracing = await startTracing({ serviceName: "tracing-test", endpoint });
  expect(tracing.enabled).toBe(true);
  metrics.getMeter("test").createCounter("loopback_counter").add(3);
  await withSpan("good-span", { answer: 42 }, () => undefined);
  await expect(withSpan("bad-span", {}, () => Promise.reject(new Error("it broke")))).rejects.toThrow(
    "it broke",
  );
  await tracing.stop();
  await new Promise((resolve) => server.close(resolve));
  const traces = received.get("/v1/traces")?.toString("latin1") ?? "";
  for (const text of ["tracing-test", "good-span", "bad-span", "it broke"]) expect(traces).toContain(text);
  expect(received.get("/v1/metrics")?.toString("latin1")).toContain("loopback_counter");
});

test("a receiver that never answers holds stop up to the deadline only, and tracing can be started again", async () => {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (let round = 0; round < 2; round++) {
    const tracing = await startTracing({ serviceName: "test", endpoint, flushDeadlineMs: 50 });
    const recording = await withSpan("work", {}, (span) => span.isRecording());
    expect(recording).toBe(true);
    await expect(tracing.stop()).rejects.toMatchObject({ code: "deadline_exceeded" });
    expect(await withSpan("work", {}, (span) => span.isRecording())).toBe(false);
  }
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test("without tracing messages carry nothing, and what they carry is not looked at", () => {
  expect(isTracing()).toBe(false);
  expect(startMessageSpan("send", {})).toBeNull();
  expect(spanContextOf({ [TRACEPARENT_HEADER]: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` })).toBeNull();
});

test("one trace goes from the span that a message was handed in with to what takes it, links included", async () => {
  const tracing = await startTracing({
    serviceName: "test",
    endpoint: "http://127.0.0.1:1",
    flushDeadlineMs: 50,
  });
  expect(isTracing()).toBe(true);
  const { message, scrape } = await withSpan("scrape", {}, (span) => ({
    message: startMessageSpan("send", { topic: "t" })!,
    scrape: span.spanContext(),
  }));
  message.end();
  const parent = spanContextOf({ [TRACEPARENT_HEADER]: message.traceparent });
  expect(parent).toMatchObject({ traceId: scrape.traceId, traceFlags: scrape.traceFlags, isRemote: true });
  expect(parent?.spanId).not.toBe(scrape.spanId);
  const taken = await withSpan(
    "take",
    {},
    (span) => withSpan("inner", {}, (inner) => [span.spanContext(), inner.spanContext()]),
    { parent },
  );
  expect(taken.map(({ traceId }) => traceId)).toEqual([scrape.traceId, scrape.traceId]);
  const linked = await withSpan("build", {}, (span) => span, { links: [parent!] });
  expect(linked.spanContext().traceId).not.toBe(scrape.traceId);
  expect((linked as unknown as { links: { context: unknown }[] }).links).toEqual([
    expect.objectContaining({ context: parent }),
  ]);
  await tracing.stop().catch(() => undefined);
  await tracing.stop().catch(() => undefined);
  expect(isTracing()).toBe(false);
});

test("headers that name no valid span are none", async () => {
  const tracing = await startTracing({
    serviceName: "test",
    endpoint: "http://127.0.0.1:1",
    flushDeadlineMs: 50,
  });
  const trace = "0af7651916cd43dd8448eb211c80319c";
  const good = `00-${trace}-b7ad6b7169203331-01`;
  expect(spanContextOf({ [TRACEPARENT_HEADER]: good })).toMatchObject({ traceId: trace, traceFlags: 1 });
  const bad = [
    undefined,
    7,
    [good],
    "",
    `${good} `,
    good.toUpperCase(),
    `ff${good.slice(2)}`,
    `00-${"0".repeat(32)}-b7ad6b7169203331-01`,
    `00-${trace}-${"0".repeat(16)}-01`,
    `00-${trace}-b7ad-01`,
  ];
  expect(bad.map((value) => spanContextOf({ [TRACEPARENT_HEADER]: value }))).toEqual(bad.map(() => null));
  await tracing.stop().catch(() => undefined);
});
