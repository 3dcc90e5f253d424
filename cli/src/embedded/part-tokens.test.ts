import { createMemoryBus } from "@isochrone/bus/memory";
import { systemClock } from "@isochrone/runtime";
import type { GateRequest } from "@isochrone/runtime/http";
import { HEADERS, TOPICS } from "@isochrone/telemetry";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { PartTokens } from "./part-tokens.ts";

function request(path: string | null, authorization?: string): GateRequest {
  return { method: "GET", path, authorization, remoteAddress: "127.0.0.1", socket: new Socket() };
}

async function tokenOf(fetchAs: typeof fetch): Promise<string> {
  let seen = "";
  const server = createServer((incoming, answer) => {
    seen = incoming.headers.authorization ?? "";
    answer.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  await fetchAs(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { headers: { accept: "x" } });
  server.close();
  return seen;
}

test("telemetry, plans and leases take the token of a part, and nobody else's word", async () => {
  const bus = createMemoryBus({ clock: systemClock });
  const tokens = new PartTokens();
  const [n1, n2] = ["n1", "n2"].map((node) => tokens.partOf("probe", node, bus));
  const [first, second] = await Promise.all([n1!, n2!].map((part) => tokenOf(part.fetch as typeof fetch)));
  expect(first).not.toBe(second);
  for (const path of [
    "/v1/metrics",
    "/v1/probe-plan",
    "/api/v1/bandwidth-leases",
    "/api/v1/bandwidth-leases/*",
  ]) {
    expect(tokens.gate.check(request(path))).toMatchObject({ status: 401, code: "unauthenticated" });
    expect(tokens.gate.check(request(path, "Bearer guess"))).toMatchObject({ status: 401 });
    expect(tokens.gate.check(request(path, first))).toEqual({
      principal: { user: "probe/n1", node: "n1", pod: null },
    });
  }
  expect(tokens.gate.check(request("/api/v1/graph/cluster"))).toBeNull();
  await bus.close();
});

test("what a part publishes says whose it is, whatever its headers say", async () => {
  const bus = createMemoryBus({ clock: systemClock });
  const { bus: own } = new PartTokens().partOf("collector", "n1", bus);
  const taken = Promise.withResolvers<Readonly<Record<string, string>>>();
  await bus.subscribe({
    topics: [TOPICS.usage],
    from: "earliest",
    onBatch: async ({ records }) => taken.resolve(records[0]!.headers),
  });
  const headers = { [HEADERS.speaker]: "node/other", [HEADERS.epoch]: "e" };
  await own.publish(TOPICS.usage, [{ key: "k", value: new Uint8Array(1), headers }]);
  expect(await taken.promise).toEqual({ [HEADERS.speaker]: "node/n1", [HEADERS.epoch]: "e" });
  await bus.close();
});
