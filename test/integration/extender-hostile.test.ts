// Requests of broken or hostile clients get a clear response and are counted and bounded.
import { createRegistry, loadSettings, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { createSchedulerPlugin, schedulerPluginSettings } from "@isochrone/scheduler-plugin";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { SchedulerPlugin } from "@isochrone/scheduler-plugin/testing";
import type { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allNames, graphsOf, requestBody } from "../bench/placement/scenario.ts";

const MEBIBYTE = 1024 * 1024;
const HUNDRED_MB = 100 * MEBIBYTE;
const NODES = 5;
const VERBS = ["filter", "prioritize"] as const;

let plugin: SchedulerPlugin;
let registry: Registry;
let logger: MemoryLogger;
let base: string;

beforeAll(async () => {
  const { scheduler } = loadSettings([schedulerPluginSettings], {
    env: {},
    overrides: { scheduler: { port: 0 } },
  });
  registry = createRegistry();
  logger = new MemoryLogger();
  const graphs = graphsOf(NODES, systemClock.now());
  plugin = createSchedulerPlugin(scheduler, {
    clock: systemClock,
    random: systemRandom,
    logger,
    registry,
    graphs,
  });
  await plugin.start();
  base = `${plugin.address().url}/scheduler`;
});

afterAll(() => plugin.stop());

interface Answer {
  readonly status: number;
  readonly json: any; // oxlint-disable-line typescript/no-explicit-any
  readonly headers: IncomingMessage["headers"];
}

async function post(verb: string, body: string): Promise<Answer> {
  const response = await fetch(`${base}/${verb}`, { method: "POST", body });
  return {
    status: response.status,
    json: await response.json(),
    headers: Object.fromEntries(response.headers),
  };
}

/**
 * Sends chunks until a response arrives; with a declared length only the first one. Returns null if the
 * connection was cut before the response was read.
 */
function pour(verb: string, bytes: number, stated: boolean): Promise<Answer | null> {
  const { promise, resolve } = Promise.withResolvers<Answer | null>();
  const piece = Buffer.alloc(MEBIBYTE, 0x20);
  const state = { answered: false };
  const headers = { "content-type": "application/json", ...(stated ? { "content-length": bytes } : {}) };
  const sent = request(`${base}/${verb}`, { method: "POST", headers }, (response) => {
    state.answered = true;
    let text = "";
    response.setEncoding("utf8");
    response.on("data", (chunk: string) => (text += chunk));
    const done = (): void => {
      resolve({ status: response.statusCode!, json: JSON.parse(text || "null"), headers: response.headers });
      sent.destroy();
    };
    response.on("end", done);
    response.on("error", done);
  });
  sent.on("error", () => {
    if (!state.answered) resolve(null);
  });
  let left = bytes;
  const more = (): void => {
    while (left > 0 && !state.answered && !sent.destroyed) {
      if (stated && left < bytes) return;
      left -= piece.length;
      if (!sent.write(piece)) {
        sent.once("drain", more);
        return;
      }
    }
    if (!state.answered && !sent.destroyed) sent.end();
  };
  more();
  return promise;
}

/** Maximum growth of resident memory while `work` runs. */
async function growthOf(work: () => Promise<void>): Promise<number> {
  const before = process.memoryUsage.rss();
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 5);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return most - before;
}

async function answersAsEver(): Promise<void> {
  const { status, json } = await post("prioritize", requestBody(allNames(NODES), 1));
  expect(status).toBe(200);
  expect(json).toHaveLength(NODES);
}

async function counted(metric: string): Promise<number> {
  const line = (await registry.metrics()).split("\n").find((text) => text.startsWith(metric));
  return Number(line?.split(" ").at(-1) ?? 0);
}

describe("100 MB", () => {
  test.each(VERBS)("with its length stated is refused by %s at once", async (verb) => {
    const answers: (Answer | null)[] = [];
    const growth = await growthOf(async () => {
      answers.push(...(await Promise.all(Array.from({ length: 4 }, () => pour(verb, HUNDRED_MB, true)))));
      await answersAsEver();
    });
    for (const answer of answers) expect(answer).toMatchObject({ status: 413, json: { status: 413 } });
    expect(growth).toBeLessThan(150 * MEBIBYTE);
  });

  test("without it is refused at the limit; of many at once only some are read, the others are told to come again", async () => {
    const answers: (Answer | null)[] = [];
    const growth = await growthOf(async () => {
      const poured = Array.from({ length: 12 }, (_, index) => pour(VERBS[index % 2]!, HUNDRED_MB, false));
      await answersAsEver();
      answers.push(...(await Promise.all(poured)));
    });
    const read = answers.filter((answer) => answer !== null);
    for (const { status } of read) expect([413, 503]).toContain(status);
    for (const { headers } of read.filter(({ status }) => status === 503))
      expect(headers["retry-after"]).toBe("1");
    // Twelve bodies would be 768 MB of text and as much again when decoded.
    expect(growth).toBeLessThan(512 * MEBIBYTE);
    expect(
      await counted('isochrone_http_refused_total{server="scheduler",reason="body_budget"}'),
    ).toBeGreaterThan(0);
    await answersAsEver();
    await expect.poll(() => pour("filter", 3 * MEBIBYTE, false).then((answer) => answer?.status)).toBe(400);
  });
});

