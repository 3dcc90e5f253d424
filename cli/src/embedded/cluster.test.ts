import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger } from "@isochrone/runtime";
import { afterAll, expect, test } from "vitest";
import { loadManifest } from "@isochrone/lab";
import { embeddedPrices } from "./demo-prices.ts";
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

test("a table with names has a node for each; without names nodes are numbered", async () => {
  const named = await clusterOf("region,us-east-1a,EU West\nus-east-1a,,80ms\nEU West,80ms,\n");
  expect(named.sites.map(({ name, zone, region }) => [name, zone, region])).toEqual([
    ["us-east-1a", "us-east-1a", "us-east-1"],
    ["eu-west", "eu-west", "eu-west"],
  ]);
  expect(named.links[0]![1]!.rttMs).toBe(80);
  expect((await clusterOf(null)).sites).toHaveLength(8);
  expect((await clusterOf("0 1 2\n1 0 3\n2 3 0", 2)).sites.map(({ name }) => name)).toEqual([
    "node-1",
    "node-2",
  ]);
});

test("the files of docs/try-your-app.md are read as they stand", async () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/try-your-app.md"), "utf8");
  const [, block = ""] = /```sh\n(cat > shop[^`]*?)```/.exec(page)!;
  const files = new Map(
    [...block.matchAll(/cat > (\S+) <<'END'\n([\s\S]*?)\nEND\n/g)].map(([, name, text]) => [name!, text!]),
  );
  expect([...files.keys()]).toEqual(["shop.yaml", "network.csv", "prices.yaml"]);
  expect(block.trim().split("\n").at(-1)).toBe(
    "npm start -- --manifest shop.yaml --matrix network.csv --prices prices.yaml --rate 10",
  );
  for (const [name, text] of files) writeFileSync(join(folder, name), text);
  const manifest = await loadManifest(join(folder, "shop.yaml"));
  expect(manifest.workloads).toHaveLength(2);
  const { sites } = await clusterOf(files.get("network.csv")!);
  expect(sites.map(({ name, zone, region }) => `${name} ${zone} ${region}`)).toEqual([
    "a eu-1 eu-1",
    "b eu-1 eu-1",
    "c us-1 us-1",
    "d us-1 us-1",
  ]);
  const prices = embeddedPrices({ prices: join(folder, "prices.yaml"), matrix: "network.csv" });
  for (const a of sites)
    for (const b of sites)
      expect(typeof prices.between({ ...a, provider: "own" }, { ...b, provider: "own" })).toBe("object");
});

test("more names than nodes can run must be chosen from", async () => {
  const names = Array.from({ length: 20 }, (_, at) => `n${at}`);
  const text = [["", ...names], ...names.map((name) => [name, ...names.map(() => "5")])].join("\n");
  await expect(clusterOf(text)).rejects.toThrow("--nodes must say how many of the matrix's names to use");
  expect((await clusterOf(text, 4)).sites.map(({ name }) => name)).toEqual(["n0", "n1", "n2", "n3"]);
});
