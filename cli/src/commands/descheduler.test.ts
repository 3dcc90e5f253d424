import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { DeschedulerReport } from "@isochrone/scheduler-plugin";
import { describe, expect, onTestFinished, test } from "vitest";
import { deschedulerCommand } from "./descheduler.ts";

const REPORT: DeschedulerReport = {
  mode: "dry-run",
  lastRunAt: "2026-01-01T00:00:00.000Z",
  runSeconds: 0.25,
  halt: null,
  pods: [
    pod("shop", "web-1", { target: "n3", cost: 100_000, gain: 5_000, decision: "margin" }),
    pod("shop", "web-2", { target: "n4", cost: 200_000, gain: 50_000, rounds: 3, decision: "move" }),
    pod("shop", "a-1", { target: "n3", cost: 80_000, gain: 20_000, groupSize: 2, decision: "rounds" }),
    pod("shop", "db-1", { decision: "single_replica", detail: "it is its workload's only replica" }),
    pod("other", "job-1", { decision: "job" }),
  ],
  skipped: { margin: 1, rounds: 1, single_replica: 1, job: 1 },
  inFlight: [{ namespace: "shop", name: "api-1", from: "n1", to: "n2", since: "2026-01-01T00:00:00.000Z" }],
  regret: 0.125,
  stoppedUntil: null,
  stoppedBy: null,
};

function pod(
  namespace: string,
  name: string,
  rest: Partial<DeschedulerReport["pods"][number]>,
): DeschedulerReport["pods"][number] {
  const nothing = { target: null, cost: null, gain: null, groupSize: 1, rounds: 0, detail: "" };
  return {
    workflow: `${namespace}/flow`,
    namespace,
    name,
    node: "n1",
    decision: "no_gain",
    ...nothing,
    ...rest,
  };
}

async function serving(body: unknown, status = 200): Promise<string> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    const isRight = request.url === "/api/v1/descheduler";
    response.writeHead(isRight ? status : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(isRight ? body : {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function closedPort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

async function printed(server: string, options: object = {}): Promise<string> {
  const lines: string[] = [];
  await deschedulerCommand({ server, output: "table", ...options }, (text) => lines.push(text));
  return lines.join("\n");
}

describe("isochrone descheduler", () => {
  test("prints what would be moved first, and counts why others stay", async () => {
    const text = await printed(await serving(REPORT));
    const lines = text.split("\n");
    expect(lines[0]).toBe("mode dry-run, last run 2026-01-01T00:00:00.000Z, took 0.25 s");
    expect(lines[1]).toBe("regret of the last moves: 0.13");
    expect(lines[4]).toMatch(/^shop\/web-2 +n1 +n4 +200 +50 +25 +1 +3 +would move$/);
    // A group's gain is a share of the whole group's cost.
    expect(lines[5]).toMatch(/^shop\/a-1 +n1 +n3 +80 +20 +25 +2 +0 +rounds$/);
    expect(lines[6]).toMatch(/^shop\/web-1 +n1 +n3 +100 +5 +5 +1 +0 +margin$/);
    expect(text).toMatch(/stays because +pods\n.*margin +1/);
    expect(text).toMatch(/job +1/);
    expect(text).toMatch(/shop\/api-1 +n1 +n2 +2026/);
    expect(text).not.toContain("shop/db-1");
  });

  test("of one namespace, and counts only its pods", async () => {
    const server = await serving(REPORT);
    const found = JSON.parse(
      await printed(server, { namespace: "other", output: "json" }),
    ) as DeschedulerReport;
    expect(found.pods.map(({ name }) => name)).toEqual(["job-1"]);
    expect(found).toMatchObject({ skipped: { job: 1 }, inFlight: [] });
    expect(await printed(server, { namespace: "other" })).toContain("no pod may be moved");
  });

  test("shows by which score a pod is moved where scores decide", async () => {
    const detail = "by resource-network/raw its score is 100.0 on n2 and 3.0 on n1";
    const pods = [pod("shop", "web-1", { target: "n2", rounds: 1, decision: "move", detail })];
    const text = await printed(await serving({ ...REPORT, mode: "paper", pods, skipped: { no_gain: 4 } }));
    expect(text).toMatch(/shop\/web-1 +n1 +n2 .*move +by resource-network\/raw its score is 100\.0/);
    expect(text).toMatch(/no_gain +4/);
  });

  test("prints the whole answer as JSON", async () => {
    expect(JSON.parse(await printed(await serving(REPORT), { output: "json" }))).toEqual(REPORT);
  });

  test.each<[string, Partial<DeschedulerReport>, string]>([
    ["that it is off", { mode: "off", lastRunAt: null }, "the descheduler is off"],
    ["that another replica leads", { mode: "evict", lastRunAt: null }, "another one leads"],
    [
      "why nothing is moved",
      { halt: { reason: "regret", detail: "in vain" }, stoppedUntil: "2026-01-01T01:00:00.000Z" },
      "nothing is moved: in vain (regret)\nregret of the last moves: 0.13, stopped until 2026-01-01T01:00:00.000Z",
    ],
  ])("says %s", async (_, change, text) => {
    expect(await printed(await serving({ ...REPORT, ...change }))).toContain(text);
  });

  test.each<[string, () => Promise<string>, object, string]>([
    ["another service", async () => `${await serving(REPORT)}/graph`, {}, "must be the scheduler-plugin"],
    ["an error", () => serving({}, 503), {}, "answered with status 503"],
    ["another answer", () => serving({ pods: 1 }), {}, "didn't answer with a descheduler's report"],
    ["nobody", () => closedPort(), {}, "can't be read: fetch failed: connect ECONNREFUSED 127.0.0.1:"],
    ["half a certificate", () => Promise.resolve("https://127.0.0.1:1"), { certFile: "x" }, "go together"],
    ["certificates without TLS", () => Promise.resolve("http://127.0.0.1:1"), { caFile: "x" }, "https"],
  ])("says so when --server is %s", async (_, server, options, message) => {
    await expect(printed(await server(), options)).rejects.toThrow(message);
  });
});
