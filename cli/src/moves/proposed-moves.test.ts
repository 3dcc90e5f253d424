import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { proposedMoves } from "./proposed-moves.ts";

async function serverWith(status: number, body: string): Promise<{ server: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((incoming, outgoing) => {
    asked.push(incoming.url!);
    outgoing.writeHead(status, { "content-type": "application/json" }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked };
}

const RULES = {
  minPodAgeMs: 30_000,
  allowLocalStorage: false,
  allowStatefulSets: true,
  allowSingleReplicas: true,
};

test("what is proposed is read by workflow and step, and by which rules pods may be moved", async () => {
  const pods = [
    { name: "web-1", from: "a", node: "b", step: 1 },
    { name: "db-1", from: "a", node: "b", step: 1 },
    { name: "api-1", from: "a", node: "c", step: 2 },
  ];
  const { server, asked } = await serverWith(
    200,
    JSON.stringify({ plans: [{ workflow: "shop/flow", pods }], rules: RULES }),
  );
  const found = await proposedMoves("shop", { server });
  expect(asked).toEqual(["/api/v1/plans?kind=proposal&namespace=shop"]);
  const [first, second] = [
    [
      { pod: "web-1", to: "b" },
      { pod: "db-1", to: "b" },
    ],
    [{ pod: "api-1", to: "c" }],
  ];
  expect(found).toEqual({ steps: new Map([["shop/flow", [first, second]]]), rules: RULES });
});

test.each([
  [503, "{}"],
  [200, "no JSON"],
  [200, '{"plans":"none","rules":[]}'],
])("an answer of status %i and %s proposes nothing", async (status, body) => {
  const { server } = await serverWith(status, body);
  expect(await proposedMoves("shop", { server })).toEqual({ steps: new Map(), rules: null });
});
