import Fastify, { type FastifyInstance } from "fastify";
import { problem, sendProblem } from "@isochrone/runtime/http";
import { afterEach, expect, test } from "vitest";
import { AggregatorError } from "../ports/errors.ts";
import { registerStreamsRoute } from "./moment-routes.ts";

const SNAPSHOT = { observedAt: "2026-01-02T03:04:05.000Z", jobs: [], links: [] };
const apps: FastifyInstance[] = [];

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

function serve(isOn = true): { readonly app: FastifyInstance; readonly asked: number[] } {
  const asked: number[] = [];
  const app = Fastify();
  apps.push(app);
  app.setErrorHandler((error, _, reply) => {
    if (!(error instanceof AggregatorError)) throw error;
    return sendProblem(reply, problem(error.status, { code: error.code, detail: error.message }));
  });
  registerStreamsRoute(app, {
    now: async () => {
      if (!isOn) throw new AggregatorError("streams_off", "no scheduler-plugin runs stream jobs");
      return SNAPSHOT;
    },
    at: (ms) => {
      asked.push(ms);
      if (ms < 1_000) throw new AggregatorError("not_kept", "no streams are stored");
      return JSON.stringify(SNAPSHOT);
    },
  });
  return { app, asked };
}

test("streams are of now, or of a moment", async () => {
  const { app, asked } = serve();
  const now = await app.inject("/api/v1/streams");
  expect([now.statusCode, now.json(), now.headers["cache-control"]]).toEqual([200, SNAPSHOT, "no-store"]);
  const then = await app.inject("/api/v1/streams?at=2026-01-02T03:04:05Z");
  expect([then.statusCode, then.json()]).toEqual([200, SNAPSHOT]);
  expect(then.headers["content-type"]).toMatch(/^application\/json/);
  expect(asked).toEqual([Date.parse("2026-01-02T03:04:05Z")]);
});

test.each([
  ["?at=yesterday", 400, "bad_query"],
  ["?at=1970-01-01T00:00:00Z", 404, "not_kept"],
])("%s is refused", async (query, status, code) => {
  const response = await serve().app.inject(`/api/v1/streams${query}`);
  expect([response.statusCode, response.json().code]).toEqual([status, code]);
});

test("where nobody runs jobs it says so", async () => {
  const response = await serve(false).app.inject("/api/v1/streams");
  expect([response.statusCode, response.json().code]).toEqual([503, "streams_off"]);
});
