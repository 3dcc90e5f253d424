import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { ManualClock } from "@isochrone/runtime/testing";
import { afterEach, describe, expect, test } from "vitest";
import { HttpFlowPlans } from "./http-flow-plans.ts";

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

const PLAN = { version: "v1", node: "n1", epoch: "e1", generation: 3, neighbours: [], flows: [] };

async function serve(
  listener: RequestListener,
): Promise<{ readonly source: HttpFlowPlans; readonly clock: ManualClock }> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const clock = new ManualClock();
  return {
    clock,
    source: new HttpFlowPlans({ baseUrl: `http://127.0.0.1:${port}/`, timeoutMs: 5000, clock }),
  };
}

function answer(response: Parameters<RequestListener>[1], status: number, body?: unknown): void {
  response
    .writeHead(status, { "content-type": "application/json", etag: '"e1-3"' })
    .end(body === undefined ? undefined : JSON.stringify(body));
}

async function bodyOf(request: Parameters<RequestListener>[0]): Promise<unknown> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return JSON.parse(text);
}

describe("HttpFlowPlans", () => {
  test("reads plans when somebody asks, at most twice a second, and by their version", async () => {
    const asked: unknown[] = [];
    const { source, clock } = await serve(({ url, headers }, response) => {
      asked.push([url, headers["if-none-match"]]);
      if (asked.length === 1) answer(response, 200, { plans: [PLAN] });
      else answer(response, 304);
    });
    for (let ask = 0; ask < 3; ask++) expect((await source.plans()).get("n1")).toEqual(PLAN);
    await clock.advance(500);
    expect((await source.plans()).get("n1")).toEqual(PLAN);
    expect(asked).toEqual([
      ["/api/v1/flow-plans", undefined],
      ["/api/v1/flow-plans", '"e1-3"'],
    ]);
  });

  test("asks on where a replica doesn't lead", async () => {
    let asked = 0;
    const { source } = await serve((_, response) => {
      asked++;
      if (asked < 3) answer(response, 503, {});
      else answer(response, 200, { plans: [PLAN] });
    });
    expect((await source.plans()).size).toBe(1);
    expect(asked).toBe(3);
  });

  test("says that plans are stale when nobody has confirmed them for five seconds", async () => {
    let isThere = true;
    const { source, clock } = await serve((_, response) =>
      isThere ? answer(response, 200, { plans: [PLAN] }) : answer(response, 503, {}),
    );
    await source.plans();
    isThere = false;
    await clock.advance(4_999);
    expect((await source.plans()).get("n1")).toEqual(PLAN);
    await clock.advance(1);
    await expect(source.plans()).rejects.toMatchObject({
      code: "flow_plan_stale",
      status: 503,
      message: "flow plans are not known: the scheduler-plugin answers 503",
    });
  });

  test("tells what nodes carry out, once the leader takes it", async () => {
    const told: unknown[] = [];
    let isTaken = false;
    const { source, clock } = await serve((request, response) => {
      if (request.method !== "POST") return answer(response, 200, { plans: [PLAN] });
      void (async () => {
        told.push(await bodyOf(request));
        answer(response, isTaken ? 204 : 503);
      })();
    });
    source.applied({ node: "n1", epoch: "e1", generation: 3 });
    await source.plans();
    isTaken = true;
    await clock.advance(500);
    await source.plans();
    await clock.advance(500);
    await source.plans();
    expect(told).toHaveLength(5);
    expect(told.at(-1)).toEqual({ applied: [{ node: "n1", epoch: "e1", generation: 3 }] });
  });

  test("takes no plan that isn't one, and says so where there is no scheduler-plugin", async () => {
    const { source } = await serve((_, response) =>
      answer(response, 200, { plans: [{ ...PLAN, node: "" }] }),
    );
    await expect(source.plans()).rejects.toMatchObject({ code: "flow_plan_stale" });
    const none = new HttpFlowPlans({ baseUrl: null, timeoutMs: 5000, clock: new ManualClock() });
    await expect(none.plans()).rejects.toMatchObject({ code: "decisions_off" });
  });
});
