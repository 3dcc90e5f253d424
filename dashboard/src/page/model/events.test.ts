import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { followEvents, readEvents, type ServerEvent } from "./events.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

async function eventsIn(...chunks: readonly (string | Uint8Array)[]): Promise<(ServerEvent | number)[]> {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks)
        controller.enqueue(typeof chunk === "string" ? encoder.encode(chunk) : chunk);
      controller.close();
    },
  });
  return await Array.fromAsync(readEvents(body));
}

test("reads events, comments and the pause between tries", async () => {
  const text = "retry: 1500\n\nevent: graph\nid: a-1\ndata: {}\n\n: heartbeat\n\ndata: one\ndata: two\n\n";
  expect(await eventsIn(text)).toEqual([
    1500,
    { type: "graph", id: "a-1", data: "{}" },
    { type: "message", id: "a-1", data: "one\ntwo" },
  ]);
});

test("reads what is cut anywhere, even within a letter, and not what never ends", async () => {
  const bytes = new TextEncoder().encode("event: graph\nid: é\ndata: ü\n\ndata: never");
  for (let at = 1; at < bytes.length; at++)
    expect(await eventsIn(bytes.subarray(0, at), bytes.subarray(at))).toEqual([
      { type: "graph", id: "é", data: "ü" },
    ]);
});

test("comes back where it was cut, with the headers of whoever opens it", async () => {
  const seen: (string | undefined)[] = [];
  const url = await serve(({ headers }, response) => {
    seen.push(headers["last-event-id"] as string | undefined);
    if (headers.authorization !== "Bearer t") response.statusCode = 401;
    response.end(`retry: 1\n\nevent: graph\nid: e-${seen.length}\ndata: x\n\n`);
  });
  const got: string[] = [];
  const stop = new AbortController();
  await followEvents({
    open: (lastId, signal) =>
      fetch(url, {
        signal,
        headers: { authorization: "Bearer t", ...(lastId === "" ? {} : { "last-event-id": lastId }) },
      }),
    onEvent: ({ id }) => {
      got.push(id);
      if (got.length === 3) stop.abort();
    },
    signal: stop.signal,
    retryMs: 1,
  });
  expect(got).toEqual(["e-1", "e-2", "e-3"]);
  expect(seen).toEqual([undefined, "e-1", "e-2"]);
});

test("goes on trying while the server is away or says no", async () => {
  let tries = 0;
  const url = await serve((_, response) => {
    tries += 1;
    if (tries < 3) response.statusCode = 503;
    response.end(tries < 3 ? "" : "data: here\n\n");
  });
  const stop = new AbortController();
  const got: string[] = [];
  await followEvents({
    open: (_, signal) =>
      tries === 0 ? (tries++, Promise.reject(new Error("away"))) : fetch(url, { signal }),
    onEvent: ({ data }) => {
      got.push(data);
      stop.abort();
    },
    signal: stop.signal,
    retryMs: 1,
  });
  expect(got).toEqual(["here"]);
});
