import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";

import type { OutgoingRecord } from "../../ports/port.ts";
import { OtlpHttpPublisher } from "./publisher.ts";

// Tests faulty servers. otlp-http.test.ts tests our own ingest.

function record(headers: Record<string, string> = {}): OutgoingRecord {
  return { key: "node-a", value: Uint8Array.of(10, 0), headers };
}

describe("OtlpHttpPublisher", () => {
  let server: Server;
  const answer = async (
    status: number,
    headers: Record<string, string> = {},
    body = "",
  ): Promise<OtlpHttpPublisher> => {
    server = createServer((request, response) => {
      request.resume();
      if (status !== 0) response.writeHead(status, headers).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new OtlpHttpPublisher({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/metrics`,
      timeoutMs: 200,
    });
  };
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  it.each([
    [400, "rejected", false],
    [401, "unauthorized", true],
    [403, "unauthorized", true],
    [404, "rejected", false],
    [408, "timeout", true],
    [413, "too_large", false],
    [429, "overloaded", true],
    [500, "unavailable", true],
    [503, "unavailable", true],
  ])("takes an answer of %d for %s, retryable %s", async (status, code, retryable) => {
    const publisher = await answer(status);
    await expect(publisher.publish("t", [record()])).rejects.toMatchObject({ code, retryable });
  });

  it("bounds the pause that a server asks for, and ignores one that it can't read", async () => {
    const long = await answer(503, { "retry-after": "999999" });
    await expect(long.publish("t", [record()])).rejects.toMatchObject({
      retryAfterMs: 300_000,
    });
    server.close();
    const odd = await answer(503, { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" });
    await expect(odd.publish("t", [record()])).rejects.toMatchObject({
      retryAfterMs: undefined,
    });
  });

  it("gives up a server that does not answer, so that it may be tried again", async () => {
    const publisher = await answer(0);
    await expect(publisher.publish("t", [record()])).rejects.toMatchObject({
      code: "timeout",
      retryable: true,
    });
  });

  it("reports a server that is away as retryable", async () => {
    const publisher = await answer(200);
    server.close();
    await expect(publisher.publish("t", [record()])).rejects.toMatchObject({
      code: "unavailable",
      retryable: true,
    });
  });

  it("ends with the caller's signal", async () => {
    const publisher = await answer(0);
    const publishing = publisher.publish("t", [record()], { signal: AbortSignal.abort() });
    await expect(publishing).rejects.toMatchObject({ code: "aborted", retryable: false });
  });

  it("follows no redirect: the token is for this address alone", async () => {
    const publisher = await answer(307, { location: "http://127.0.0.1:1/" });
    await expect(publisher.publish("t", [record()])).rejects.toMatchObject({
      code: "unavailable",
    });
  });

  it("survives an answer that is large or is no protobuf: the export has happened", async () => {
    const publisher = await answer(200, {}, "x".repeat(200_000));
    await expect(publisher.publish("t", [record()])).resolves.toBeUndefined();
  });

  it("refuses a header that HTTP can't carry, naming it", async () => {
    const publisher = await answer(200);
    const publishing = publisher.publish("t", [record({ "isochrone-source": "a\r\nb" })]);
    await expect(publishing).rejects.toMatchObject({
      code: "rejected",
      message: expect.stringContaining("isochrone-source"),
    });
  });

  it.each(["ftp://x/", "nonsense"])("refuses the address %s", (address) => {
    expect(() => new OtlpHttpPublisher({ url: address })).toThrow(address);
  });
});
