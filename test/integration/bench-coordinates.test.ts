import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const command = join(import.meta.dirname, "../../cli/bin/isochrone.mjs");
const planetLab = join(import.meta.dirname, "../../packages/lab/data/planetlab-16.txt");
const folder = mkdtempSync(join(tmpdir(), "isochrone-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function bench(args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [command, "bench", "coordinates", ...args], {
    encoding: "utf8",
    timeout: 60_000,
  });
}

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe("isochrone bench coordinates", () => {
  it.each([
    [[], { median: 0.02, p90: 0.12 }],
    [["--peers", "4"], { median: 0.06, p90: 0.25 }],
    [["--peers", "4", "--noise", "20%"], { median: 0.08, p90: 0.3 }],
    [["--peers", "10", "--budget", "20", "--seed", "3"], { median: 0.05, p90: 0.2 }],
  ])("judges 16 hosts of PlanetLab with %j", (options, ceiling) => {
    const { status, stdout, stderr } = bench(["--matrix", planetLab, ...options, "-o", "json"]);
    expect(stderr).toBe("");
    expect(status).toBe(0);
    const judgement = JSON.parse(stdout);
    expect(judgement).toMatchObject({ nodes: 16, pairs: 240, pairsWithoutEstimate: 0 });
    expect(judgement.medianRelativeError).toBeLessThan(ceiling.median);
    expect(judgement.p90RelativeError).toBeLessThan(ceiling.p90);
    expect(judgement.medianAbsoluteErrorMs).toBeLessThan(10);
    expect(judgement.fitMs).toBeGreaterThan(0);
  });

  it("gives the same figures for the same seed", () => {
    const figures = (seed: string): object => {
      const { stdout } = bench(["--matrix", planetLab, "--peers", "4", "--seed", seed, "-o", "json"]);
      return { ...JSON.parse(stdout), fitMs: 0 };
    };
    expect(figures("5")).toEqual(figures("5"));
    expect(figures("5")).not.toEqual(figures("6"));
  });

  it("works from two nodes on, with pairs that nobody measured", () => {
    const { status, stdout } = bench(["--matrix", file("small.txt", "0 3\n4 0\n"), "-o", "json"]);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ nodes: 2, pairs: 2, pairsWithoutEstimate: 0 });
    const holes = bench(["--matrix", file("holes.txt", "0 3 -1\n0 0 5\n2 0 0\n"), "-o", "json"]);
    expect(JSON.parse(holes.stdout)).toMatchObject({ nodes: 3, pairs: 3 });
  });

  it("prints a table for people", () => {
    const { status, stdout } = bench(["--matrix", planetLab]);
    expect(status).toBe(0);
    expect(stdout).toContain("median relative error");
    expect(stdout).toContain("16 nodes with 10 peers each");
  });

  it.each([
    ["a file that isn't there", ["--matrix", "nowhere.txt"], ["nowhere.txt"], 2],
    ["a word", ["--matrix", file("word.txt", "0 1\nfar 0\n")], ["word.txt", "line 2", "far"], 1],
    ["a ragged row", ["--matrix", file("ragged.txt", "0 1\n1\n")], ["ragged.txt", "line 2"], 1],
    ["an empty file", ["--matrix", file("empty.txt", "\n")], ["empty.txt"], 1],
    ["nothing measured", ["--matrix", file("zeros.txt", "0 0\n-1 0\n")], ["zeros.txt", "none"], 1],
    ["no matrix at all", [], ["--matrix"], 2],
    ["no peers", ["--matrix", planetLab, "--peers", "0"], ["--peers", "0"], 2],
    ["a budget that is no number", ["--matrix", planetLab, "--budget", "lots"], ["--budget", "lots"], 2],
    ["noise below 0", ["--matrix", planetLab, "--noise", "-1"], ["--noise", "-1"], 2],
  ])("answers %s with what is wrong and an exit code", (_, args, words, code) => {
    const { status, stdout, stderr } = bench(args);
    expect(status).toBe(code);
    expect(stdout).toBe("");
    for (const word of words) expect(stderr).toContain(word);
  });
});
