import { encodeMetrics, HEADERS, RESOURCE_ATTRIBUTES, TOPICS } from "@isochrone/telemetry";
import { ManualClock } from "@isochrone/runtime/testing";
import fastify from "fastify";
import type { FastifyInstance } from "fastify";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { BufferedPublisher } from "../../buffered-publisher.ts";
import { BusError } from "../../ports/errors.ts";
import { DROPPED_HEADER } from "../../ports/port.ts";
import type { OutgoingRecord, Publisher } from "../../ports/port.ts";
import { otlpHttpIngest } from "./index.ts";
import type { OtlpHttpIngestOptions } from "./ingest.ts";
import { OtlpHttpPublisher, type OtlpHttpPublisherOptions } from "./publisher.ts";
import { KEY_HEADER, TOPIC_HEADER } from "./routing.ts";
import { decodeExportResponse, type PartialSuccess, statusMessageOf } from "./wire.ts";

const PROTOBUF = "application/x-protobuf";

class Sink implements Publisher {
  readonly taken: { topic: string; record: OutgoingRecord }[] = [];
  failure: Error | null = null;

  async publish(topic: string, records: readonly OutgoingRecord[]): Promise<void> {
    if (this.failure) throw this.failure;
    this.taken.push(...records.map((record) => ({ topic, record })));
  }
}

/** Encodes a request with one gauge; padding sets its size. */
function metrics(name: string, node: string | null = null, padding = ""): Uint8Array {
  return encodeMetrics({
    resource:
      node === null ? { [RESOURCE_ATTRIBUTES.serviceName]: "x" } : { [RESOURCE_ATTRIBUTES.node]: node },
    scope: { name: "test" },
    metrics: [
      {
        name,
        kind: "gauge",
        description: padding,
        points: [{ attributes: {}, timeMs: 1_700_000_000_000, value: 1 }],
      },
    ],
  });
}

