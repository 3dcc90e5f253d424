import type { KubernetesObject } from "@isochrone/kubernetes";
import { DeclarationRights, OWN_NAMESPACE_ONLY } from "@isochrone/topology";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { Tables } from "../domain/graphs/tables.ts";
import { workflowSteps } from "../domain/graphs/workflows.ts";
import { clusterState, deploymentObject } from "../testing/cluster.ts";
import { DEPENDENCIES_ANNOTATION } from "./declared-channels.ts";
import {
  DeclaredObjects,
  MAX_CHANNELS_PER_CLUSTER,
  MAX_CHANNELS_PER_NAMESPACE,
  MAX_CHARACTERS_PER_NAMESPACE,
  refusedDeclarationEvent,
  type RefusedDeclarations,
} from "./declared-objects.ts";

interface Told extends RefusedDeclarations {
  readonly object: string;
}

let told: Told[];
let declared: DeclaredObjects;

beforeEach(() => {
  told = [];
  declared = new DeclaredObjects(OWN_NAMESPACE_ONLY, note);
});

function note({ kind, metadata }: KubernetesObject, refused: RefusedDeclarations): void {
  told.push({ object: `${kind} ${metadata.namespace}/${metadata.name}`, ...refused });
}

function caller(
  namespace: string,
  name: string,
  callees: readonly unknown[],
  created = "",
): KubernetesObject {
  const object = deploymentObject(namespace, name, "flow", {
    [DEPENDENCIES_ANNOTATION]: JSON.stringify(callees),
  });
  return { ...object, metadata: { ...object.metadata, creationTimestamp: created } };
}

const callees = (count: number): object[] =>
  Array.from({ length: count }, (_, index) => ({ name: `c${index}` }));

function countBy(namespace: string, channels: readonly { source: { namespace: string } }[]): number {
  return channels.filter(({ source }) => source.namespace === namespace).length;
}

describe("what objects declare", () => {
  test("is bounded per namespace, the oldest objects first", () => {
    const young = caller("evil", "a-young", callees(1_500), "2026-01-02T00:00:00Z");
    const old = [1, 2, 3].map((at) => caller("evil", `b-old-${at}`, callees(1_500), "2026-01-01T00:00:00Z"));
    const late = caller("evil", "z-late", callees(1), "2026-01-03T00:00:00Z");
    const channels = declared.read([], [late, young, ...old, caller("good", "web", callees(3))]);
    expect(countBy("evil", channels)).toBe(MAX_CHANNELS_PER_NAMESPACE);
    expect(countBy("good", channels)).toBe(3);
    expect(channels.filter(({ source }) => source.name === "a-young")).toHaveLength(500);
    expect(told.map(({ object, reason, channels: left }) => [object, reason, left])).toEqual([
      ["Deployment evil/a-young", "namespace_limit", 1_000],
      ["Deployment evil/z-late", "namespace_limit", 1],
    ]);
    expect(declared.refused.get("namespace_limit")).toBe(1_001);
  });

  test("is bounded in the cluster, where those that declare little keep all of it", () => {
    const evil = Array.from({ length: 20 }, (_, tenant) =>
      [0, 1, 2].map((at) => caller(`evil-${tenant}`, `d${at}`, callees(2_000))),
    ).flat();
    const channels = declared.read([], [...evil, caller("good", "web", callees(100))]);
    expect(channels.length).toBeGreaterThan(MAX_CHANNELS_PER_CLUSTER - 20);
    expect(channels.length).toBeLessThanOrEqual(MAX_CHANNELS_PER_CLUSTER);
    expect(countBy("good", channels)).toBe(100);
    expect(countBy("evil-0", channels)).toBe(countBy("evil-19", channels));
    expect(declared.refused.get("cluster_limit")).toBeGreaterThan(0);
  });

  test("is read again only where it changed", () => {
    const parse = vi.spyOn(JSON, "parse");
    const objects = [caller("shop", "web", callees(5)), caller("shop", "api", callees(5))];
    const before = declared.read([], objects);
    expect(parse).toHaveBeenCalledTimes(2);
    // Like a Deployment that scales: a new object with the same annotation.
    const scaled = objects.map((object) => ({ ...object, status: { replicas: 7 } }));
    expect(declared.read([], scaled)).toEqual(before);
    expect(parse).toHaveBeenCalledTimes(2);
    declared.read([], [scaled[0]!, caller("shop", "api", callees(6))]);
    expect(parse).toHaveBeenCalledTimes(3);
    parse.mockRestore();
  });

  test("of another namespace's workloads is refused with names, told once, and taken with an operator's leave", () => {
    const group = (namespace: string): KubernetesObject => ({
      apiVersion: "appgroup.diktyo.x-k8s.io/v1alpha1",
      kind: "AppGroup",
      metadata: { namespace, name: "group" },
      spec: {
        workloads: [
          {
            workload: { name: "web", namespace: "shop" },
            dependencies: [{ workload: { name: "db", namespace: "pay" }, maxNetworkCost: 0 }],
          },
        ],
      },
    });
    expect(declared.read([group("evil")], [])).toEqual([]);
    expect(declared.read([group("evil")], [])).toEqual([]);
    expect(told).toEqual([
      {
        object: "AppGroup evil/group",
        reason: "other_namespace",
        rule: "objects in evil may declare channels of workloads in evil to others, got shop/web -> pay/db; aggregator.declareFor allows more",
        channels: 1,
      },
    ]);
    expect(refusedDeclarationEvent(told[0]!)).toMatchObject({
      type: "Warning",
      reason: "DeclarationRefused",
    });
    const trusting = new DeclaredObjects(DeclarationRights.of(["evil->shop"]), note);
    expect(trusting.read([group("evil")], [])).toHaveLength(1);
    expect(declared.read([group("shop")], [])).toHaveLength(1);
  });

  test("names at most twenty objects of a namespace, and counts the others", () => {
    const bad = Array.from({ length: 50 }, (_, at) => caller("evil", `d${at}`, [{ nme: "x" }]));
    declared.read([], bad);
    expect(told).toHaveLength(20);
    expect(declared.refused.get("unreadable")).toBe(50);
  });
});

