import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { systemClock } from "@isochrone/runtime";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { KINDS } from "../../kinds.ts";
import type { KubernetesObject, WatchEvent } from "../../store/port.ts";
import { binaryEvent, binaryObject, lengthy } from "../../testing/binary-form.ts";
import { createApiServerStore, type ApiServerClusterStore } from "./create-store.ts";
import { StoreCounts } from "./store-counts.ts";

const BINARY = "application/vnd.kubernetes.protobuf";
const BOTH = `${BINARY}, application/json`;

const pod = (name: string, resourceVersion = "1"): KubernetesObject => ({
  ...KINDS.pod,
  metadata: { name, namespace: "shop", uid: name, resourceVersion },
  spec: { nodeName: "n1", containers: [{ name: "main", resources: {} }] },
  status: { phase: "Running" },
});
const podList = (names: readonly string[], more = ""): Record<string, unknown> => ({
  kind: "PodList",
  apiVersion: "v1",
  metadata: { resourceVersion: "9", ...(more === "" ? {} : { continue: more }) },
  items: names.map((name) => pod(name)),
});
const status = (code: number, reason: string): Record<string, unknown> => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message: `because of ${reason}`,
  reason,
  code,
});
/** A field that no version of Kubernetes has. */
const UNKNOWN = lengthy(9_000, Buffer.from("new"));
const NAMED = lengthy(1, lengthy(1, Buffer.from("x")));
const withUnknown = (object: object, ...before: Buffer[]): Buffer =>
  binaryObject({ ...object }, lengthy(2, Buffer.concat([...before, UNKNOWN])));

