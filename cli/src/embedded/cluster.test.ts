import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger } from "@isochrone/runtime";
import { afterAll, expect, test } from "vitest";
import { openEmbeddedCluster, type EmbeddedCluster } from "./cluster.ts";

const folder = mkdtempSync(join(tmpdir(), "isochrone-matrix-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function clusterOf(matrix: string | null, nodes?: number): Promise<EmbeddedCluster> {
  const file = join(folder, "matrix.csv");
  writeFileSync(file, matrix ?? "");
  return await openEmbeddedCluster({
    port: 0,
    requestsPerSecond: 1,
    windowMs: 30_000,
    seed: 1,
    placement: "score",
    allowedHosts: [],
    logger: createLogger({ service: "test", level: "error" }),
    env: {},
    ...(matrix === null ? {} : { matrix: file }),
    ...(nodes === undefined ? {} : { nodes }),
  });
}

test("a table with names has a node for each; without names the nodes are our own", async () => {
  const named = await clusterOf("region,us-east-1a,EU West\nus-east-1a,,80ms\nEU West,80ms,\n");
  expect(named.sites.map(({ name, zone, region }) => [name, zone, region])).toEqual([
    ["us-east-1a", "us-east-1a", "us-east-1"],
    ["eu-west", "eu-west", "eu-west"],
  ]);
  expect(named.links[0]![1]!.rttMs).toBe(80);
  expect((await clusterOf(null)).sites).toHaveLength(8);
  expect((await clusterOf("0 1 2\n1 0 3\n2 3 0", 2)).sites.map(({ name }) => name)).toEqual([
    "west-a-1",
    "west-a-2",
  ]);
});

test("more names than nodes can run must be chosen from", async () => {
  const names = Array.from({ length: 20 }, (_, at) => `n${at}`);
  const text = [["", ...names], ...names.map((name) => [name, ...names.map(() => "5")])].join("\n");
  await expect(clusterOf(text)).rejects.toThrow("--nodes must say how many of the matrix's names to use");
  expect((await clusterOf(text, 4)).sites.map(({ name }) => name)).toEqual(["n0", "n1", "n2", "n3"]);
});
