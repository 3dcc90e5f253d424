import Fastify, { type FastifyInstance } from "fastify";
import { problem, sendProblem, type Principal } from "@isochrone/runtime/http";
import type { FlowPlan } from "@isochrone/topology";
import { afterEach, describe, expect, test } from "vitest";
import { AggregatorError } from "../ports/errors.ts";
import { registerFlowPlanRoutes, type AppliedPlan } from "./flow-plan-route.ts";

const PLAN: FlowPlan = { version: "v1", node: "n1", epoch: "e1", generation: 3, neighbours: [], flows: [] };
const apps: FastifyInstance[] = [];

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

function serve(principal: Principal | null): { app: FastifyInstance; applied: AppliedPlan[] } {
  const applied: AppliedPlan[] = [];
  const app = Fastify();
  apps.push(app);
  app.decorateRequest("principal", null);
  app.addHook("onRequest", async (request) => {
    Object.assign(request, { principal });
  });
  app.setErrorHandler((error, _, reply) => {
    if (!(error instanceof AggregatorError)) throw error;
    return sendProblem(reply, problem(error.status, { code: error.code, detail: error.message }));
  });
  registerFlowPlanRoutes(app, {
    plans: async () => new Map([["n1", PLAN]]),
    applied: (plan) => void applied.push(plan),
  });
  return { app, applied };
}

function managerOn(node: string | null): Principal {
  return { user: "manager", node, pod: node === null ? null : { namespace: "x", name: "m", uid: "1" } };
}

describe("the flow plan of a node", () => {
  test("is told to its node and to whoever is on none, not to another node", async () => {
    for (const [principal, status] of [
      [null, 200],
      [managerOn("n1"), 200],
      [managerOn(null), 200],
      [managerOn("n2"), 403],
    ] as const) {
      const response = await serve(principal).app.inject("/api/v1/flow-plan/n1");
      expect([principal, response.statusCode]).toEqual([principal, status]);
    }
    expect((await serve(null).app.inject("/api/v1/flow-plan/n2")).json()).toMatchObject({
      code: "unknown_node",
    });
  });

  test("has its version as ETag", async () => {
    const { app } = serve(managerOn("n1"));
    const first = await app.inject("/api/v1/flow-plan/n1");
    expect(first.json()).toEqual(PLAN);
    expect(first.headers.etag).toBe('"v1"');
    const headers = { "if-none-match": '"v1"' };
    expect((await app.inject({ url: "/api/v1/flow-plan/n1", headers })).statusCode).toBe(304);
  });

  test.each([
    ["with its epoch", "e0/2", undefined, { node: "n1", epoch: "e0", generation: 2 }],
    ["alone, with the version", "3", '"v1"', { node: "n1", epoch: "e1", generation: 3 }],
    ["alone, of another version", "3", '"v0"', null],
    ["alone, without a version", "3", undefined, null],
    ["that is none", "three", '"v1"', null],
  ])("is confirmed by a generation %s", async (_, generation, etag, expected) => {
    const headers = {
      "isochrone-flow-generation": generation,
      ...(etag === undefined ? {} : { "if-none-match": etag }),
    };
    const { app, applied } = serve(managerOn("n1"));
    await app.inject({ url: "/api/v1/flow-plan/n1", headers });
    expect(applied).toEqual(expected === null ? [] : [expected]);
    const other = serve(managerOn(null));
    await other.app.inject({ url: "/api/v1/flow-plan/n1", headers });
    expect(other.applied).toEqual([]);
  });

  test("stands among all plans", async () => {
    expect((await serve(managerOn("n2")).app.inject("/api/v1/flow-plans")).json()).toEqual({ plans: [PLAN] });
  });
});