describe("pods in binary form", () => {
  let server: Server;
  let store: ApiServerClusterStore;
  let logger: MemoryLogger;
  let counts: StoreCounts;
  const asked: { readonly accept: string; readonly query: URLSearchParams }[] = [];
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  const accepts = (): string[] => asked.map(({ accept }) => accept);
  const say = (response: ServerResponse, type: string, body: Buffer | object, code = 200): void => {
    response.writeHead(code, { "content-type": type });
    response.end(Buffer.isBuffer(body) ? body : JSON.stringify(body));
  };
  const begin = (response: ServerResponse, type: string, ...chunks: readonly Buffer[]): void => {
    response.writeHead(200, { "content-type": type });
    for (const chunk of chunks) response.write(chunk);
  };

  beforeEach(async () => {
    asked.length = 0;
    server = createServer((request, response) => {
      const { searchParams } = new URL(request.url!, "http://localhost");
      asked.push({ accept: request.headers.accept!, query: searchParams });
      answer(request, response);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    logger = new MemoryLogger();
    counts = new StoreCounts(new ManualClock());
    store = createApiServerStore({
      credentials: {
        login: () => Promise.resolve({ server: new URL(`http://127.0.0.1:${port}`), headers: {}, tls: {} }),
        forget: () => undefined,
      },
      clock: systemClock,
      random: { next: () => 0 },
      logger,
      observer: counts,
    });
  });
  afterEach(async () => {
    store.close();
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });

  const watched = async (count: number): Promise<WatchEvent[]> => {
    const end = new AbortController();
    const events: WatchEvent[] = [];
    for await (const event of store.watch(KINDS.pod, { resourceVersion: "1", signal: end.signal })) {
      events.push(event);
      if (events.length === count) break;
    }
    end.abort();
    return events;
  };

  it("are listed page by page, other kinds as JSON", async () => {
    answer = ({ url }, response) => {
      if (url!.includes("nodes")) say(response, "application/json", { ...podList([]), kind: "NodeList" });
      else if (url!.includes("continue=more")) say(response, BINARY, binaryObject(podList(["c"])));
      else say(response, BINARY, binaryObject(podList(["a", "b"], "more")));
    };
    expect(await store.list(KINDS.pod)).toEqual({
      items: [pod("a"), pod("b"), pod("c")],
      resourceVersion: "9",
    });
    await store.list(KINDS.node);
    expect(accepts()).toEqual([BOTH, BOTH, "application/json"]);
  });

  it("are taken as JSON from a server that answers so, or refuses the other form", async () => {
    answer = (_, response) => say(response, "application/json", podList(["a"]));
    expect((await store.list(KINDS.pod)).items).toEqual([pod("a")]);
    answer = ({ headers }, response) => {
      if (headers.accept === BOTH) say(response, "application/json", status(406, "NotAcceptable"), 406);
      else say(response, "application/json", podList(["b"]));
    };
    expect((await store.list(KINDS.pod)).items).toEqual([pod("b")]);
    answer = (_, response) =>
      begin(
        response,
        "application/json",
        Buffer.from(`${JSON.stringify({ type: "ADDED", object: pod("c", "2") })}\n`),
      );
    expect(await watched(1)).toEqual([{ type: "added", object: pod("c", "2") }]);
    expect(accepts()).toEqual([BOTH, BOTH, "application/json", BOTH]);
  });

  it("have their metadata alone, where that is wanted", async () => {
    const { metadata } = pod("a");
    const items = [{ metadata }];
    answer = (_, response) =>
      say(
        response,
        BINARY,
        binaryObject({
          kind: "PartialObjectMetadataList",
          apiVersion: "meta.k8s.io/v1",
          metadata: { resourceVersion: "9" },
          items,
        }),
      );
    expect((await store.list(KINDS.pod, { metadataOnly: true })).items).toEqual([{ ...KINDS.pod, metadata }]);
    const as = "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    expect(accepts()).toEqual([`${BINARY};${as}, application/json;${as}`]);
  });

  it("are watched, however the frames are cut", async () => {
    const bookmark = { ...KINDS.pod, metadata: { resourceVersion: "5" } };
    const stream = Buffer.concat([
      binaryEvent("ADDED", binaryObject(pod("a", "2"))),
      binaryEvent("MODIFIED", binaryObject(pod("a", "3"))),
      binaryEvent("WHATEVER", binaryObject(pod("a", "3"))),
      binaryEvent("DELETED", binaryObject(pod("a", "4"))),
      binaryEvent("BOOKMARK", binaryObject(bookmark)),
    ]);
    for (const size of [1, 7, 100, stream.length]) {
      answer = (_, response) => {
        response.writeHead(200, { "content-type": `${BINARY};stream=watch` });
        const next = (at: number): void => {
          if (at < stream.length) response.write(stream.subarray(at, at + size), () => next(at + size));
        };
        next(0);
      };
      expect(await watched(4)).toEqual([
        { type: "added", object: pod("a", "2") },
        { type: "modified", object: pod("a", "3") },
        { type: "deleted", object: pod("a", "4") },
        { type: "bookmark", resourceVersion: "5" },
      ]);
    }
  });

  it("end with the error that the server says in binary form, before or within a watch", async () => {
    answer = (_, response) => say(response, BINARY, binaryObject(status(403, "Forbidden")), 403);
    await expect(store.list(KINDS.pod)).rejects.toMatchObject({
      code: "forbidden",
      message: "list Pod: the API server answered 403: because of Forbidden",
    });
    answer = (_, response) =>
      begin(response, `${BINARY};stream=watch`, binaryEvent("ERROR", binaryObject(status(410, "Expired"))));
    await expect(watched(1)).rejects.toMatchObject({
      code: "expired",
      message: "watch Pod: the API server answered 410: because of Expired",
    });
  });

  it("end with an error for a frame that is too long, breaks off, or can't be read", async () => {
    const frames: readonly (readonly [Buffer, RegExp])[] = [
      [Buffer.from([0xff, 0xff, 0xff, 0xff, 0x00]), /a frame of 4294967295 bytes, must be at most/],
      [binaryEvent("ADDED", binaryObject(pod("a"))).subarray(0, 40), /in the middle of an event/],
      [Buffer.from([0, 0, 0, 2, 0x12, 0x00]), /no object in binary form/],
    ];
    for (const [frame, message] of frames) {
      answer = (_, response) => {
        response.writeHead(200, { "content-type": `${BINARY};stream=watch` });
        response.end(frame);
      };
      await expect(watched(1)).rejects.toMatchObject({
        code: "unavailable",
        message: expect.stringMatching(message),
      });
    }
    answer = (_, response) => say(response, BINARY, Buffer.from("k8s\0 and no more"));
    await expect(store.list(KINDS.pod)).rejects.toMatchObject({ code: "unavailable" });
  });

  it("with a field that isn't known are read as JSON from then on, nothing lost or twice, and counted", async () => {
    const unknown = { ...pod("new", "4"), spec: { ...pod("new").spec, planet: "mars" } };
    answer = ({ headers }, response) => {
      if (headers.accept === BOTH)
        begin(
          response,
          `${BINARY};stream=watch`,
          binaryEvent("ADDED", binaryObject(pod("old", "3"))),
          binaryEvent("ADDED", withUnknown(pod("new", "4"))),
        );
      else
        begin(
          response,
          "application/json",
          Buffer.from(`${JSON.stringify({ type: "ADDED", object: unknown })}\n`),
        );
    };
    expect(await watched(2)).toEqual([
      { type: "added", object: pod("old", "3") },
      { type: "added", object: unknown },
    ]);
    expect(asked.map(({ query }) => query.get("resourceVersion"))).toEqual(["1", "3"]);
    answer = (_, response) => say(response, "application/json", { ...podList([]), items: [unknown] });
    expect((await store.list(KINDS.pod)).items).toEqual([unknown]);
    expect(accepts()).toEqual([BOTH, "application/json", "application/json"]);
    expect(counts.restarts()).toEqual([[{ kind: "Pod", reason: "unknown_field" }, 1]]);
    expect(logger.events("warn")).toHaveLength(1);
  });

  it("with such a field in a list make that page come again", async () => {
    answer = ({ headers, url }, response) => {
      const isFirst = !url!.includes("continue=more");
      const names = isFirst ? ["a"] : ["b"];
      if (headers.accept !== BOTH) say(response, "application/json", podList(names, isFirst ? "more" : ""));
      else if (isFirst) say(response, BINARY, binaryObject(podList(names, "more")));
      else say(response, BINARY, withUnknown(podList(names), NAMED));
    };
    expect((await store.list(KINDS.pod)).items).toEqual([pod("a"), pod("b")]);
    expect(asked.map(({ accept, query }) => [accept === BOTH, query.get("continue")])).toEqual([
      [true, null],
      [true, "more"],
      [false, "more"],
    ]);
  });
});
