// What AppGroups and annotations of any shape come to: channels that can be read, and one word on what can't.
import type { KubernetesObject } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import {
  channelsOfAnnotation,
  channelsOfAppGroup,
  DEPENDENCIES_ANNOTATION,
  MAX_CHANNELS_PER_OBJECT,
} from "./declared-channels.ts";

const COUNT = 10_000;

function appGroup(spec: unknown): KubernetesObject {
  return {
    apiVersion: "appgroup.diktyo.x-k8s.io/v1alpha1",
    kind: "AppGroup",
    metadata: { namespace: "shop", name: "a1" },
    spec: spec as Record<string, unknown>,
  };
}

const entry = (name: string, ...on: string[]): object => ({
  workload: { kind: "Deployment", name, selector: name },
  dependencies: on.map((target) => ({ workload: { kind: "Deployment", name: target }, maxNetworkCost: 15 })),
});

function read(spec: unknown): { channels: string[]; rules: Set<string> } {
  const rules = new Set<string>();
  const channels = channelsOfAppGroup(appGroup(spec), (_reason, rule) => rules.add(rule));
  return { channels: channels.map(({ source, target }) => `${source.name} -> ${target.name}`), rules };
}

describe("a hostile AppGroup", () => {
  test("of 10,000 workloads in a circle has as many channels as one object may declare, and is told so once", () => {
    const workloads = Array.from({ length: COUNT }, (_, index) =>
      entry(`w${index}`, `w${(index + 1) % COUNT}`),
    );
    const { channels, rules } = read({ workloads });
    expect(channels).toHaveLength(MAX_CHANNELS_PER_OBJECT);
    expect(channels.at(-1)).toBe("w1999 -> w2000");
    expect([...rules]).toEqual(["an object may declare at most 2000 channels, got 10000"]);
  });

  test("may depend on itself, and on what isn't there: that is a channel to a workload that nobody has seen", () => {
    expect(read({ workloads: [entry("a", "a", "ghost")] }).channels).toEqual(["a -> a", "a -> ghost"]);
  });

  test.each([
    ["no spec", undefined],
    ["no workloads", {}],
    ["a number", { workloads: 7 }],
    ["null", { workloads: null }],
  ])("with %s for its workloads has none", (_, spec) => {
    expect(read(spec)).toEqual({ channels: [], rules: new Set() });
  });

  test("of entries without names is told once what is wrong, and the others are read", () => {
    const { channels, rules } = read({
      workloads: [
        null,
        4,
        [],
        { workload: { name: 5 } },
        { workload: { name: "a" }, dependencies: [null, "b", {}] },
        entry("b", "c"),
      ],
    });
    expect(channels).toEqual(["b -> c"]);
    expect([...rules]).toEqual(["each workload and dependency must have workload.name"]);
  });

  test.each([
    [{ maxNetworkCost: -1, minBandwidth: "much" }, null, null],
    [{ maxNetworkCost: "15", minBandwidth: {} }, null, null],
    [{ maxNetworkCost: Number.NaN, minBandwidth: -5 }, null, null],
    [{ maxNetworkCost: 0, minBandwidth: "100Mi" }, 0, 104_857_600],
  ])("whose limits are %j has those that make sense", (needs, maxNetworkCost, minBandwidthBitsPerSecond) => {
    const dependency = { workload: { name: "b" }, ...needs };
    const spec = { workloads: [{ workload: { name: "a" }, dependencies: [dependency] }] };
    expect(channelsOfAppGroup(appGroup(spec), () => undefined)).toMatchObject([
      { maxNetworkCost, minBandwidthBitsPerSecond },
    ]);
  });
});

test.each(["{", "7", "null", '{"name": "b"}', "[".repeat(100_000)])(
  "an annotation of %.20s declares nothing, and says so",
  (text) => {
    const rules: string[] = [];
    const object = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { namespace: "shop", name: "a", annotations: { [DEPENDENCIES_ANNOTATION]: text } },
    };
    expect(channelsOfAnnotation(object, (_reason, rule) => rules.push(rule))).toEqual([]);
    expect(rules).toEqual([`${DEPENDENCIES_ANNOTATION} must be a JSON list`]);
  },
);

describe("an annotation", () => {
  const deployment = (text: string): KubernetesObject => ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace: "shop", name: "web", annotations: { [DEPENDENCIES_ANNOTATION]: text } },
  });
  const readText = (text: string): { channels: unknown[]; refused: string[] } => {
    const refused: string[] = [];
    const channels = channelsOfAnnotation(deployment(text), (reason) => refused.push(reason));
    return { channels, refused };
  };

  test("that is longer than what is read isn't parsed", () => {
    const text = JSON.stringify([{ name: "db" }]) + " ".repeat(200 * 1024);
    expect(readText(text)).toEqual({ channels: [], refused: ["too_large"] });
  });

  test.each(["DB", "-db", "db\u001b]0;owned\u0007", "a/b", "x".repeat(254)])(
    "names no workload that Kubernetes could not have: %j",
    (name) => {
      expect(readText(JSON.stringify([{ name }, { name: "db" }]))).toMatchObject({
        channels: [{ target: { name: "db" } }],
        refused: ["bad_name"],
      });
    },
  );

  test("has no figure that is larger than anything needs, and none that is no finite amount", () => {
    const huge = '[{"name": "db", "priority": 1e12, "maxNetworkCost": 1e300, "minBandwidth": "9P"}]';
    expect(readText(huge).channels).toMatchObject([
      { priority: 1e6, maxNetworkCost: 1e6, minBandwidthBitsPerSecond: 1e15 },
    ]);
    const none = '[{"name": "db", "priority": 1e999, "maxNetworkCost": -1, "minBandwidth": "1e99"}]';
    expect(readText(none).channels).toMatchObject([
      { priority: null, maxNetworkCost: null, minBandwidthBitsPerSecond: null },
    ]);
  });

  test("has no type that is too long or would steer a terminal", () => {
    const entries = ["x".repeat(129), "a\u001b[2J", "\u202eetuoR", "HTTPRoute"].map((type) => ({
      name: "db",
      type,
    }));
    expect(
      readText(JSON.stringify(entries)).channels.map(
        (each) => (each as { relationshipType?: string }).relationshipType,
      ),
    ).toEqual([undefined, undefined, undefined, "HTTPRoute"]);
  });
});
