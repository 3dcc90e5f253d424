import { type ProvenSpeaker } from "@isochrone/telemetry";
import { MacKey } from "@isochrone/bus/seal";
import { createRegistry } from "@isochrone/runtime";
import { createHttpApp, problem, sendProblem, type HttpApp } from "@isochrone/runtime/http";
import { MemoryLogger } from "@isochrone/runtime/testing";
import type { FastifyInstance } from "fastify";
import { afterEach, expect, test } from "vitest";
import { AggregatorError } from "../ports/errors.ts";
import { registerRecordKeyRoutes, type RecordKeyDesk } from "./record-key-route.ts";

const SECRET = Buffer.alloc(32, 3);

let app: HttpApp | null = null;
let reviewed: (string | null)[] = [];
afterEach(async () => {
  reviewed = [];
  await app?.close();
  app = null;
});

const TOKENS: Readonly<Record<string, ProvenSpeaker>> = {
  "of-node-a": { kind: "node", node: "node-a" },
  "of-node-b": { kind: "node", node: "node-b" },
  "of-collector": { kind: "service", name: "collector" },
};

const DESK: RecordKeyDesk = {
  keyFor: (speaker) => ({ speaker: `${speaker.kind}/x`, keyId: 4, key: new MacKey(SECRET) }),
  speakerOf: ({ headers }) => TOKENS[headers.authorization ?? ""] ?? null,
};

async function serve(desk: RecordKeyDesk | null = DESK): Promise<HttpApp> {
  app = await createHttpApp({
    name: "test",
    logger: new MemoryLogger(),
    registry: createRegistry(),
    bodyLimitBytes: 1024,
    gate: {
      check: ({ path }) => {
        reviewed.push(path);
        return null;
      },
    },
    ready: () => ({ ready: true, reasons: [] }),
  });
  await app.register(async (scope) => {
    const api = scope as unknown as FastifyInstance;
    api.setErrorHandler((error, _, reply) => {
      if (!(error instanceof AggregatorError)) throw error;
      return sendProblem(reply, problem(error.status, { code: error.code, detail: error.message }));
    });
    registerRecordKeyRoutes(api, desk);
  });
  return app;
}

test.each([
  ["of-node-a", "/api/v1/record-key/node-a"],
  ["of-collector", "/api/v1/record-key/service/collector"],
])("%s gets its own key from %s, and nobody on the way may keep it", async (authorization, url) => {
  const api = await serve();
  const answer = await api.inject({ url, headers: { authorization } });
  expect(answer.statusCode).toBe(200);
  expect(answer.json()).toMatchObject({ keyId: 4, key: SECRET.toString("base64url") });
  expect(answer.headers["cache-control"]).toBe("no-store");
  const etag = String(answer.headers["etag"]);
  const again = await api.inject({ url, headers: { authorization, "if-none-match": etag } });
  expect([again.statusCode, again.body]).toEqual([304, ""]);
});

test.each([
  ["of-node-b", "/api/v1/record-key/node-a", "node/node-b"],
  ["of-node-a", "/api/v1/record-key/service/collector", "node/node-a"],
  ["of-node-a", "/api/v1/record-key/service/node-a", "node/node-a"],
  ["of-node-a", "/api/v1/record-key/service/aggregator", "node/node-a"],
  ["of-collector", "/api/v1/record-key/node-a", "service/collector"],
  ["of-nobody", "/api/v1/record-key/node-a", "nobody"],
])("a token %s gets no key from %s", async (authorization, url, whose) => {
  const answer = await (await serve()).inject({ url, headers: { authorization } });
  expect(answer.statusCode).toBe(403);
  expect(answer.json()).toMatchObject({ code: "not_your_key" });
  expect(answer.json().detail).toContain(`got a token that speaks for ${whose}`);
  expect(answer.body).not.toContain(SECRET.toString("base64url"));
});

test("who may read all of /api/v1/ may not get keys for that", async () => {
  const api = await serve();
  await api.inject({ url: "/api/v1/record-key/node-a" });
  await api.inject({ url: "/api/v1/record-key/service/collector" });
  expect(reviewed).toEqual(["/v1/record-key", "/v1/record-key"]);
});

test("where records aren't sealed there is no key", async () => {
  const answer = await (await serve(null)).inject({ url: "/api/v1/record-key/node-a" });
  expect([answer.statusCode, answer.json().code]).toEqual([404, "record_keys_off"]);
});
