import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { metrics } from "@opentelemetry/api";
import { expect, test } from "vitest";
import { startTracing, tracingEndpoint, withSpan } from "./tracing.ts";

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