describe("25 Deployments of 0 replicas whose annotations are as large as the API server takes them", () => {
  /** Objects with 17,000 callees, or as many as fit into `characters`. */
  function flood(characters: number, namespace: (at: number) => string): KubernetesObject[] {
    const entries: string[] = [];
    for (let length = 2; length < characters - 20; length += entries.at(-1)!.length + 1)
      entries.push(`{"name":"${entries.length.toString(36)}"}`);
    const text = `[${entries.join(",")}]`;
    return Array.from({ length: 25 }, (_, at) => {
      const object = deploymentObject(namespace(at), `d${at}`, `w${at}`, { [DEPENDENCIES_ANNOTATION]: text });
      return { ...object, spec: { ...object.spec, replicas: 0 } };
    });
  }

  test("are not read at all beyond 200 KiB each", () => {
    const parse = vi.spyOn(JSON, "parse");
    expect(
      declared.read(
        [],
        flood(256 * 1024, () => "evil"),
      ),
    ).toEqual([]);
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
    expect(declared.refused.get("too_large")).toBe(25);
  });

  test("below that are no more than a namespace may declare, are read in part, and not again", () => {
    const objects = flood(199 * 1024, () => "evil");
    const parse = vi.spyOn(JSON, "parse");
    const good = caller("good", "web", callees(3));
    const first = declared.read([], [...objects, good]);
    expect(first).toHaveLength(MAX_CHANNELS_PER_NAMESPACE + 3);
    const characters = parse.mock.calls.reduce((sum, [text]) => sum + text.length, 0);
    expect(characters).toBeLessThanOrEqual(MAX_CHARACTERS_PER_NAMESPACE);
    parse.mockClear();
    for (let build = 0; build < 10; build++)
      declared.read(
        [],
        [...objects, good].map((object) => ({ ...object, status: { observedGeneration: build } })),
      );
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
    expect([...declared.refused.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(20_000);
    // The limit of named objects applies once, not to each of 25 builds.
    expect(told).toHaveLength(20);
  });

  test("in as many namespaces are no more than a cluster may have", () => {
    const channels = declared.read(
      [],
      flood(199 * 1024, (at) => `evil-${at}`),
    );
    expect(channels.length).toBeLessThanOrEqual(MAX_CHANNELS_PER_CLUSTER);
  });

  test("make graphs of bounded size, in steps between which others have their turn", () => {
    const objects = flood(199 * 1024, () => "evil");
    const channels = declared.read([], objects);
    const workloads = objects.map(({ metadata: { name } }) => ({
      namespace: "evil",
      name,
      kind: "Deployment",
      workflow: { namespace: "evil", name: "flow" },
    }));
    const tables = new Tables(
      { windowMs: 30_000, paneMs: 2_000, panes: 15, fastPanes: 3 },
      { maxLinks: 10, maxChannels: 10, maxPods: 10 },
    );
    const cluster = clusterState({ workloads, declared: channels });
    const steps = workflowSteps(tables, cluster, { version: 1, nowMs: 0 }, "full");
    let turns = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) turns++;
    expect(turns).toBeGreaterThan((2 * MAX_CHANNELS_PER_NAMESPACE) / 600);
    expect(JSON.stringify(step.value).length).toBeLessThan(4 * 1024 * 1024);
  });
});
