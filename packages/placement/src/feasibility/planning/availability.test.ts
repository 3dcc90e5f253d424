import { describe, expect, test } from "vitest";
import type { ApiObject } from "../objects/json.ts";
import {
  aModel,
  aNode,
  aPod,
  HOST,
  near,
  required,
  spreadOver,
  ZONE,
  type PodFields,
} from "../testing/objects.ts";
import { problemOf } from "../testing/plans.ts";

const NODES = [aNode("a", "z1"), aNode("b", "z1"), aNode("c", "z2"), aNode("d")];
const replicas = (count: number, fields: PodFields = {}): ApiObject[] =>
  Array.from({ length: count }, (_, index) =>
    aPod(`web-${index}`, { owner: "web", labels: { app: "web" }, ...fields }),
  );
const name = (what: string): string => `ReplicaSet default/web: ${what}`;
const namesOf = (problem: { readonly constraints: readonly { readonly name: string }[] }): string[] =>
  problem.constraints.map((rule) => rule.name);

describe("replicas of a workload", () => {
  test("one alone has no rule, two span two nodes and two zones", () => {
    expect(problemOf(aModel(NODES), replicas(1)).constraints).toEqual([]);
    expect(problemOf(aModel(NODES), replicas(2)).constraints).toEqual([
      {
        kind: "span",
        name: name("at least 2 nodes"),
        domainOf: Int32Array.of(0, 1, 2, 3),
        placed: new Int32Array(4),
        subjects: [],
        members: [0, 1],
        minDistinct: 2,
      },
      {
        kind: "span",
        name: name("at least 2 zones"),
        domainOf: Int32Array.of(0, 0, 1, -1),
        placed: new Int32Array(2),
        subjects: [],
        members: [0, 1],
        minDistinct: 2,
      },
    ]);
  });

  test("many are spread as kube-scheduler does by default; nodes in no zone are a zone", () => {
    const rules = problemOf(aModel(NODES), replicas(6)).constraints.filter(({ kind }) => kind === "spread");
    expect(rules).toMatchObject([
      { name: name("at most 3 more replicas in one of its nodes than in another"), maxSkew: 3 },
      {
        maxSkew: 5,
        domainOf: Int32Array.of(0, 0, 1, 2),
        placed: new Int32Array(3),
        subjects: [0, 1, 2, 3, 4, 5],
      },
    ]);
  });

  test("those that are placed count, those that are being deleted or of another controller don't", () => {
    const placed = aPod("web-9", { owner: "web", node: "a" });
    const going = aPod("web-8", {
      owner: "web",
      node: "c",
      metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" },
    });
    const other = aPod("db-1", { owner: "db", node: "c" });
    const spans = problemOf(aModel(NODES, [placed, going, other]), replicas(1)).constraints;
    expect(spans.map((rule) => [rule.name, [...rule.placed]])).toEqual([
      [name("at least 2 nodes"), [1, 0, 0, 0]],
      [name("at least 2 zones"), [1, 0]],
    ]);
    const enough = [placed, aPod("web-7", { owner: "web", node: "c" })];
    expect(problemOf(aModel(NODES, enough), replicas(1)).constraints).toEqual([]);
  });

  test("pods with spread constraints of their own, soft ones too, have no default", () => {
    const soft = spreadOver(ZONE, 1, { app: "web" }, { whenUnsatisfiable: "ScheduleAnyway" });
    const pods = replicas(6, { spec: { topologySpreadConstraints: [soft] } });
    expect(namesOf(problemOf(aModel(NODES), pods))).toEqual([
      name("at least 2 nodes"),
      name("at least 2 zones"),
    ]);
  });

  test("limits can be others, or none", () => {
    const none = { hostnameMaxSkew: null, zoneMaxSkew: null, minNodes: 1, minZones: 1 };
    expect(problemOf(aModel(NODES), replicas(6), { spread: none }).constraints).toEqual([]);
    const three = problemOf(aModel(NODES), replicas(6), { spread: { ...none, minNodes: 3 } });
    expect(namesOf(three)).toEqual([name("at least 3 nodes")]);
  });

  test("no more is asked than is open to them, which is said", () => {
    const zone1 = replicas(2, { spec: { nodeSelector: { "topology.kubernetes.io/zone": "z1" } } });
    const problem = problemOf(aModel(NODES), zone1);
    expect(namesOf(problem)).toEqual([name("at least 2 nodes")]);
    expect(problem.notes).toEqual([name("its replicas span 1 instead of 2 zones: no more are open to them")]);
    const tooBig = replicas(2, { requests: { cpu: "5" } });
    const nodes = [...NODES, aNode("big", "z1", { allocatable: { cpu: "16" } })];
    expect(problemOf(aModel(nodes), tooBig).constraints).toEqual([]);
  });

  test("their own affinity for each other goes first, which is said", () => {
    const kept = (key: string): ReturnType<typeof problemOf> =>
      problemOf(aModel(NODES), replicas(2, { spec: required("podAffinity", near(key, { app: "web" })) }));
    const together = (what: string): string =>
      name(`its podAffinity keeps its replicas together, so they don't span ${what}`);
    expect(kept(HOST).notes).toEqual([together("nodes"), together("zones")]);
    expect(kept(ZONE).notes).toEqual([together("zones")]);
    expect(kept(ZONE).availability.map((rule) => rule.name)).toEqual([name("at least 2 nodes")]);
  });
});
