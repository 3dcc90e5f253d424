import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { explainRequestsCommand } from "../commands/dispatch.ts";

const TRY = {
  endpoint: "10.0.1.3:8080",
  node: "n1",
  zone: "west",
  inTime: 0.97,
  waitMs: 3,
  roundTripMs: 12,
  inFlight: 2,
  failureShare: 0,
  fault: null,
};

const RECORD = {
  at: "2026-01-01T00:00:00.000Z",
  service: "shop/web",
  policy: "deadline",
  leftMs: 182,
  deadlineFrom: "grpc-timeout",
  workMs: 40,
  endpoints: 12,
  tries: [
    { ...TRY, endpoint: "10.0.1.9:8080", node: null, zone: null, failureShare: 0.5, fault: "connect" },
    TRY,
  ],
  outcome: "in_time",
  reason: null,
  status: 200,
  tookMs: 61,
};

async function dispatcher(answer: object, status = 200): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url!);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked };
}

async function explained(server: string, output: "table" | "json" = "table"): Promise<string> {
  const lines: string[] = [];
  await explainRequestsCommand(["shop", "web"], { server, limit: 5, output }, (text) => lines.push(text));
  return lines.join("\n");
}

test("each request is told with its tries, and why each endpoint was chosen", async () => {
  const { url, asked } = await dispatcher({ decisions: [RECORD] });
  expect((await explained(url)).trimEnd().split("\n")).toEqual([
    "2026-01-01T00:00:00.000Z  shop/web: answered in time with 200 after 61 ms",
    "  by deadline among 12 endpoints, 182 ms left (grpc-timeout), work 40 ms",
    "  10.0.1.9:8080 on an unknown node, zone unknown: round trip 12 ms, wait 3.0 ms, 2 under way, 50 % failed, in time with 97 %; then another one: connect",
    "  10.0.1.3:8080 on n1, zone west: round trip 12 ms, wait 3.0 ms, 2 under way, in time with 97 %",
  ]);
  expect(asked).toEqual(["/api/v1/dispatch-decisions?service=shop%2Fweb&limit=5"]);
  expect(JSON.parse(await explained(url, "json"))).toEqual({ decisions: [RECORD] });
});

test("a request that was refused says the reason", async () => {
  const refused = { ...RECORD, tries: [], leftMs: null, workMs: null, tookMs: null, status: 503 };
  const { url } = await dispatcher({
    decisions: [{ ...refused, outcome: "refused", reason: "no_endpoints" }],
  });
  expect(await explained(url)).toContain("shop/web: refused with 503 (no_endpoints)");
  expect(await explained(url)).toContain("no deadline, work not known yet");
});

test("nothing kept is said; what is no dispatcher's answer is refused", async () => {
  const none = await dispatcher({ decisions: [] });
  expect(await explained(none.url)).toContain("has kept no request to shop/web");
  const other = await dispatcher({ decisions: [1] });
  await expect(explained(other.url)).rejects.toThrow("didn't answer with a dispatcher's decisions");
  const graph = await dispatcher({}, 404);
  await expect(explained(graph.url)).rejects.toThrow("--server must be a dispatcher");
});
