import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock } from "@isochrone/runtime";
import type { Health } from "@isochrone/topology";
import { afterEach, expect, test } from "vitest";
import type { Replica } from "../replication/replicas.ts";
import { ReplicaHealths } from "./replica-healths.ts";

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const healths = (replicas: readonly Replica[]): ReplicaHealths =>
  new ReplicaHealths({
    replicas: { liveReplicas: () => replicas },
    replica: "me",
    clock: systemClock,
    timeoutMs: 300,
  });

const WELL: Health = {
  observedAt: "2026-01-01T00:00:00Z",
  ready: true,
  reasons: [],
  version: 7,
  graphAgeSeconds: 2,
  buildFailures: 0,
  intake: {
    records: 1,
    points: 1,
    missing: 0,
    publisherDropped: 0,
    tooLate: 0,
    duplicates: 0,
    deadLetters: 0,
    refused: {},
    unused: {},
  },
  sizes: { series: 1, links: 1, channels: 0, pods: 0, eventClients: 0 },
  probing: { plannedPairs: null, uncoveredZones: null },
  sampleAgeSeconds: null,
  replicas: {
    replica: "b",
    live: 2,
    isLeader: true,
    lag: [{ topic: "isochrone.probe.v1", partition: "1", records: 4 }],
  },
  clocks: [],
};

test("asks every other one, with the client's own token, and tells what it says", async () => {
  const asked: (string | undefined)[] = [];
  const url = await serve((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    response.end(JSON.stringify(WELL));
  });
  const answer = await healths([
    { name: "b", url },
    { name: "me", url },
  ]).others("Bearer mine");
  expect(asked).toEqual(["GET /api/v1/health Bearer mine"]);
  expect(answer).toEqual([
    {
      replica: "b",
      problem: null,
      ready: true,
      isLeader: true,
      version: 7,
      graphAgeSeconds: 2,
      lag: WELL.replicas.lag,
    },
  ]);
});

test("asks once for those who ask at the same time with the same token, and anew afterwards", async () => {
  let asked = 0;
  const url = await serve((_request, response) => {
    asked++;
    response.end(JSON.stringify(WELL));
  });
  const asking = healths([{ name: "b", url }]);
  await Promise.all([asking.others("Bearer a"), asking.others("Bearer a"), asking.others("Bearer b")]);
  expect(asked).toBe(2);
  await asking.others("Bearer a");
  expect(asked).toBe(3);
});

test("one that can't be asked is named with the reason, and costs the others nothing", async () => {
  const silent = await serve(() => undefined);
  const refusing = await serve((_request, response) => response.writeHead(403).end());
  const other = await serve((_request, response) => response.end(JSON.stringify({ ready: "yes" })));
  const endless = await serve((_request, response) => response.end("x".repeat(300_000)));
  const well = await serve((_request, response) => response.end(JSON.stringify(WELL)));
  const answer = await healths([
    { name: "silent", url: silent },
    { name: "refusing", url: refusing },
    { name: "other", url: other },
    { name: "endless", url: endless },
    { name: "nowhere", url: null },
    { name: "strange", url: "file:///etc/hosts" },
    { name: "well", url: well },
  ]).others(undefined);
  expect(answer.map(({ replica, problem }) => [replica, problem])).toEqual([
    ["silent", expect.stringContaining("an answer")],
    ["refusing", "it answered 403"],
    ["other", "its answer is of another version"],
    ["endless", "its answer is too long"],
    ["nowhere", "its Lease names no address"],
    ["strange", "its Lease names no address"],
    ["well", null],
  ]);
  expect(answer.find(({ replica }) => replica === "silent")).toMatchObject({ ready: null, lag: [] });
});