describe("OTLP/HTTP", () => {
  let sink: Sink;
  let app: FastifyInstance;
  let url: string;
  let refused: string[];

  const start = async (options: Partial<OtlpHttpIngestOptions> = {}): Promise<void> => {
    app = fastify();
    app.get("/other", async () => ({ ok: true }));
    otlpHttpIngest(app, { publisher: sink, onRefused: (reason) => refused.push(reason), ...options });
    url = `${await app.listen({ host: "127.0.0.1", port: 0 })}/v1/metrics`;
  };
  const post = (body: Uint8Array | string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(url, {
      method: "POST",
      body: typeof body === "string" ? body : new Uint8Array(body),
      headers: { "content-type": PROTOBUF, ...headers },
    });
  const messageOf = async (response: Response): Promise<string> =>
    statusMessageOf(new Uint8Array(await response.arrayBuffer()));
  const publisherTo = (options: Partial<OtlpHttpPublisherOptions> = {}): OtlpHttpPublisher =>
    new OtlpHttpPublisher({ url, ...options });
  const record = (value: Uint8Array, headers: Record<string, string> = {}): OutgoingRecord => ({
    key: "node-a",
    value,
    headers,
  });

  beforeEach(() => {
    sink = new Sink();
    refused = [];
  });
  afterEach(() => app?.close());

  describe("who speaks", () => {
    const identity = {
      [HEADERS.source]: "probe/a",
      [HEADERS.epoch]: "e",
      [HEADERS.sequence]: "1",
      [HEADERS.sentAt]: "1700000000000",
    };

    it("stands in a header that the ingest sets, never in what a client says of itself", async () => {
      await start({ speakerOf: () => ({ speaker: "node/a" }) });
      const forged = { [HEADERS.speaker]: "node/b", [HEADERS.mac]: "1.AAAA" };
      expect((await post(metrics("up", "b"), forged)).status).toBe(200);
      expect((await post(metrics("up", "b"), { ...identity, ...forged })).status).toBe(200);
      for (const { record: taken } of sink.taken) {
        expect(taken.headers[HEADERS.speaker]).toBe("node/a");
        expect(taken.headers).not.toHaveProperty(HEADERS.mac);
      }
      expect(sink.taken).toHaveLength(2);
    });

    it("is nobody's to claim where nobody asks", async () => {
      await start();
      await post(metrics("up"), { [HEADERS.speaker]: "node/b" });
      expect(sink.taken[0]!.record.headers).not.toHaveProperty(HEADERS.speaker);
    });

    it("decides whether a record is taken, before its body is read", async () => {
      const asked: (string | null)[] = [];
      await start({
        speakerOf: (_, source) => {
          asked.push(source);
          return { refused: "not in this name" };
        },
      });
      const refusal = await post("no protobuf at all", identity);
      expect([refusal.status, await messageOf(refusal)]).toEqual([403, "not in this name"]);
      expect([asked, refused, sink.taken]).toEqual([["probe/a"], ["not_yours"], []]);
    });

    it("may be sealed for a bus that others can write to", async () => {
      await start({
        speakerOf: () => ({ speaker: "node/a" }),
        seal: (topic, sealed, speaker) => ({
          ...sealed,
          headers: { ...sealed.headers, [HEADERS.mac]: `of ${speaker} on ${topic}` },
        }),
      });
      await post(metrics("up", "a"));
      expect(sink.taken[0]!.record.headers).toMatchObject({
        [HEADERS.speaker]: "node/a",
        [HEADERS.mac]: `of node/a on ${TOPICS.usage}`,
      });
    });
  });

  describe("from publisher to ingest", () => {
    it("carries topic, key, headers and value unchanged, compressed or not", async () => {
      await start();
      const clock = new ManualClock();
      const values = [
        metrics("isochrone.probe.rtt", "node-a"),
        metrics("isochrone.probe.rtt", "node-a", "x".repeat(5_000)),
      ];
      const publisher = new BufferedPublisher({
        publisher: publisherTo(),
        source: "probe/node-a",
        epoch: "e1",
        clock,
        random: { next: () => 0.5 },
      });
      for (const value of values) publisher.offer(TOPICS.traffic, "knoten ä/1", value);
      await publisher.flush();
      await publisher.close();
      expect(sink.taken.map(({ topic, record: { key } }) => [topic, key])).toEqual(
        values.map(() => [TOPICS.traffic, "knoten ä/1"]),
      );
      expect(sink.taken.map(({ record: { value } }) => Buffer.from(value))).toEqual(
        values.map((value) => Buffer.from(value)),
      );
      expect(sink.taken[1]?.record.headers).toEqual({
        [HEADERS.source]: "probe/node-a",
        [HEADERS.epoch]: "e1",
        [HEADERS.sequence]: "1",
        [HEADERS.sentAt]: String(clock.now()),
        [HEADERS.contentType]: PROTOBUF,
      });
    });

    it("carries the count of dropped records", async () => {
      await start();
      const identity = {
        [HEADERS.source]: "s",
        [HEADERS.epoch]: "e",
        [HEADERS.sequence]: "7",
        [HEADERS.sentAt]: "1",
      };
      await publisherTo().publish(TOPICS.probe, [
        record(metrics("m"), { ...identity, [DROPPED_HEADER]: "3" }),
      ]);
      expect(sink.taken[0]?.record.headers[DROPPED_HEADER]).toBe("3");
    });

    it("passes an overloaded bus on as retryable, with the pause that it asks for", async () => {
      await start();
      sink.failure = new BusError("overloaded", "full", { retryAfterMs: 2_500 });
      const publishing = publisherTo().publish(TOPICS.probe, [record(metrics("m"))]);
      await expect(publishing).rejects.toMatchObject({
        code: "overloaded",
        retryable: true,
        retryAfterMs: 3_000,
      });
    });

    it("passes a bus that is closing on as retryable, since its successor may take it", async () => {
      await start();
      sink.failure = new BusError("closed", "closed");
      const publishing = publisherTo().publish(TOPICS.probe, [record(metrics("m"))]);
      await expect(publishing).rejects.toMatchObject({ code: "unavailable", retryable: true });
    });

    it("sends the token of the moment, and knows a refused one", async () => {
      await start({ authorize: (token) => token === "right" });
      let token: string | null = "wrong";
      const publisher = publisherTo({ token: () => token });
      await expect(publisher.publish(TOPICS.probe, [record(metrics("m"))])).rejects.toMatchObject({
        code: "unauthorized",
        retryable: true,
      });
      token = null;
      await expect(publisher.publish(TOPICS.probe, [record(metrics("m"))])).rejects.toThrow(
        "a bearer token is required",
      );
      token = "right";
      await publisher.publish(TOPICS.probe, [record(metrics("m"))]);
      expect(sink.taken).toHaveLength(1);
      expect(refused).toEqual(["unauthorized", "unauthorized"]);
    });

    it("tells the sender what was not taken", async () => {
      await start({ inspect: () => ({ rejectedDataPoints: 300, message: "no time" }) });
      const partials: PartialSuccess[] = [];
      await publisherTo({ onPartialSuccess: (partial) => partials.push(partial) }).publish(TOPICS.probe, [
        record(metrics("m")),
      ]);
      expect(partials).toEqual([{ rejectedDataPoints: 300, message: "no time" }]);
    });
  });

  describe("ingest", () => {
    it("answers with an empty ExportMetricsServiceResponse of the right type when all was taken", async () => {
      await start();
      const response = await post(metrics("m"));
      expect([response.status, response.headers.get("content-type")]).toEqual([200, PROTOBUF]);
      expect(decodeExportResponse(new Uint8Array(await response.arrayBuffer()))).toBeNull();
    });

    it.each([
      ["isochrone.probe.rtt", TOPICS.probe],
      ["istio_requests_total", TOPICS.traffic],
      ["container_cpu_usage_seconds_total", TOPICS.usage],
    ])("routes %s of a foreign sender to %s", async (name, topic) => {
      await start();
      await post(metrics(name, "node-b"));
      expect(sink.taken).toMatchObject([{ topic, record: { key: "node-b" } }]);
    });

    it("splits a foreign request by topic and node without changing a byte of its parts", async () => {
      await start();
      const parts = [
        metrics("istio_requests_total", "a"),
        metrics("container_x", "a"),
        metrics("istio_requests_total", "b"),
        metrics("istio_y", "a"),
      ];
      await post(Buffer.concat(parts));
      expect(sink.taken.map(({ topic, record: { key, value } }) => [topic, key, Buffer.from(value)])).toEqual(
        [
          [TOPICS.traffic, "a", Buffer.concat([parts[0]!, parts[3]!])],
          [TOPICS.usage, "a", Buffer.from(parts[1]!)],
          [TOPICS.traffic, "b", Buffer.from(parts[2]!)],
        ],
      );
    });

    it("keys a foreign resource without a node by the sender's address", async () => {
      await start();
      await post(metrics("m"));
      expect(sink.taken[0]?.record.key).toBe("127.0.0.1");
    });

    it("answers other types with 415 and says what it takes", async () => {
      await start();
      const response = await post("{}", { "content-type": "text/plain" });
      expect([response.status, response.headers.get("content-type")]).toEqual([
        415,
        expect.stringMatching(/^application\/problem\+json/),
      ]);
      expect(await response.json()).toMatchObject({
        status: 415,
        detail: expect.stringContaining("content-type must be application/x-protobuf or application/json"),
      });
      expect(refused).toEqual(["media_type"]);
    });

    it("takes gzip", async () => {
      await start();
      const value = metrics("m");
      expect((await post(gzipSync(value), { "content-encoding": "gzip" })).status).toBe(200);
      expect(Buffer.from(sink.taken[0]!.record.value)).toEqual(Buffer.from(value));
    });

    it("stops a zip bomb at the bound, with 413", async () => {
      await start({ maxDecompressedBytes: 100_000 });
      const bomb = gzipSync(Buffer.alloc(50_000_000));
      expect(bomb.length).toBeLessThan(100_000);
      const response = await post(bomb, { "content-encoding": "gzip" });
      expect(response.status).toBe(413);
      expect(await messageOf(response)).toContain("100000 bytes");
      expect(sink.taken).toEqual([]);
    });

    it("refuses a body beyond the limit with 413", async () => {
      await start({ maxBodyBytes: 1_000 });
      expect((await post(metrics("m", "a", "x".repeat(2_000)))).status).toBe(413);
      expect(refused).toEqual(["too_large"]);
    });

    it("refuses what is not gzip, or another encoding", async () => {
      await start();
      expect((await post(metrics("m"), { "content-encoding": "gzip" })).status).toBe(400);
      expect((await post(metrics("m"), { "content-encoding": "br" })).status).toBe(415);
    });

    it("refuses bytes that are no protobuf message with 400", async () => {
      await start();
      for (const body of [Buffer.from("hello world"), metrics("m").subarray(0, 20), Buffer.alloc(30, 0xff)]) {
        const response = await post(body);
        expect(response.status).toBe(400);
        expect(await messageOf(response)).toContain("not an ExportMetricsServiceRequest");
      }
      expect(sink.taken).toEqual([]);
    });

    it("refuses an unknown topic, naming the known ones", async () => {
      await start();
      const response = await post(metrics("m"), { [TOPIC_HEADER]: "isochrone.graph.v1" });
      expect(response.status).toBe(400);
      expect(await messageOf(response)).toContain(TOPICS.probe);
    });

    it("refuses an incomplete or malformed identity, and a malformed key", async () => {
      await start();
      expect((await post(metrics("m"), { [HEADERS.source]: "a" })).status).toBe(400);
      const identity = {
        [HEADERS.source]: "a",
        [HEADERS.epoch]: "e",
        [HEADERS.sequence]: "-1",
        [HEADERS.sentAt]: "1",
      };
      expect((await post(metrics("m"), identity)).status).toBe(400);
      expect((await post(metrics("m"), { [TOPIC_HEADER]: TOPICS.probe, [KEY_HEADER]: "%zz" })).status).toBe(
        400,
      );
      expect(refused).toEqual(["bad_headers", "bad_headers", "bad_headers"]);
    });

    it("takes no header but the known ones into the record", async () => {
      await start();
      await post(metrics("m"), { "x-evil": "1", "isochrone-other": "2" });
      expect(sink.taken[0]?.record.headers).toEqual({ [HEADERS.contentType]: PROTOBUF });
    });

    it("answers an unforeseen failure without its details", async () => {
      await start();
      sink.failure = new Error("secret path /etc/x");
      const response = await post(metrics("m"));
      expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
      expect(await messageOf(response)).not.toContain("secret");
    });

    it("refuses a stranger before the body is read", async () => {
      await start({ authorize: () => false, maxBodyBytes: 10 });
      const response = await post(metrics("m"));
      expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    });

    it("leaves the other routes of the app as they are", async () => {
      await start();
      const response = await fetch(url.replace("/v1/metrics", "/other"));
      expect(await response.json()).toEqual({ ok: true });
    });
  });
});
