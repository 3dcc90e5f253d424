// What AppGroups and annotations of any shape come to: channels that can be read, and one word on what can't.
import type { KubernetesObject } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { channelsOfAnnotation, channelsOfAppGroup, DEPENDENCIES_ANNOTATION } from "./declared-channels.ts";

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
  const channels = channelsOfAppGroup(appGroup(spec), (_, rule) => rules.add(rule));
  return { channels: channels.map(({ source, target }) => `${source.name} -> ${target.name}`), rules };
}

describe("a hostile AppGroup", () => {
  test("of 10,000 workloads in a circle has 10,000 channels", () => {
    const workloads = Array.from({ length: COUNT }, (_, index) =>
      entry(`w${index}`, `w${(index + 1) % COUNT}`),
    );
    const { channels, rules } = read({ workloads });
    expect(channels).toHaveLength(COUNT);
    expect(channels.at(-1)).toBe("w9999 -> w0");
    expect(rules.size).toBe(0);
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
    expect(channelsOfAnnotation(object, (_, rule) => rules.push(rule))).toEqual([]);
    expect(rules).toEqual([`${DEPENDENCIES_ANNOTATION} must be a JSON list`]);
  },
);
