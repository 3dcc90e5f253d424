import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { DestinationRules, trimmedDestinationRule } from "./istio-routing.ts";

const DETECTS = { outlierDetection: { consecutive5xxErrors: 5 } };
const locality = (setting: object, more: object = DETECTS): object => ({
  ...more,
  loadBalancer: { simple: "ROUND_ROBIN", localityLbSetting: setting },
});
let created = 0;
const rule = (
  host: unknown,
  trafficPolicy: object = DETECTS,
  { namespace = "shop", ...spec }: { namespace?: string; workloadSelector?: object } = {},
): KubernetesObject => {
  created += 1;
  const creationTimestamp = new Date(created * 1000).toISOString();
  return {
    ...KINDS.destinationRule,
    metadata: { name: `rule-${created}`, namespace, creationTimestamp },
    spec: { host, trafficPolicy, ...spec },
  };
};
const DB: KubernetesObject = { ...KINDS.service, metadata: { name: "db", namespace: "shop" } };
const said = (rules: readonly KubernetesObject[], distributes = false) => {
  const trimmed = new DestinationRules(rules.map(trimmedDestinationRule)).of(DB, distributes);
  expect(new DestinationRules(rules).of(DB, distributes)).toEqual(trimmed);
  return trimmed;
};

describe("a DestinationRule", () => {
  test.each([
    ["outlier detection alone: failover by locality, as the mesh has it", DETECTS, ["zone", "region"]],
    ["locality settings without outlier detection: none", locality({ enabled: true }, {}), []],
    ["both", locality({ enabled: true }), ["zone", "region"]],
    ["failover between regions", locality({ failover: [{ from: "a", to: "b" }] }), ["zone", "region"]],
    ["switched off", locality({ enabled: false }), []],
    ["shares of the user's own", locality({ distribute: [{ from: "a/*", to: { "b/*": 100 } }] }), []],
    ["labels", locality({ failoverPriority: ["topology.kubernetes.io/region"] }), ["region"]],
    [
      "labels from wide to narrow",
      locality({
        failoverPriority: [
          "topology.istio.io/network",
          "topology.kubernetes.io/region",
          "topology.kubernetes.io/zone",
          "kubernetes.io/hostname",
        ],
      }),
      ["node", "zone", "region"],
    ],
    [
      "labels from narrow to wide: the wide one says no more",
      locality({ failoverPriority: ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"] }),
      ["zone"],
    ],
    ["labels of the user's own", locality({ failoverPriority: ["version"] }), []],
    ["neither of them", { connectionPool: {} }, undefined],
  ])("%s", (_, policy, scopes) => {
    expect(said([rule("db", policy)])).toEqual(scopes);
  });

  test("without locality settings leaves the word to a Service that has a trafficDistribution", () => {
    expect(said([rule("db")], true)).toBeUndefined();
    expect(said([rule("db", locality({ enabled: false }))], true)).toEqual([]);
  });

  test.each([
    ["db", true],
    ["db.shop.svc.cluster.local", true],
    ["db.shop.svc.example.org", true],
    ["*.shop.svc.cluster.local", true],
    ["*.svc.cluster.local", true],
    ["*.local", true],
    ["*", true],
    ["web", false],
    ["db.shop", false],
    ["db.other.svc.cluster.local", false],
    ["*.other.svc.cluster.local", false],
    ["*b.shop.svc.cluster.local", true],
    ["d*", false],
    ["**", false],
    ["", false],
    [7, false],
    [undefined, false],
  ])("of host %s: %s", (host, isMeant) => {
    expect(said([rule(host)]) !== undefined).toBe(isMeant);
  });

  test("nearest by host wins, then the oldest; the Service's namespace goes before the mesh's", () => {
    const off = locality({ enabled: false });
    expect(said([rule("*.shop.svc.cluster.local", off), rule("db")])).toEqual(["zone", "region"]);
    expect(said([rule("*", off), rule("*.shop.svc.cluster.local")])).toEqual(["zone", "region"]);
    const [older, newer] = [rule("db"), rule("db", off)];
    expect(said([newer, older])).toEqual(["zone", "region"]);
    const ofMesh = rule("*.local", off, { namespace: "istio-system" });
    expect(said([ofMesh])).toEqual([]);
    expect(said([ofMesh, rule("*.local")])).toEqual(["zone", "region"]);
    expect(said([rule("db.shop.svc.cluster.local", off, { namespace: "elsewhere" })])).toBeUndefined();
  });

  test("for some callers only isn't read", () => {
    expect(
      said([rule("db", DETECTS, { workloadSelector: { matchLabels: { app: "web" } } })]),
    ).toBeUndefined();
  });

  test("keeps little of itself", () => {
    const kept = trimmedDestinationRule(
      rule("db", { ...locality({ enabled: true }), tls: { mode: "SIMPLE" } }),
    );
    expect(JSON.stringify(kept)).not.toMatch(/tls|consecutive|ROUND_ROBIN/);
  });
});
