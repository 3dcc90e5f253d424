import { CHANNELS_ANNOTATION, type KubernetesObject } from "@isochrone/kubernetes";
import {
  AppGroupMembers,
  unmatchedSelectors,
  type AppGroupMember,
  type ChannelDeclaration,
} from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import {
  appGroupText,
  channelsOfAnnotation,
  channelsOfAppGroup,
  DEPENDENCIES_ANNOTATION,
  MAX_CHANNELS_PER_OBJECT,
  type OnRefused,
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

const NOBODY = new AppGroupMembers({ members: [], groups: [], workloads: [] });

function declaredBy(spec: unknown, onRefused: OnRefused, members = NOBODY): ChannelDeclaration[] {
  return channelsOfAppGroup(appGroupText(appGroup(spec), onRefused), members, onRefused);
}

function read(spec: unknown): { channels: string[]; rules: Set<string> } {
  const rules = new Set<string>();
  const channels = declaredBy(spec, (_reason, rule) => rules.add(rule));
  return { channels: channels.map(({ source, target }) => `${source.name} -> ${target.name}`), rules };
}

describe("selectors", () => {
  const carrier = (
    workload: string,
    selector: string,
    more: Partial<AppGroupMember> = {},
  ): AppGroupMember => ({
    namespace: "shop",
    group: "a1",
    selector,
    workload,
    isBare: false,
    ...more,
  });
  const depends = (from: object, to: object): object => ({
    workloads: [{ workload: { kind: "Deployment", ...from }, dependencies: [{ workload: to }] }],
  });
  const all = (members: AppGroupMember[], taken: string[] = []): AppGroupMembers =>
    new AppGroupMembers({
      members,
      groups: [{ namespace: "shop", name: "a1" }],
      workloads: [...members, ...taken.map((workload) => ({ namespace: "shop", workload, isBare: false }))]
        .filter(({ isBare }) => !isBare)
        .map(({ namespace, workload: name }) => ({ namespace, name })),
    });
  const names = (spec: unknown, members: AppGroupMembers): string[] =>
    declaredBy(spec, () => expect.unreachable(), members).map(
      ({ source, target }) => `${source.namespace}/${source.name} -> ${target.namespace}/${target.name}`,
    );
  const spec = depends({ name: "p1-deployment", selector: "p1" }, { name: "p2-deployment", selector: "p2" });

  test("mean the workloads whose pods carry them, whatever they are called", () => {
    const members = all([carrier("rel-web", "p1"), carrier("rel-db", "p2"), carrier("p2-deployment", "p3")]);
    expect(names(spec, members)).toEqual(["shop/rel-web -> shop/rel-db"]);
  });

  test("mean each of several workloads that carry them, and none of another AppGroup or namespace", () => {
    const members = all([
      carrier("web-v1", "p1"),
      carrier("web-v2", "p1"),
      carrier("rel-db", "p2"),
      carrier("other", "p2", { group: "a2" }),
      carrier("foreign", "p2", { namespace: "evil" }),
    ]);
    expect(names(spec, members)).toEqual(["shop/web-v1 -> shop/rel-db", "shop/web-v2 -> shop/rel-db"]);
  });

  test("mean pods of a namespace that the AppGroup names, unless they are beside an AppGroup of its name", () => {
    const there = carrier("db", "p2", { namespace: "pay" });
    const named = depends({ selector: "p1" }, { namespace: "pay", selector: "p2" });
    expect(names(named, all([carrier("rel-web", "p1"), there]))).toEqual(["shop/rel-web -> pay/db"]);
    const groups = [{ namespace: "pay", name: "a1" }];
    const beside = new AppGroupMembers({ members: [carrier("rel-web", "p1"), there], groups, workloads: [] });
    expect(names(named, beside)).toEqual(["shop/rel-web -> shop/p2"]);
  });

  test("of bare pods make them one workload of that name, unless the name means something else", () => {
    const bare = [1, 2].map((at) => carrier(`db-${at}`, "p2", { isBare: true }));
    expect(names(spec, all([carrier("rel-web", "p1"), ...bare]))).toEqual(["shop/rel-web -> shop/p2"]);
    const each = ["shop/rel-web -> shop/db-1", "shop/rel-web -> shop/db-2"];
    expect(names(spec, all([carrier("rel-web", "p1"), ...bare], ["p2"]))).toEqual(each);
    const ofAnother = carrier("x", "p2", { group: "a2", isBare: true });
    expect(names(spec, all([carrier("rel-web", "p1"), ...bare, ofAnother]))).toEqual(each);
  });

  test("that nothing carries stand for a workload yet to come, never for another one that is called like them", () => {
    expect(names(spec, NOBODY)).toEqual(["shop/p1 -> shop/p2"]);
    expect(names(spec, all([carrier("rel-web", "p1")], ["p2"]))).toEqual([]);
    const text = appGroupText(appGroup(spec), () => undefined);
    expect(unmatchedSelectors(text, all([carrier("rel-web", "p1")], ["p2"]))).toEqual(["p2"]);
    expect(unmatchedSelectors(text, NOBODY)).toEqual(["p1", "p2"]);
  });

  test("that 1,000 workloads each carry come to no more channels than one object may declare", () => {
    const members = ["p1", "p2"].flatMap((selector) =>
      Array.from({ length: 1_000 }, (_, at) => carrier(`${selector}-${at}`, selector)),
    );
    const rules: string[] = [];
    expect(declaredBy(spec, (_, rule) => rules.push(rule), all(members))).toHaveLength(
      MAX_CHANNELS_PER_OBJECT,
    );
    expect(rules).toEqual(["an object may declare at most 2000 channels, got 1000000"]);
  });

  test("are what the annotation's names lead to", () => {
    const object = appGroup(spec);
    object.metadata.annotations = {
      [CHANNELS_ANNOTATION]: JSON.stringify([
        { source: "p1-deployment", target: "p2-deployment", type: "HTTPRoute" },
        { source: "p2-deployment", target: "p2-deployment", priority: 3 },
      ]),
    };
    const members = all([carrier("rel-web", "p1"), carrier("rel-db", "p2")]);
    const entries = [
      ...(spec as { workloads: object[] }).workloads,
      { workload: { name: "p2-deployment", selector: "p2" } },
    ];
    const text = appGroupText({ ...object, spec: { workloads: entries } }, () => undefined);
    expect(channelsOfAppGroup(text, members, () => undefined)).toMatchObject([
      { source: { name: "rel-web" }, target: { name: "rel-db" }, relationshipType: "HTTPRoute" },
      { source: { name: "rel-db" }, target: { name: "rel-db" }, priority: 3 },
    ]);
  });
});

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
    expect([...rules]).toEqual(["each workload and dependency must have workload.selector or workload.name"]);
  });

  test.each([
    [{ maxNetworkCost: -1, minBandwidth: "much" }, null, null],
    [{ maxNetworkCost: "15", minBandwidth: {} }, null, null],
    [{ maxNetworkCost: Number.NaN, minBandwidth: -5 }, null, null],
    [{ maxNetworkCost: 0, minBandwidth: "100Mi" }, 0, 104_857_600],
  ])("whose limits are %j has those that make sense", (needs, maxNetworkCost, minBandwidthBitsPerSecond) => {
    const dependency = { workload: { name: "b" }, ...needs };
    const spec = { workloads: [{ workload: { name: "a" }, dependencies: [dependency] }] };
    expect(declaredBy(spec, () => undefined)).toMatchObject([{ maxNetworkCost, minBandwidthBitsPerSecond }]);
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