describe("nodes that nobody knows", () => {
  const names = ["ghost", "", "n".repeat(10_000), 'a "quoted" one', "\u0000\u2028", "ip-10-0-0-7", "ghost"];

  test("pass the filter and are scored", async () => {
    const asked = JSON.stringify({ Pod: JSON.parse(requestBody([], 1)).Pod, NodeNames: names });
    expect((await post("filter", asked)).json).toEqual({
      Nodes: null,
      NodeNames: names,
      FailedNodes: {},
      FailedAndUnresolvableNodes: {},
      Error: "",
    });
    const { status, json } = await post("prioritize", asked);
    expect(status).toBe(200);
    expect(json.map(({ Host }: { Host: string }) => Host)).toEqual(names);
    for (const { Score } of json) expect(Number.isInteger(Score) && Score >= 0 && Score <= 10).toBe(true);
  });

  test("200,000 of them are answered", async () => {
    const many = Array.from({ length: 200_000 }, (_, index) => `ghost-${index}`);
    const asked = requestBody(many, 1);
    expect((await post("filter", asked)).json.NodeNames).toHaveLength(many.length);
    expect(await post("prioritize", asked)).toMatchObject({ status: 200, json: [] });
  });
});

test("lower-case keys mean the same", async () => {
  const usual = requestBody(allNames(NODES), 1);
  const { Pod, NodeNames } = JSON.parse(usual);
  for (const body of [
    { pod: Pod, nodenames: NodeNames },
    { POD: Pod, nodeNames: NodeNames, nodes: null },
    { pod: Pod, nodes: { items: NodeNames.map((name: string) => ({ metadata: { name } })) } },
  ]) {
    const { status, json } = await post("prioritize", JSON.stringify(body));
    expect(status).toBe(200);
    expect(json).toHaveLength(NODES);
    expect(new Set(json.map(({ Host }: { Host: string }) => Host))).toEqual(new Set(NodeNames));
    const filtered = await post("filter", JSON.stringify(body));
    expect(filtered.json.NodeNames).toEqual(NodeNames);
  }
});

describe("nonsense", () => {
  const pod = (of: unknown): string => JSON.stringify({ Pod: of, NodeNames: allNames(NODES) });
  const nodes = (of: unknown): string => JSON.stringify({ Pod: {}, Nodes: of });

  test.each([
    ["nothing", "", "the body must be JSON"],
    ["text", "hello", "the body must be JSON"],
    ["half of it", '{"Pod": {}, "NodeNa', "the body must be JSON"],
    ["bytes that are no UTF-8", "\ufffd\ufffd", "the body must be JSON"],
    ["null", "null", "ExtenderArgs must be an object, got null"],
    ["a number", "7", "ExtenderArgs must be an object, got 7"],
    ["null for both lists", '{"Pod": {}, "Nodes": null, "NodeNames": null}', "must have NodeNames or Nodes"],
    ["an object of names", '{"Pod": {}, "NodeNames": {"a": 1}}', "NodeNames must be a list"],
    ["a null name", '{"Pod": {}, "NodeNames": ["a", null]}', "NodeNames[1] must be a string, got null"],
    ["nodes as a list", nodes([]), "Nodes.items must be a list"],
    ["a null node", nodes({ items: [null] }), "Nodes.items[0].metadata.name must be a string"],
    [
      "a number for metadata",
      nodes({ items: [{ metadata: 4 }] }),
      "Nodes.items[0].metadata.name must be a string",
    ],
    [
      "a list of 5,000 levels",
      nodes([]).replace("[]", "[".repeat(5_000) + "]".repeat(5_000)),
      "at most 100 levels",
    ],
    ["ten million brackets", "[".repeat(10_000_000), "the body must be JSON"],
  ])("%s is answered with 400 that says what is wrong", async (_, body, detail) => {
    for (const verb of VERBS) {
      const before = await counted(`isochrone_scheduler_requests_total{verb="${verb}",outcome="malformed"}`);
      const { status, json } = await post(verb, body);
      expect(status).toBe(400);
      expect(json.detail).toContain(detail);
      expect(json.detail.length).toBeLessThan(300);
      expect(await counted(`isochrone_scheduler_requests_total{verb="${verb}",outcome="malformed"}`)).toBe(
        before + 1,
      );
    }
  });

  test.each([
    ["null", null],
    ["text", "pod"],
    ["a list", [[]]],
    ["metadata of another type", { metadata: "x", spec: [], status: 4 }],
    [
      "labels of other types",
      { metadata: { namespace: 5, name: {}, labels: { app: null, "isochrone.dev/workflow": [] } } },
    ],
    ["owners that are none", { metadata: { ownerReferences: [null, 3, { kind: 4, name: null }] } }],
    [
      "containers that are none",
      { spec: { containers: [null, "x", { resources: { requests: { cpu: {}, memory: "much" } } }] } },
    ],
    [
      "absurd requests",
      { spec: { containers: [{ resources: { requests: { cpu: "1e400", memory: -5 } } }] } },
    ],
    ["a label of 5 MB", { metadata: { labels: { "isochrone.dev/workflow": "w".repeat(5_000_000) } } }],
  ])("a pod that is %s is answered as one that isn't ours, never with a server error", async (_, of) => {
    expect(await post("prioritize", pod(of))).toMatchObject({ status: 200 });
    expect(await post("filter", pod(of))).toMatchObject({
      status: 200,
      json: { NodeNames: allNames(NODES) },
    });
  });

  test("a client that goes away in the middle of its body is no matter", async () => {
    const { hostname, port } = new URL(base);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /scheduler/prioritize HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-length: 5000000\r\n\r\n{"Pod":`,
    );
    await new Promise((resolve) => socket.once("connect", resolve));
    socket.destroy();
    expect(await post("prioritize", requestBody(allNames(NODES), 1))).toMatchObject({ status: 200 });
  });
});

test("none of it was an error of the server", () => {
  expect(logger.lines.filter(({ level }) => level === "error")).toEqual([]);
});
