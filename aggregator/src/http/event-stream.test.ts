import { get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { createHttpApp, type GateAnswer, type HttpApp } from "@isochrone/runtime/http";
import { createRegistry } from "@isochrone/runtime";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { EMPTY_CLUSTER } from "../domain/cluster-state.ts";
import { EventHistory } from "../domain/graphs/event-history.ts";
import { Tables } from "../domain/graphs/tables.ts";
import { GraphKeeper } from "../domain/graphs/graph-keeper.ts";
import { nodeState } from "../testing/cluster.ts";
import { EventStream } from "./event-stream.ts";

let clock: ManualClock;
let keeper: GraphKeeper;
let stream: EventStream;
let app: HttpApp;
let dropped: string[];

beforeEach(async () => {
  clock = new ManualClock();
  dropped = [];
  const tables = new Tables(
    { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 },
    { maxLinks: 10, maxChannels: 10, maxPods: 10 },
  );
  keeper = new GraphKeeper(tables, { methods: ["udp_rr"], quantile: "p50" }, new EventHistory("life", 5));
  stream = new EventStream({
    keeper,
    clock,
    maxClients: 2,
    maxBufferedBytes: 64 * 1024,
    onDropped: (reason) => dropped.push(reason),
  });
  app = await createHttpApp({
    name: "test",
    logger: new MemoryLogger(),
    registry: createRegistry(),
    bodyLimitBytes: 1024,
    ready: () => ({ ready: true, reasons: [] }),
    maxConcurrentRequests: 1,
    gate: { check: ({ authorization }) => principalOf(authorization) },
  });
  app.get("/readable", () => ({ ok: true }));
  stream.register(app);
  await app.listen({ host: "127.0.0.1", port: 0 });
});

afterEach(async () => {
  stream.close();
  await app.close();
});

/** The token is the account's name; absent: anonymous. */
function principalOf(user: string | undefined): GateAnswer {
  if (user === undefined) return null;
  podsSeen++;
  return {
    principal: { user, node: "n1", pod: { namespace: "x", name: "page", uid: `pod-${podsSeen}` } },
  };
}

let podsSeen = 0;

function build(nodes: string[] = []): void {
  keeper.build({ ...EMPTY_CLUSTER, nodes: nodes.map((name) => nodeState(name)) }, clock.now(), () => false);
}

class Client {
  readonly response: IncomingMessage;
  #text = "";
  #wake: () => void = () => undefined;
  readonly ended: Promise<void>;

  private constructor(response: IncomingMessage) {
    this.response = response;
    this.ended = new Promise((resolve) => response.once("close", resolve));
    response.on("error", () => undefined);
  }

  static connect(lastEventId?: string, query = "", from = "127.0.0.1", user?: string): Promise<Client> {
    const { port } = app.server.address() as AddressInfo;
    const headers = {
      ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
      ...(user === undefined ? {} : { authorization: user }),
    };
    return new Promise((resolve, reject) => {
      const request = get(
        {
          host: "127.0.0.1",
          port,
          path: `/api/v1/events${query}`,
          headers,
          agent: false,
          localAddress: from,
        },
        (response) => resolve(new Client(response)),
      );
      request.on("error", reject);
    });
  }

  listen(): this {
    this.response.setEncoding("utf8").on("data", (chunk: string) => {
      this.#text += chunk;
      this.#wake();
    });
    return this;
  }

  async until(part: string): Promise<string> {
    while (!this.#text.includes(part)) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#text;
  }
}

describe("event stream", () => {
  test("a client gets the newest event first, and each later one with an id that names life and version", async () => {
    build(["a"]);
    const client = (await Client.connect()).listen();
    await client.until("id: life-1");
    build(["a", "b"]);
    const text = await client.until("id: life-2");
    expect(client.response.headers["content-type"]).toContain("text/event-stream");
    expect(text).toContain("event: graph");
    expect(await client.until('"nodes":["b"]')).toContain('"version":2');
  });

  test("a client that wants no changes gets versions alone, also when it comes back; others beside it get both", async () => {
    for (let version = 1; version <= 2; version++) build(["a"]);
    const brief = (await Client.connect("life-1", "?changes=none")).listen();
    const full = (await Client.connect("life-1")).listen();
    await brief.until("id: life-2");
    build(["a", "b"]);
    const text = await brief.until("id: life-3\ndata: ");
    expect(await full.until('"nodes":["b"]')).toContain("id: life-3");
    expect(
      text.match(/^data: .*$/gm)!.map((line) => Object.keys(JSON.parse(line.slice(6)) as object)),
    ).toEqual([
      ["version", "observedAt"],
      ["version", "observedAt"],
    ]);
  });

  test("a word for the changes that it doesn't know is a mistake", async () => {
    const { response } = await Client.connect(undefined, "?changes=some");
    expect(response.statusCode).toBe(400);
    response.resume();
  });

  test("a client that comes back gets what it missed, in order and no more", async () => {
    for (let version = 1; version <= 3; version++) build();
    const client = (await Client.connect("life-1")).listen();
    const text = await client.until("id: life-3");
    expect([...text.matchAll(/^id: (.*)$/gm)].map((match) => match[1])).toEqual(["life-2", "life-3"]);
  });

  test.each(["other-1", "life-99", "rubbish"])(
    "the unknown id %s gets a reset that links to the snapshot",
    async (id) => {
      build();
      const text = await (await Client.connect(id)).listen().until("snapshot");
      expect(text).toContain(
        'event: reset\nid: life-1\ndata: {"version":1,"snapshot":"/api/v1/graph/cluster"}',
      );
    },
  );

  test("a comment every 15 seconds keeps the connection alive", async () => {
    const client = (await Client.connect()).listen();
    await clock.advance(15_000);
    expect(await client.until(": heartbeat")).not.toContain("event:");
  });

  test("a client that doesn't read is cut off, and the others go on", async () => {
    const slow = await Client.connect();
    slow.response.pause();
    const good = (await Client.connect()).listen();
    const many = Array.from({ length: 20_000 }, (_, i) => `node-with-a-long-name-${i}`);
    // The system's socket buffers hold some megabytes before data queues here.
    for (let version = 1; version <= 60 && dropped.length === 0; version++) {
      build(version % 2 === 0 ? [] : many);
      await good.until(`id: life-${version}\n`);
    }
    expect(dropped).toEqual(["slow"]);
    expect(stream.clients).toBe(1);
    slow.response.destroy();
  });

  test("streams that one client holds leave a place for others: its oldest gives way, and comes back late", async () => {
    const held = [(await Client.connect()).listen(), (await Client.connect()).listen()];
    const page = (await Client.connect(undefined, "", "127.0.0.2")).listen();
    await held[0]!.ended;
    expect(await held[0]!.until("retry: 15000")).not.toContain("event:");
    build(["a"]);
    await Promise.all([page.until("id: life-1"), held[1]!.until("id: life-1")]);
    expect([stream.clients, dropped]).toEqual([2, ["gave_way"]]);
  });

  test("a client that has most of the places lets go of its oldest stream for its next one", async () => {
    const held = [(await Client.connect()).listen(), (await Client.connect()).listen()];
    const third = await Client.connect();
    expect(third.response.statusCode).toBe(200);
    await held[0]!.ended;
    expect([stream.clients, dropped]).toEqual([2, ["gave_way"]]);
  });

  test("accounts are told apart behind one address, and pods of one account are one", async () => {
    const as = async (user: string, from: string): Promise<Client> =>
      (await Client.connect(undefined, "", from, user)).listen();
    const held = [await as("tenant", "127.0.0.2"), await as("tenant", "127.0.0.3")];
    await as("people", "127.0.0.2");
    await held[0]!.ended;
    expect([stream.clients, dropped]).toEqual([2, ["gave_way"]]);
    const third = await Client.connect(undefined, "", "127.0.0.4", "tenant");
    expect(third.response.statusCode).toBe(503);
  });

  test("when all places are shared out evenly, further clients get 503, and nobody gives way", async () => {
    const held = [await Client.connect(), await Client.connect(undefined, "", "127.0.0.2")];
    for (const client of held) client.listen();
    const third = await Client.connect(undefined, "", "127.0.0.3");
    expect(third.response.statusCode).toBe(503);
    const again = await Client.connect();
    expect(again.response.statusCode).toBe(503);
    expect([stream.clients, dropped]).toEqual([2, ["too_many", "too_many"]]);
    for (const { response } of [third, again]) response.resume();
  });

  test("streams are beside the requests under way: as many as there are, the graphs can be read", async () => {
    for (let count = 0; count < 2; count++) (await Client.connect()).listen();
    const { port } = app.server.address() as AddressInfo;
    expect((await fetch(`http://127.0.0.1:${port}/readable`)).status).toBe(200);
  });

  test("who would get more than may wait for a client is sent to the snapshot", async () => {
    const many = Array.from({ length: 2_000 }, (_, i) => `node-with-a-long-name-${i}`);
    for (let version = 1; version <= 4; version++) build(version % 2 === 0 ? [] : many);
    const text = await (await Client.connect("life-1")).listen().until("snapshot");
    expect(text).toContain("event: reset\nid: life-4");
    expect(text).not.toContain("event: graph");
  });

  test("a client that leaves is forgotten", async () => {
    const client = await Client.connect();
    expect(stream.clients).toBe(1);
    client.response.destroy();
    await client.ended;
    while (stream.clients > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(stream.clients).toBe(0);
  });

  test("closing ends every stream", async () => {
    const client = (await Client.connect()).listen();
    stream.close();
    await client.ended;
    expect(stream.clients).toBe(0);
  });
});
