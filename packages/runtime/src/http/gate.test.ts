import { afterEach, expect, test } from "vitest";
import { createRegistry } from "../metrics.ts";
import { MemoryLogger } from "../testing/index.ts";
import { createHttpApp, type GateAnswer, type HttpApp } from "./index.ts";

const open: HttpApp[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((app) => app.close()));
});

const PRINCIPAL = { user: "probe", node: "n1", pod: null };

async function serve(answer?: (authorization: string | undefined) => GateAnswer | Promise<GateAnswer>) {
  const app = await createHttpApp({
    name: "test",
    logger: new MemoryLogger(),
    registry: createRegistry(),
    bodyLimitBytes: 1024,
    ready: () => ({ ready: true, reasons: [] }),
    ...(answer === undefined ? {} : { gate: { check: ({ authorization }) => answer(authorization) } }),
  });
  app.get("/who", (request) => ({ principal: request.principal }));
  open.push(app);
  return async (authorization?: string) => {
    const headers = authorization === undefined ? {} : { authorization };
    const { statusCode, body } = await app.inject({ url: "/who", headers });
    return [statusCode, JSON.parse(body)] as const;
  };
}

test("a request has the principal that the gate has proven, at once or later", async () => {
  const atOnce = await serve(() => ({ principal: PRINCIPAL }));
  const later = await serve(async () => ({ principal: PRINCIPAL }));
  expect(await atOnce()).toEqual([200, { principal: PRINCIPAL }]);
  expect(await later()).toEqual([200, { principal: PRINCIPAL }]);
});

test("a request has none where nobody was asked, and none of the one before it", async () => {
  expect(await (await serve())()).toEqual([200, { principal: null }]);
  const who = await serve((authorization) => (authorization === "a" ? { principal: PRINCIPAL } : null));
  expect(await who("a")).toEqual([200, { principal: PRINCIPAL }]);
  expect(await who()).toEqual([200, { principal: null }]);
});

test("a refused request does not reach its route", async () => {
  const who = await serve(() => ({ status: 403, code: "forbidden", detail: "no" }));
  expect(await who()).toMatchObject([403, { code: "forbidden" }]);
});
