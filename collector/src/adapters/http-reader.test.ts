import type { RequestListener } from "node:http";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import type { ScrapeError } from "../ports/errors.ts";
import type { Target } from "../ports/ports.ts";
import { page, serve, type TestServer } from "../testing/servers.ts";
import { HttpReader } from "./http-reader.ts";

const TEXT = "istio_requests_total 7\n";
const MEBIBYTE = 1024 * 1024;
const PATIENCE_MS = 30_000;

const closers: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function reader(): HttpReader {
  const made = new HttpReader();
  closers.push(() => made.close());
  return made;
}

async function serving(listener: RequestListener): Promise<TestServer> {
  const server = await serve(listener);
  closers.push(() => server.close());
  return server;
}

const targetAt = (url: string): Target => ({
  kind: "istio",
  url: `${url}/stats/prometheus`,
  instance: "shop/cart-0",
});

interface Limits {
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

async function read(
  from: HttpReader,
  url: string,
  { timeoutMs = PATIENCE_MS, maxBytes = MEBIBYTE, signal = new AbortController().signal }: Limits = {},
): Promise<string> {
  const chunks: Uint8Array[] = [];
  const onBytes = (chunk: Uint8Array): boolean => chunks.push(chunk) > 0;
  await from.read(targetAt(url), { timeoutMs, maxBytes, signal, onBytes });
  return Buffer.concat(chunks).toString();
}

const failing = (reading: Promise<unknown>): Promise<ScrapeError> =>
  reading.then(
    () => {
      throw new Error("was read");
    },
    (error: unknown) => error as ScrapeError,
  );

const endless =
  (headers: Record<string, string>, chunk: Uint8Array): RequestListener =>
  (_, response) => {
    response.writeHead(200, { "content-type": "text/plain", ...headers });
    const more = (): void => {
      while (!response.destroyed && response.write(chunk));
      if (!response.destroyed) response.once("drain", more);
    };
    more();
  };

describe("HttpReader", () => {
  it("asks as Prometheus does, and unpacks gzip", async () => {
    const seen: Record<string, unknown>[] = [];
    const { url } = await serving((request, response) => {
      seen.push(request.headers);
      response.writeHead(200, { "content-type": "application/openmetrics-text", "content-encoding": "gzip" });
      response.end(gzipSync(TEXT));
    });
    expect(await read(reader(), url)).toBe(TEXT);
    expect(seen[0]).toMatchObject({
      accept: expect.stringMatching(
        /^application\/openmetrics-text;version=1\.0\.0.*text\/plain;version=0\.0\.4/,
      ),
      "accept-encoding": "gzip",
      "x-prometheus-scrape-timeout-seconds": "30",
    });
    expect(seen[0]?.["authorization"]).toBeUndefined();
  });

  it("tells the content type before the first part, and stops when the rest is not wanted", async () => {
    const { url } = await serving(endless({}, Buffer.from(TEXT)));
    const events: string[] = [];
    await reader().read(targetAt(url), {
      timeoutMs: PATIENCE_MS,
      maxBytes: 100 * MEBIBYTE,
      signal: new AbortController().signal,
      onContentType: (type) => void events.push(type),
      onBytes: () => events.push("part") < 3,
    });
    expect(events).toEqual(["text/plain", "part", "part"]);
  });

  it("keeps its connection from one read to the next", async () => {
    const server = await serving(page(TEXT));
    const kept = reader();
    for (let i = 0; i < 5; i++) expect(await read(kept, server.url)).toBe(TEXT);
    expect(server.connections()).toBe(1);
  });

  it("reads again when the kept connection was closed by the other side meanwhile", async () => {
    let requests = 0;
    const server = await serving((request, response) => {
      requests++;
      // Closes the second connection unanswered, like a server that closes idle connections.
      if (requests === 2) request.socket.destroy();
      else page(TEXT)(request, response);
    });
    const kept = reader();
    await read(kept, server.url);
    expect(await read(kept, server.url)).toBe(TEXT);
    expect([requests, server.connections()]).toEqual([3, 2]);
  });

  it("follows no redirection", async () => {
    let strangers = 0;
    const elsewhere = await serving((_, response) => void (strangers++, response.end()));
    const { url } = await serving(
      (_, response) => void response.writeHead(302, { location: elsewhere.url }).end(),
    );
    expect(await failing(read(reader(), url))).toMatchObject({
      code: "http_status",
      message: `${url}/stats/prometheus must answer 200, got 302`,
    });
    expect(strangers).toBe(0);
  });

  it.each<[string, string, RequestListener]>([
    ["never answers", "timeout", () => undefined],
    [
      "sends a byte now and then",
      "timeout",
      (_, response) => {
        response.writeHead(200, { "content-type": "text/plain" });
        const timer = setInterval(() => response.write("a"), 50);
        response.once("close", () => clearInterval(timer));
      },
    ],
    ["has no end", "too_large", endless({}, Buffer.alloc(65_536, "x 1\n"))],
    ["hides 100 MiB behind compression", "too_large", (_, response) => void gzipped(response).end(BOMB)],
    ["sends compressed nothing without end", "too_large", endless(GZIP, NOTHING)],
    [
      "breaks off within its compression",
      "encoding",
      (_, response) => void gzipped(response).end(BOMB.subarray(0, 99)),
    ],
    ["says gzip and is not", "encoding", (_, response) => void gzipped(response).end(TEXT)],
    [
      "uses another compression",
      "encoding",
      (_, response) => void response.writeHead(200, { ...TYPE, "content-encoding": "br" }).end("x"),
    ],
    ["is a web page", "content_type", page("<html></html>", "text/html")],
    ["has no content type", "content_type", (_, response) => void response.writeHead(200).end(TEXT)],
    ["is forbidden", "forbidden", (_, response) => void response.writeHead(403).end("RBAC: access denied")],
    ["wants credentials", "unauthorized", (_, response) => void response.writeHead(401).end()],
    ["has gone", "http_status", (_, response) => void response.writeHead(404).end("x".repeat(10 * MEBIBYTE))],
    [
      "breaks off",
      "connect",
      (_, response) => {
        response.writeHead(200, { ...TYPE, "content-length": "1000" });
        response.write("x", () => response.destroy());
      },
    ],
    ["hangs up", "connect", (request) => void request.socket.destroy()],
  ])("bounds a page that %s (%s), names it, and reads the next", async (_, code, listener) => {
    let bad = true;
    const { url } = await serving((request, response) => (bad ? listener : page(TEXT))(request, response));
    const used = reader();
    const timeoutMs = code === "timeout" ? 500 : PATIENCE_MS;
    const error = await failing(read(used, url, { timeoutMs }));
    expect(error).toMatchObject({ code, message: expect.stringContaining(url) });
    expect(error.message.length).toBeLessThan(700);
    bad = false;
    expect(await read(used, url)).toBe(TEXT);
  });

  it("says how far it came when time is up", async () => {
    const { url } = await serving((_, response) => {
      response.writeHead(200, TYPE);
      response.write("12345");
    });
    expect((await failing(read(reader(), url, { timeoutMs: 3_000 }))).message).toContain(
      "within 3000 ms, was still receiving (5 bytes so far)",
    );
  });

  it("ends at once when it is stopped", async () => {
    const { url } = await serving(() => undefined);
    const stop = new AbortController();
    const reading = failing(read(reader(), url, { signal: stop.signal, timeoutMs: 60_000 }));
    setTimeout(() => stop.abort(), 20);
    expect((await reading).code).toBe("connect");
    expect((await failing(read(reader(), url, { signal: stop.signal }))).code).toBe("connect");
  });

  it("reads IPv6 addresses", async () => {
    const error = await failing(read(reader(), "http://[::1]:1"));
    expect(error).toMatchObject({ code: "connect", message: expect.stringContaining("[::1]:1") });
  });
});

const TYPE = { "content-type": "text/plain" };
const GZIP = { "content-encoding": "gzip" };
const gzipped = (response: Parameters<RequestListener>[1]): Parameters<RequestListener>[1] =>
  response.writeHead(200, { ...TYPE, ...GZIP });
/** Valid gzip files that decompress to nothing. */
const NOTHING = Buffer.concat(Array.from({ length: 3_000 }, () => gzipSync("")));
const BOMB = gzipSync(Buffer.alloc(100 * MEBIBYTE, "x 1\n"));
