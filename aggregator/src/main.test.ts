import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { nodeObject } from "./testing/cluster.ts";

const main = join(import.meta.dirname, "main.ts");
const folder = mkdtempSync(join(tmpdir(), "isochrone-aggregator-"));
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(env: Readonly<Record<string, string>>): { readonly child: ChildProcess; stderr: string } {
  const child = spawn(process.execPath, [main], {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  children.push(child);
  const running = { child, stderr: "" };
  child.stderr.on("data", (chunk: Buffer) => (running.stderr += chunk.toString()));
  return running;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function until(url: string, status: number, deadlineMs: number): Promise<Response> {
  for (const deadline = Date.now() + deadlineMs; ;) {
    const answer = await fetch(url).catch(() => null);
    if (answer?.status === status) return answer;
    if (Date.now() > deadline)
      throw new Error(`${url} must answer ${status}, got ${answer?.status ?? "none"}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe("the aggregator's process", () => {
  test("draws the cluster of a dump, is ready, and ends with 0 on SIGTERM", async () => {
    const dump = join(folder, "cluster.json");
    const items = [nodeObject("a", "z1"), nodeObject("b", "z2")];
    writeFileSync(dump, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    const port = await freePort();
    const { child } = run({
      ISOCHRONE_AGGREGATOR_HOST: "127.0.0.1",
      ISOCHRONE_AGGREGATOR_PORT: String(port),
      ISOCHRONE_AGGREGATOR_DUMP_FILE: dump,
    });
    const url = `http://127.0.0.1:${port}`;
    expect(await (await until(`${url}/readyz`, 200, 15_000)).json()).toEqual({ ready: true, reasons: [] });
    const graph = (await (await fetch(`${url}/api/v1/graph/cluster`)).json()) as ClusterGraphSnapshot;
    expect(graph.nodes.map(({ name, zone }) => [name, zone])).toEqual([
      ["a", "z1"],
      ["b", "z2"],
    ]);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  test("ends with 1 and lists all mistakes in its settings", async () => {
    const running = run({
      ISOCHRONE_AGGREGATOR_PORT: "http",
      ISOCHRONE_AGGREGATOR_WINDOW_MS: "soon",
      ISOCHRONE_AGGREGATOR_PROBE_PEERS: "0",
      ISOCHRONE_AGGREGATOR_COLOUR: "red",
    });
    expect((await once(running.child, "close"))[0]).toBe(1);
    for (const word of ["port", "http", "windowMs", "soon", "probePeers", "at least 1", "COLOUR"])
      expect(running.stderr).toContain(word);
  });

  test("ends with 1 and names the dump that it can't read", async () => {
    const running = run({ ISOCHRONE_AGGREGATOR_DUMP_FILE: join(folder, "nowhere.json") });
    expect((await once(running.child, "close"))[0]).toBe(1);
    expect(running.stderr).toContain("nowhere.json must be readable");
  });
});
