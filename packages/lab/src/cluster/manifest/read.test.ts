import { describe, expect, it } from "vitest";
import { ManifestError } from "../errors.ts";
import { threeServices, workloadYaml } from "../testing/builders.ts";
import { loadManifest, readManifest, SAMPLE_MANIFEST } from "./read.ts";

const EDGES: Readonly<Record<string, string>> = {
  m0: "m1 m2 m3",
  m1: "m4 m5",
  m2: "m5 m6 m7",
  m3: "m7 m8",
  m4: "m9 db1",
  m5: "m9 m10",
  m6: "m10 db2",
  m7: "m11",
  m8: "m11 m12",
  m9: "db1",
  m10: "db2",
  m11: "db3",
  m12: "db4",
};

function problemsOf(text: string): ManifestError["problems"] {
  try {
    readManifest(text, "file.yaml");
  } catch (error) {
    if (error instanceof ManifestError) return error.problems;
    throw error;
  }
  return [];
}

describe("the sample manifest", () => {
  it("holds the 17 services and exactly the edges of the sample workflow", async () => {
    const manifest = await loadManifest(SAMPLE_MANIFEST);
    const edges = Object.fromEntries(
      manifest.workloads
        .filter(({ callees }) => callees.length > 0)
        .map(({ name, callees }) => [name, callees.join(" ")]),
    );
    expect(manifest.workloads).toHaveLength(17);
    expect(edges).toEqual(EDGES);
    expect(manifest.entry.name).toBe("m0");
    expect(manifest.workflow).toBe("sample");
  });

  it("is ordered with callers before callees", async () => {
    const { workloads } = await loadManifest(SAMPLE_MANIFEST);
    const position = new Map(workloads.map(({ name }, index) => [name, index]));
    for (const { name, callees } of workloads)
      for (const callee of callees) expect(position.get(callee)).toBeGreaterThan(position.get(name)!);
  });
});

describe("reading a manifest", () => {
  it("reads the behaviour of each workload", () => {
    const b = threeServices().workloads.find(({ name }) => name === "b")!;
    expect(b.behaviour).toEqual({ calls: ["c"], requestBytes: 200, responseBytes: 2000, cpuMs: 0 });
  });

  it("names file, document, line and rule of an unknown callee", () => {
    const text = workloadYaml("a", { entry: "true", calls: "ghost" });
    const line = text.split("\n").findIndex((row) => row.includes("ghost")) + 1;
    const [problem, ...rest] = problemsOf(text);
    expect(rest).toEqual([]);
    expect(problem).toMatchObject({ file: "file.yaml", document: 1, line });
    expect(problem!.message).toContain('calls "ghost"');
  });

  it("refuses a cycle and names it", () => {
    const text = [
      workloadYaml("a", { entry: "true", calls: "b" }),
      workloadYaml("b", { calls: "c" }),
      workloadYaml("c", { calls: "b" }),
    ].join("---\n");
    expect(problemsOf(text).map(({ message }) => message)).toEqual([
      expect.stringMatching(/cycle.*(b -> c -> b|c -> b -> c)/),
    ]);
  });

  it("refuses a workload that calls itself", () => {
    expect(problemsOf(workloadYaml("a", { entry: "true", calls: "a" }))[0]!.message).toContain("a -> a");
  });

  it("refuses a name that is used twice, in the document where it is repeated", () => {
    const a = workloadYaml("a", { entry: "true" });
    const problems = problemsOf(`${a}---\n${a}`);
    expect(problems.map(({ document }) => document)).toEqual([3, 4]);
    expect(problems[0]!.message).toContain('Deployment "a" is already in document 1');
  });

  it("refuses a workflow without an entry", () => {
    expect(problemsOf(workloadYaml("a"))[0]!.message).toContain("exactly one must be the entry");
  });

  it("refuses two entries", () => {
    const text = [workloadYaml("a", { entry: "true" }), workloadYaml("b", { entry: "true" })].join("---\n");
    expect(problemsOf(text)[0]).toMatchObject({
      document: 3,
      message: expect.stringContaining('already on "a"'),
    });
  });

  it("reports all mistakes at once", () => {
    const text = workloadYaml("a", { calls: "ghost", "response-bytes": "many" }, 999);
    expect(problemsOf(text)).toHaveLength(4);
  });

  it.each([
    ["broken YAML", "a: [1", "is not YAML"],
    ["a list", "- 1", "got a list"],
    ["an empty file", "", "holds no Deployment"],
    ["another kind", "apiVersion: v1\nkind: Secret\nmetadata: { name: x }", 'got "v1 Secret"'],
    [
      "an annotation that is no string",
      workloadYaml("a", { entry: "true" }).replace('cpu-ms: "0"', "cpu-ms: 0"),
      "must be a string (quote it), got 0",
    ],
    [
      "an empty container",
      workloadYaml("a", { entry: "true" }).replace(/containers: .*/, "containers: []"),
      "at least one container",
    ],
    ["a broken quantity", workloadYaml("a", { entry: "true" }).replace("100m", "lots"), 'got "lots"'],
  ])("refuses %s", (_, text, message) => {
    expect(
      problemsOf(text)
        .map((problem) => problem.message)
        .join("\n"),
    ).toContain(message);
  });

  it("names the file that can't be read", async () => {
    await expect(loadManifest("/nowhere/workflow.yaml")).rejects.toThrow(
      /\/nowhere\/workflow.yaml:1.*cannot be read/,
    );
  });
});
