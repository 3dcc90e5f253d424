import { encodeMetrics } from "@isochrone/telemetry";
import fastify from "fastify";
import { gzipSync } from "node:zlib";
import { expect, it, onTestFinished } from "vitest";
import { otlpHttpIngest } from "./index.ts";
import type { OtlpHttpIngestOptions } from "./ingest.ts";

const GAUGE = { timeUnixNano: "1700000000000000000", asDouble: 1 };
const REQUEST = {
  resourceMetrics: [
    {
      resource: { attributes: [{ key: "service.name", value: { stringValue: "x" } }] },
      scopeMetrics: [{ scope: { name: "test" }, metrics: [{ name: "m", gauge: { dataPoints: [GAUGE] } }] }],
    },
  ],
};
const SAME = encodeMetrics({
  resource: { "service.name": "x" },
  scope: { name: "test" },
  metrics: [{ name: "m", kind: "gauge", points: [{ attributes: {}, timeMs: 1_700_000_000_000, value: 1 }] }],
});

async function receiver(options: Partial<OtlpHttpIngestOptions>) {
  const taken: Buffer[] = [];
  const publish: OtlpHttpIngestOptions["publisher"]["publish"] = async (_topic, records) => {
    taken.push(...records.map(({ value }) => Buffer.from(value)));
  };
  const app = fastify();
  onTestFinished(() => app.close());
  otlpHttpIngest(app, { publisher: { publish }, ...options });
  const url = `${await app.listen({ host: "127.0.0.1", port: 0 })}/v1/metrics`;
  const post = async (body: string | Uint8Array): Promise<readonly [number, unknown]> => {
    const response = await fetch(url, {
      method: "POST",
      body: typeof body === "string" ? body : new Uint8Array(body),
      headers: {
        "content-type": "application/json; charset=utf-8",
        "content-encoding": typeof body === "string" ? "identity" : "gzip",
      },
    });
    return [response.status, await response.json()];
  };
  return { post, taken };
}

it("JSON, plain or in gzip, becomes the records of the same protobuf, and is answered in JSON", async () => {
  const { post, taken } = await receiver({ inspect: () => ({ rejectedDataPoints: 3, message: "some" }) });
  const json = JSON.stringify(REQUEST);
  for (const body of [json, gzipSync(json)])
    expect(await post(body)).toEqual([
      200,
      { partialSuccess: { rejectedDataPoints: "3", errorMessage: "some" } },
    ]);
  expect(taken).toEqual([Buffer.from(SAME), Buffer.from(SAME)]);
  const whole = await receiver({});
  expect(await whole.post(json)).toEqual([200, {}]);
});

it.each([
  ["{", 400, "the body is not an ExportMetricsServiceRequest: it is not JSON in UTF-8"],
  ['{"resourceMetrics":[7]}', 400, "resourceMetrics[0] must be an object, got 7"],
  [gzipSync(" ".repeat(5 * 1024 * 1024)), 413, "the decompressed body must be at most 4194304 bytes"],
  [" ".repeat(200_000), 413, "the body must be at most 100000 bytes"],
])("JSON that can't be taken is refused in JSON", async (body, status, message) => {
  const { post, taken } = await receiver({ maxBodyBytes: 100_000 });
  expect(await post(body)).toEqual([status, { code: 3, message: expect.stringContaining(message) }]);
  expect(taken).toEqual([]);
});
