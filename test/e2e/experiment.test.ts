import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const COMMAND = join(import.meta.dirname, "../../cli/bin/isochrone.mjs");

const SCENARIO = `title: Three services far apart
question: Are they faster together?
source: this test
seed: 1
trials: 2
baseline: default
contenders: [default, isochrone]
protocol: { learn: 2s, rounds: 4, round: 5s }
axes: { users: [10, 20] }
cluster:
  nodes: [{ name: node, count: 3, cpu: 2, memory: 4Gi }]
  links: { all: 80 }
workflow:
  name: chain
  entry: web
  defaults: { requests: { cpu: 100m, memory: 64Mi }, memory: 64Mi, cpuMs: 1, request: 300, response: 2000 }
  workloads:
    - { name: web, calls: [shop] }
    - { name: shop, calls: [db] }
    - { name: db }
load: { users: $users, warmUp: 1s, duration: 5s }
grounds: { model: { hopMs: 0.3 } }
quick: { trials: 4 }
`;

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

describe("isochrone experiment", () => {
  const folder = mkdtempSync(join(tmpdir(), "isochrone-experiment-"));
  const file = join(folder, "tiny.yaml");
  const results = join(folder, "results");
  const experiment = (...words: readonly string[]): Promise<Outcome> =>
    new Promise((resolve) => {
      execFile(process.execPath, [COMMAND, "experiment", ...words], (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      });
    });

  beforeAll(() => writeFileSync(file, SCENARIO));
  afterAll(() => rmSync(folder, { recursive: true }));

  it("measures a quick run, judges its direction, and writes report, CSV and JSON", async () => {
    const { code, stdout, stderr } = await experiment(file, "--quick", "--out", results);
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^tiny: 16 cells, 16 measured now\n {2}tiny, model: the p95 of isochrone is lower/,
    );
    const out = join(results, "tiny-quick");
    expect(readFileSync(join(out, "report.html"), "utf8")).toContain("Three services far apart");
    expect(readFileSync(join(out, "results.csv"), "utf8").trim().split("\r\n")).toHaveLength(17);
    const { analyses } = JSON.parse(readFileSync(join(out, "results.json"), "utf8")) as {
      analyses: { overall: { p95: { mean: number } }[] }[];
    };
    expect(analyses[0]!.overall[0]!.p95.mean).toBeLessThan(-0.3);
  });

  it("measures nothing again that is there, and goes on where a run ended", async () => {
    const cells = join(results, "tiny-quick", "cells.jsonl");
    const lines = readFileSync(cells, "utf8").trim().split("\n");
    writeFileSync(cells, `${lines.slice(0, 10).join("\n")}\n{"hash":"hal`);
    const { code, stdout } = await experiment(file, "--quick", "--out", results);
    expect(code).toBe(0);
    expect(stdout).toContain("tiny: 16 cells, 6 measured now");
    expect(
      readFileSync(join(results, "tiny-quick", "results.csv"), "utf8")
        .trim()
        .split("\r\n"),
    ).toHaveLength(17);
  });

  it("fails with a clear line when a direction does not hold", async () => {
    const together = join(folder, "together.yaml");
    writeFileSync(together, SCENARIO.replace("links: { all: 80 }", "links: { all: 0 }"));
    const { code, stderr } = await experiment(together, "--quick", "--out", results);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^isochrone: a direction does not hold: together, model: the p95 of isochrone is not shown to be lower than default's \(/,
    );
  });

  it("says all that is wrong with a scenario before anything starts", async () => {
    const bad = join(folder, "bad.yaml");
    writeFileSync(
      bad,
      SCENARIO.replace("[default, isochrone]", "[default, fastest]").replace("all: 80", "all: -80"),
    );
    const { code, stderr } = await experiment(bad, "--out", join(folder, "never"));
    expect(code).toBe(2);
    expect(stderr).toContain(`${bad}:7: contenders[1] must be one of default, paper`);
    expect(stderr).toContain(
      `${bad}:12: cluster.links.all must be a number (of at least 0, of at most 60000), got -80`,
    );
  });

  it("lists the project's scenarios, and says which there are", async () => {
    const { stdout } = await experiment("--list");
    for (const name of ["figure-3", "online-boutique", "planetlab", "null"]) expect(stdout).toContain(name);
    const { code, stderr } = await experiment("figure-33");
    expect(code).toBe(2);
    expect(stderr).toMatch(/a scenario must be one of .*figure-3.* or a \.yaml file, got figure-33/);
    expect((await experiment("figure-3", "--contenders", "default,isocrone")).stderr).toMatch(
      /contenders must be of default, paper, .*, got isocrone/,
    );
    expect((await experiment("figure-3", "--contenders", "isochrone")).stderr).toMatch(
      /contenders must have the baseline default, got isochrone/,
    );
    expect((await experiment("figure-3", "--only", "users=7")).stderr).toMatch(
      /points must have users=7, got none/,
    );
  });
});
