import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { appGroupOrderCommand } from "./appgroup.ts";
import type { AppGroupOrderOptions } from "./appgroup.ts";

const A1 = `apiVersion: appgroup.diktyo.x-k8s.io/v1alpha1
kind: AppGroup
metadata:
  name: a1
spec:
  numMembers: 3
  topologySortingAlgorithm: KahnSort
  workloads:
    - workload: { kind: Deployment, name: P1-deployment, selector: P1, apiVersion: apps/v1, namespace: default }
      dependencies:
        - workload: { kind: Deployment, name: P2-deployment, selector: P2, apiVersion: apps/v1, namespace: default }
          minBandwidth: "100Mi"
          maxNetworkCost: 15
    - workload: { kind: Deployment, name: P2-deployment, selector: P2, apiVersion: apps/v1, namespace: default }
      dependencies:
        - workload: { kind: Deployment, name: P3-deployment, selector: P3, apiVersion: apps/v1, namespace: default }
          minBandwidth: "250Mi"
          maxNetworkCost: 20
    - workload: { kind: Deployment, name: P3-deployment, selector: P3, apiVersion: apps/v1, namespace: default }
`;

describe("isochrone appgroup order", () => {
  let folder: string;
  let file: string;
  let printed: string[];
  let noted: string[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "isochrone-test-"));
    file = join(folder, "group.yaml");
    printed = [];
    noted = [];
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  async function order(text: string, options: Partial<AppGroupOrderOptions> = {}): Promise<unknown> {
    writeFileSync(file, text);
    await appGroupOrderCommand(
      file,
      { output: "json", ...options },
      (line) => printed.push(line),
      (line) => noted.push(line.replace(folder, "")),
    );
    return options.output === "table" ? printed.join("\n") : JSON.parse(printed.join("\n"));
  }

  const failure = async (text: string, options: Partial<AppGroupOrderOptions> = {}): Promise<unknown> =>
    await order(text, options).then(
      () => "nothing failed",
      (error: Error & { exitCode?: number }) => `${error.exitCode}: ${error.message.replace(folder, "")}`,
    );

  it("prints selectors and indices, the first one first", async () => {
    expect(await order(A1)).toEqual([
      { selector: "P1", index: 1 },
      { selector: "P2", index: 2 },
      { selector: "P3", index: 3 },
    ]);
    expect(noted).toEqual([]);
  });

  it("takes another algorithm, and one of several objects", async () => {
    const several = `${A1.replace("name: a1", "name: other")}---\napiVersion: v1\nkind: Service\nmetadata: { name: x }\n---\n${A1}`;
    expect(await order(several, { algorithm: "AlternateKahn", name: "a1" })).toEqual([
      { selector: "P1", index: 1 },
      { selector: "P3", index: 2 },
      { selector: "P2", index: 3 },
    ]);
  });

  it("prints a table for people", async () => {
    expect(await order(A1, { output: "table", algorithm: "ReverseKahn" })).toBe(
      "default/a1 by ReverseKahn\n\nindex  selector\n    1  P3\n    2  P2\n    3  P1",
    );
  });

  it("orders what it can, and says what is amiss", async () => {
    const stranger = A1.replace(
      "selector: P3, apiVersion: apps/v1, namespace: default }\n          min",
      "selector: db }\n          min",
    )
      .replace("P3-deployment, selector: db", "db, selector: db")
      .replace("KahnSort", "Bogo");
    expect(await order(stranger)).toEqual([
      { selector: "P1", index: 1 },
      { selector: "P2", index: 2 },
      { selector: "P3", index: 3 },
    ]);
    expect(noted).toEqual([
      '/group.yaml, document 1, line 7: AppGroup default/a1: spec.topologySortingAlgorithm must be one of KahnSort, TarjanSort, ReverseKahn, ReverseTarjan, AlternateKahn, AlternateTarjan (KahnSort is used), got "Bogo"',
      '/group.yaml, document 1, line 16: AppGroup default/a1: spec.workloads.1.dependencies.0.workload.selector must be the selector of a workload of the group (the dependency is left out), got "db"',
    ]);
  });

  it("orders workloads that depend on each other as the controller does: as in the spec", async () => {
    const cycle = A1.replace(
      /(P3-deployment), selector: P3(.*)\n {10}min/,
      "P1-deployment, selector: P1$2\n          min",
    );
    expect(await order(cycle)).toEqual(
      ["P1", "P2", "P3"].map((selector, at) => ({ selector, index: at + 1 })),
    );
    expect(noted).toEqual([
      '/group.yaml, document 1, line 9: AppGroup default/a1: spec.workloads.0 must not depend on itself (all workloads stand in the order of the spec), got "P1 -> P2 -> P1"',
    ]);
  });

  it.each([
    [
      "a workload without selector and name",
      A1.replace("{ kind: Deployment, name: P1-deployment, selector: P1,", "{"),
      {},
      "1: /group.yaml, document 1, line 9: AppGroup default/a1: spec.workloads.0.workload.selector must be a text that is not empty, got nothing",
    ],
    [
      "an unknown algorithm",
      A1,
      { algorithm: "Bogo" },
      '2: --algorithm must be one of KahnSort, TarjanSort, ReverseKahn, ReverseTarjan, AlternateKahn, AlternateTarjan, got "Bogo"',
    ],
    [
      "another kind",
      "kind: Pod\nmetadata: { name: p }\n",
      {},
      "1: /group.yaml: the file must hold one AppGroup, or --name say which, got none",
    ],
    ["another name", A1, { name: "b" }, "1: /group.yaml: the file must hold one AppGroup b, got a1"],
  ])("refuses %s", async (_, text, options, message) => {
    expect(await failure(text, options)).toBe(message);
    expect(printed).toEqual([]);
  });

  it("refuses what is no YAML", async () => {
    expect(await failure("kind: [")).toMatch(/^1: \/group.yaml, document 1, line 1: must be YAML or JSON/);
  });

  it("names a file that isn't there", async () => {
    await expect(
      appGroupOrderCommand(
        join(folder, "no.yaml"),
        { output: "json" },
        () => undefined,
        () => undefined,
      ),
    ).rejects.toThrow(/the AppGroup must be in a readable file: .*no\.yaml/);
  });
});
